#include "harness/store/queries/query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/baseline_ledger.h"
#include "harness/store/queries/sweeps.h"
#include "harness/system/input_error.h"
#include "harness/system/run_id.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// Two sweeps of one cell, the second one newer.
struct TwoSweeps {
  ScratchFolder scratch;
  Connection db = open_database(scratch / "a.db");
  TwoSweeps() {
    ExampleRun old{.attempt = example_attempt("c", 1)};
    old.attempt.engine_sha256.clear();  // as an older perfbench recorded it
    write_run_directory(scratch / "old", old);
    ExampleRun fresh{.attempt = example_attempt("c", 2)};
    fresh.attempt.sweep_id = "20260201T120000Z-example";
    fresh.attempt.started_utc = "2026-02-01T12:00:00Z";
    write_run_directory(scratch / "new", fresh);
    ingest_tree(db, scratch.path());
  }
};

TEST(Selection, LatestIsTheNewestSweep) {
  TwoSweeps store;
  const auto attempts = load_attempts(store.db, parse_selection("latest"));
  ASSERT_THAT(attempts, SizeIs(1));
  EXPECT_EQ(attempts[0].sweep_id, "20260201T120000Z-example");
  EXPECT_EQ(attempts[0].run->model.name, "llama-tiny");
  EXPECT_EQ(attempts[0].environment->facts.at("libraries.oneDNN"), "2.6.3");
  EXPECT_DOUBLE_EQ(attempts[0].metrics.at("step_time_s"), 0.5);
  EXPECT_DOUBLE_EQ(attempts[0].cpu_peak->flops_per_s, 1e11);
}

TEST(Selection, NamesSweepsRunsAndAttempts) {
  TwoSweeps store;
  const auto id = run_id(example_spec());
  EXPECT_THAT(load_attempts(store.db, parse_selection("all")), SizeIs(2));
  EXPECT_THAT(load_attempts(store.db, parse_selection("20260131T120000Z-example")), SizeIs(1));
  EXPECT_THAT(load_attempts(store.db, parse_selection("run:" + id.substr(0, 8))), SizeIs(2));
  const auto one = load_attempts(store.db, parse_selection("attempt:" + id.substr(0, 16) + "/2"));
  ASSERT_THAT(one, SizeIs(1));
  EXPECT_EQ(one[0].attempt, 2);
}

TEST(Selection, NamesWhatDoesNotExist) {
  TwoSweeps store;
  const auto id = run_id(example_spec());
  for (const auto& [text, part] :
       {std::pair<std::string, const char*>{"20260131T120000Z-exampl", "did you mean '20260131T120000Z-example'"},
        {"run:000000", "no run whose id begins with 000000"},
        {"run:12", "6 to 64 hex digits"},
        {"attempt:" + id, "<number from 1>"},
        {"attempt:" + id + "/0", "<number from 1>"},
        {"attempt:" + id + "/9", "has no attempt 9"}}) {
    try {
      load_attempts(store.db, parse_selection(text));
      ADD_FAILURE() << text;
    } catch (const InputError& e) {
      EXPECT_THAT(e.what(), HasSubstr(part));
    }
  }
}

TEST(CountAttempts, AnUnknownRunHasNone) {
  TwoSweeps store;
  const std::string sweep = "20260201T120000Z-example";
  EXPECT_EQ(count_attempts(store.db, sweep, run_id(example_spec()), AttemptState::ok), 1);
  EXPECT_EQ(count_attempts(store.db, sweep, run_id(example_spec()), AttemptState::crashed), 0);
  EXPECT_EQ(count_attempts(store.db, sweep, std::string(64, '0'), AttemptState::ok), 0);
  EXPECT_EQ(count_attempts(store.db, "another", run_id(example_spec()), AttemptState::ok), 0);
}

TEST(SweepKinds, DecideWhatIsLatestAndWhatCanBeResumed) {
  TwoSweeps store;
  const auto latest = [&] { return load_attempts(store.db, parse_selection("latest")).at(0).sweep_id; };
  for (const auto& [kind, is_latest, is_resumed] : {std::tuple{"hand", true, true},
                                                    {"imported", true, true},
                                                    {"night", true, false},
                                                    {"simulated", true, false},
                                                    {"control", false, false},
                                                    {"comparison", false, false},
                                                    {"reproduction", false, false}}) {
    Statement(store.db, "UPDATE sweeps SET kind = ? WHERE sweep_id LIKE '20260201%'").run(std::string_view(kind));
    EXPECT_EQ(latest() == "20260201T120000Z-example", is_latest) << kind;
    EXPECT_EQ(newest_sweep(store.db, "example") == "20260201T120000Z-example", is_resumed) << kind;
  }
}

// Attempts of one sweep in two databases, of which the older one does not record the purpose of the sweep.
TEST(SweepKinds, TheMoreSpecificKindOfASweepCounts) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  int number = 0;
  for (const auto& [kind, then] :
       {std::pair{SweepKind::imported, "imported"}, {SweepKind::hand, "hand"}, {SweepKind::imported, "hand"}}) {
    ExampleRun example{.attempt = example_attempt("c", ++number)};
    example.attempt.sweep_kind = kind;
    write_run_directory(scratch / "r" / std::to_string(number), example);
    ingest_run_directory(db, scratch / "r" / std::to_string(number));
    Statement sweeps(db, "SELECT kind FROM sweeps");
    ASSERT_TRUE(sweeps.step());
    EXPECT_EQ(sweeps.text(0), then);
    EXPECT_FALSE(sweeps.step());
  }
}

