// Exports with a valid checksum but with records that no perfbench writes: made by hand, or modified.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/store/archive/archive.h"
#include "harness/store/archive/transfer.h"
#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "harness/store/ledgers/baseline_ledger.h"
#include "harness/system/input_error.h"
#include "tests/harness/example_alert.h"
#include "tests/harness/example_run.h"
#include "tests/harness/unpacked_archive.h"

namespace perfbench::harness {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class HostileExport : public testing::Test {
 protected:
  void SetUp() override {
    auto db = open_database(scratch_ / "a.db");
    write_run_directory(scratch_ / "runs/1", {.attempt = example_attempt("c", 1)});
    write_run_directory(scratch_ / "runs/2", {.attempt = example_attempt("c", 2)});
    ingest_tree(db, scratch_ / "runs");
    record_findings(db, {example_finding()}, "perfbench nightly", "2026-01-10T05:00:00Z");
    Baseline baseline{.name = "goal",
                      .author = "ada",
                      .reason = "r",
                      .created_utc = "2026-01-10T05:00:00Z",
                      .source = "a file",
                      .values = {{"c", "step_time_s", 0.5}}};
    add_baseline(db, baseline);
    baseline.attempt_keys = {1, 2};
    add_baseline(db, baseline);
    export_runs({.db = scratch_ / "a.db", .file = scratch_ / "a.perfbench", .perfbench_version = "0"});
    header_ = read_archive(scratch_ / "a.perfbench", scratch_ / "records");
    records_ = read_text(scratch_ / "records");
  }
  // The error of an import of these records.
  std::string error_of(const std::string& records) {
    write_text(scratch_ / "records", records);
    write_archive(header_, scratch_ / "records", scratch_ / "b.perfbench");
    try {
      import_runs(scratch_ / "into.db", scratch_ / "b.perfbench", std::uint64_t{1} << 30);
    } catch (const InputError& e) {
      return e.what();
    }
    return {};
  }
  // The records with the last `from` after the first `after` replaced.
  std::string with(const std::string& after, const std::string& from, const std::string& to) const {
    auto out = records_;
    const auto at = out.find(from, out.find(after));
    EXPECT_NE(at, std::string::npos) << after << ", " << from;
    return at == std::string::npos ? out : out.replace(at, from.size(), to);
  }
  std::int64_t rows_of(const std::string& table) {
    const auto db = open_database(scratch_ / "into.db");
    Statement count(db, "SELECT count(*) FROM " + table);
    count.step();
    return count.integer(0);
  }

  ScratchFolder scratch_;
  ArchiveHeader header_;
  std::string records_;
};

TEST_F(HostileExport, AnInfiniteLossMeansThatTheRunDivergedAndIsAccepted) {
  auto records = records_;
  const auto loss = records.find(R"("loss":)", records.find(R"({"step":)")) + 7;
  records.replace(loss, records.find(',', loss) - loss, R"("Infinity")");
  EXPECT_EQ(error_of(records), "");
  EXPECT_EQ(rows_of("attempts"), 2);
}

TEST_F(HostileExport, AnExportWithAnInvalidRecordIsRefusedAndTheRecordNamed) {
  struct Case {
    const char* after;
    const char* from;
    const char* to;
    const char* record;
    const char* what;
  };
  for (const auto& [after, from, to, record, what] :
       {Case{R"({"attempt":)", R"("state":"ok")", R"("state":"bogus")", "(attempt", "bogus"},
        Case{R"({"attempt":)", R"("started_utc":"20)", R"("started_utc":"19x)", "(attempt", "not a time such as"},
        Case{R"({"attempt":)", R"("wall_ns":)", R"("wall_ns":-1)", "(attempt", "wall_ns"},
        Case{R"({"attempt":)", R"("attempt":1,)", R"("attempt":0,)", "(attempt", "'attempt' is 0"},
        Case{R"({"attempt":)", R"("signal":0)", R"("signal":0,"colour":1)", "(attempt", "colour"},
        Case{R"({"environment":)", R"("peak_flops_per_s":)", R"("peak_flops_per_s":"Infinity","x":)", "(environment",
             ""},
        Case{R"({"environment":)", R"("load_1m":)", R"("load_1m":1e999,"x":)", "(environment", ""},
        Case{R"({"run":)", R"("seq_len":32)", R"("seq_len":16)", "of the attempt with run_id", "its run hashes to"},
        Case{R"({"run":)", R"("precision":"fp32")", R"("precision":"fp3")", "(run of the attempt with run_id", "fp3"},
        Case{R"({"run":)", R"({"run":)", R"({"gun":)", "(attempt of the attempt with run_id", "has no run"},
        Case{R"({"step":)", R"("wall_ns":)", R"("wall_ns":-1)", "(step of the attempt with run_id", "wall_ns"},
        Case{R"({"step":)", R"("rank":0)", R"("rank":9)", "(step of", "rank 9"},
        Case{R"({"step":)", R"("step":1,)", R"("step":0,)", "(step of", "out of order"},
        Case{R"({"result":)", R"("steps":6)", R"("steps":-1)", "(result of", "steps"},
        Case{R"({"result":)", R"({"result":)", R"({"run":)", "(run of", "already has one"},
        Case{R"({"sweep":)", R"("started_utc":"2026-)", R"("started_utc":"2026-13-)", "(sweep)", "not a time"},
        Case{R"({"sweep":)", R"("kind":")", R"("kind":"x)", "(sweep)", "kind"},
        Case{R"({"sweep":)", R"({"sweep":)", R"({"swoop":)", "(swoop)", "does not know such records"},
        Case{R"({"sweep":)", R"({"sweep":)", R"(["sweep":)", "line 1 (", "{\"TAG\":RECORD}"},
        Case{R"({"baseline":{)", R"("value":0.5)", R"("value":"NaN")", "(baseline)", "value"},
        Case{R"({"baseline":{)", R"("kind":"anchor")", R"("kind":"bogus")", "(baseline)", "bogus"},
        Case{R"({"baseline":{)", R"("author":"ada")", R"("author":"")", "(baseline)", "an author"},
        Case{R"({"baseline":{)", R"("started_utc":"2)", R"("started_utc":"3)", "(baseline)", "has the attempt with"},
        Case{R"({"alert":)", R"("kind":"regression")", R"("kind":"bogus")", "(alert)", "bogus"},
        Case{R"({"alert":)", R"("seen_utc":")", R"("seen_utc":"x)", "(alert)", "seen_utc"},
        Case{R"({"alert":)", R"("to":"open")", R"("to":"bogus")", "(alert)", "bogus"},
        Case{R"({"alert":)", R"("alert_id":")", R"("alert_id":"longer)", "(alert)", "CHECK"},
        Case{R"({"alert":)", R"("ratio":)", R"("ratio":-)", "(alert)", "ratio"}}) {
    EXPECT_THAT(error_of(with(after, from, to)),
                AllOf(HasSubstr("[import] "), HasSubstr("b.perfbench: line "), HasSubstr(record), HasSubstr(what),
                      HasSubstr("othing was imported")))
        << after << " " << to;
    EXPECT_EQ(rows_of("attempts"), 0) << to;
    EXPECT_EQ(rows_of("sweeps"), 0) << to;
  }
  EXPECT_EQ(error_of(with(R"({"attempt":)", R"("reason":"")", R"("reason":"of another kind")")), "")
      << "text may be any";
  EXPECT_EQ(rows_of("attempts"), 2);
}

// Values that are computed from the steps are not taken from a file.
TEST_F(HostileExport, MetricsAreComputedFromTheImportedSteps) {
  EXPECT_GT(records_.find("step_time_s"), records_.find("{\"baseline\""));
  EXPECT_EQ(error_of(records_), "");
  EXPECT_GT(rows_of("metrics"), 10);
}

TEST_F(HostileExport, AnAlertWithOtherContentsContradicts) {
  EXPECT_EQ(error_of(records_), "");
  EXPECT_THAT(error_of(with(R"({"alert":)", R"("ratio":1.05)", R"("ratio":1.06)")),
              AllOf(HasSubstr("contradicts"), HasSubstr("alerts (alert_id "),
                    HasSubstr("finding/ratio is 1.06 in the file, 1.05 in the database")));
}

TEST_F(HostileExport, ALineWithoutAnEndIsRefused) {
  EXPECT_THAT(error_of(R"({"sweep":)" + std::string((std::size_t{64} << 20) + 1, ' ')), HasSubstr("is longer than"));
}

}  // namespace
}  // namespace perfbench::harness