TEST(SweepRequests, AreKnownFromTheBeginningAndFromAnyAttempt) {
  TwoSweeps store;
  EXPECT_FALSE(find_request(store.db, *newest_sweep(store.db, "example"))) << "of an older perfbench";
  const SweepWords words{.only = {"fsdp=2", "remat=none"}, .set = {"steps=9"}};
  record_request(store.db, {.sweep_id = "begun",
                            .matrix = "example",
                            .begun_utc = "2026-02-01T12:00:00Z",  // the same second as another sweep's first attempt
                            .words = words,
                            .repeats = 2});
  EXPECT_EQ(newest_sweep(store.db, "example"), "begun") << "one without an attempt";
  EXPECT_EQ(find_request(store.db, "begun")->words, words);
  ExampleRun example{.attempt = example_attempt("c", 3)};
  example.attempt.sweep_id = "rebuilt";
  example.attempt.words = words;
  example.attempt.repeats = 3;
  write_run_directory(store.scratch / "3", example);
  ingest_run_directory(store.db, store.scratch / "3");
  const auto rebuilt = find_request(store.db, "rebuilt");
  ASSERT_TRUE(rebuilt);
  EXPECT_EQ(rebuilt->words, words);
  EXPECT_EQ(rebuilt->repeats, 3);
  EXPECT_EQ(rebuilt->begun_utc, example.attempt.started_utc);
  record_request(store.db, {.sweep_id = "rebuilt", .matrix = "example", .begun_utc = "2025-01-01T00:00:00Z"});
  EXPECT_EQ(find_request(store.db, "rebuilt")->words, words);
  EXPECT_EQ(find_request(store.db, "rebuilt")->begun_utc, "2025-01-01T00:00:00Z");
}

TEST(SweepSettings, ComeFromTheAttemptsOfTheSweep) {
  TwoSweeps store;
  const std::string sweep = "20260131T120000Z-example";
  EXPECT_THAT(sweep_settings(store.db, sweep).engines, SizeIs(0)) << "of an older perfbench";
  for (int number = 3; number <= 5; ++number) {
    ExampleRun example{.attempt = example_attempt("c", number)};
    example.attempt.engine_sha256 = number < 5 ? "one" : "two";
    example.attempt.repeats = number < 5 ? 7 : 0;
    write_run_directory(store.scratch / std::to_string(number), example);
    ingest_run_directory(store.db, store.scratch / std::to_string(number));
  }
  const auto settings = sweep_settings(store.db, sweep);
  EXPECT_THAT(settings.engines, testing::ElementsAre("one", "two"));
  EXPECT_EQ(settings.repeats, 7);
}

Baseline example_baseline() {
  return {.name = "v1",
          .author = "ada",
          .reason = "release",
          .created_utc = "2026-01-01T00:00:00Z",
          .source = "sweep x",
          .attempt_keys = {1}};
}

TEST(BaselineLedger, KeepsEveryEntryAndUsesTheNewestInForce) {
  TwoSweeps store;
  auto entry = example_baseline();
  add_baseline(store.db, entry);
  entry.attempt_keys = {2};
  entry.expires_utc = "2026-03-01T00:00:00Z";
  add_baseline(store.db, entry);
  EXPECT_THAT(list_baselines(store.db), SizeIs(2));
  EXPECT_EQ(find_baseline(store.db, "v1", "2026-02-01T00:00:00Z")->attempt_keys, std::vector<std::int64_t>{2});
  EXPECT_EQ(find_baseline(store.db, "v1", "2026-04-01T00:00:00Z")->attempt_keys, std::vector<std::int64_t>{1})
      << "the newer one has expired";
  EXPECT_FALSE(find_baseline(store.db, "v2", "2026-02-01T00:00:00Z"));
}

TEST(BaselineLedger, KeepsNumbersFromOutsideOnePerRun) {
  TwoSweeps store;
  auto entry = example_baseline();
  entry.attempt_keys.clear();
  entry.kind = BaselineKind::other_binary;
  entry.values = {{"c", "step_time_s", 0.4}, {"c", "step_time_s", 0.5}, {"d", "step_time_s", 0.6}};
  add_baseline(store.db, entry);
  const auto found = find_baseline(store.db, "v1", "2026-02-01T00:00:00Z");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, BaselineKind::other_binary);
  ASSERT_THAT(found->values, SizeIs(3));
  EXPECT_EQ(found->values[1].subject, "c");
  EXPECT_DOUBLE_EQ(found->values[1].value, 0.5);
}

TEST(BaselineLedger, RefusesAnEntryWithoutReasonAuthorOrContents) {
  TwoSweeps store;
  auto no_reason = example_baseline();
  no_reason.reason.clear();
  auto no_author = example_baseline();
  no_author.author.clear();
  auto empty = example_baseline();
  empty.attempt_keys.clear();
  auto unknown = example_baseline();
  unknown.attempt_keys = {99};
  EXPECT_THROW(add_baseline(store.db, no_reason), InputError);
  EXPECT_THROW(add_baseline(store.db, no_author), InputError);
  EXPECT_THROW(add_baseline(store.db, empty), InputError);
  EXPECT_THROW(add_baseline(store.db, unknown), StoreError);
  EXPECT_THAT(list_baselines(store.db), SizeIs(0)) << "the failed transaction left its first row";
}

}  // namespace
}  // namespace perfbench::harness
