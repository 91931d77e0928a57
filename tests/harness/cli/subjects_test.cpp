// Runs every command that reads a store on one in which a run was executed by many subjects: no figure mixes two of
// them.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "harness/execute/process.h"
#include "harness/serve/views.h"
#include "harness/store/database.h"
#include "reports/render/document/render.h"
#include "tests/harness/subject_store.h"

namespace perfbench::harness {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::UnorderedElementsAreArray;

// A figure in the output of a command: the subject, its step time to 4 digits, and the number of runs.
struct Figure {
  std::string subject;
  std::int64_t step_time_e4 = 0;
  std::int64_t runs = 0;
  auto operator<=>(const Figure&) const = default;
};
void PrintTo(const Figure& figure, std::ostream* out) {
  *out << figure.subject << " " << figure.step_time_e4 << "e-4 s of " << figure.runs;
}

std::int64_t e4(double step_s) {
  return std::llround(step_s * 1e4);
}

Figure figure_of(const KnownSubject& subject) {
  return {subject.name, e4(subject.step_s), subject.runs};
}

std::vector<Figure> figures_of(const std::vector<KnownSubject>& subjects) {
  std::vector<Figure> out;
  for (const auto& subject : subjects) out.push_back(figure_of(subject));
  return out;
}

std::vector<Figure> figures_in(const json& rows, const char* value, const char* runs) {
  std::vector<Figure> out;
  for (const auto& row : rows) {
    if (row[value].is_number()) out.push_back({row["subject"], e4(row[value].get<double>()), row[runs]});
  }
  return out;
}

// The numbers in a text that could be step times: 0 and four decimals.
std::vector<std::string> found_in(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> out;
  for (std::sregex_iterator found(text.begin(), text.end(), pattern), end; found != end; ++found) {
    out.push_back((*found)[1]);
  }
  return out;
}
// The step times of this store are from 100 to 999 ms.
std::vector<std::string> step_times_in(const std::string& text) {
  return found_in(text, std::regex(R"(\b([1-9][0-9]{2}\.[0-9])(?![0-9%]))"));
}
// In a table, the number of runs follows the step time.
std::vector<std::string> step_times_in_rows(const std::string& markdown) {
  return found_in(markdown, std::regex(R"(\| ([1-9][0-9]{2}\.[0-9]) +\| [0-9]+ +\|)"));
}

class Subjects : public testing::Test {
 protected:
  static void SetUpTestSuite() { store_ = new SubjectStore(); }
  static void TearDownTestSuite() {
    delete store_;
    store_ = nullptr;
  }

  ProcessEnd run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench");
    arguments.insert(arguments.end(), {"--db", store_->db().string()});
    return run_process({.command = arguments,
                        .working_dir = store_->folder(),
                        .environment = {{"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR},
                                        {"PERFBENCH_ENGINE", "/nonexistent/engine"},
                                        {"USER", "ada"}}});
  }
  json json_of(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--format", "json"});
    const auto end = run(arguments);
    EXPECT_NE(end.exit_code, 3) << end.error_output;
    return json::parse(end.output, nullptr, false);
  }
  std::vector<std::string> clean_step_times() const {
    std::vector<std::string> out;
    for (const auto& subject : store_->clean()) out.push_back(fmt::format("{:.1f}", 1000 * subject.step_s));
    return out;
  }
  std::string run_name() const { return "run:" + store_->run_id().substr(0, 12); }

  static SubjectStore* store_;
};
SubjectStore* Subjects::store_ = nullptr;

TEST_F(Subjects, ReportHasARowForEach) {
  const auto rows = json_of({"report", "--sweep", "all"})["rows"];
  EXPECT_THAT(figures_in(rows, "step_time_s", "runs"), UnorderedElementsAreArray(figures_of(store_->clean())));
  const auto of_run = json_of({"report", "--sweep", run_name()})["rows"];
  EXPECT_THAT(figures_in(of_run, "step_time_s", "runs"), UnorderedElementsAreArray(figures_of(store_->clean())));
}

TEST_F(Subjects, EveryFormatOfAReportDistinguishesThemAndSaysWhatIsLeftOut) {
  for (const auto* format : {"text", "markdown", "csv", "html"}) {
    const auto end = run({"report", "--sweep", "all", "--format", format, "-o", "out"});
    ASSERT_EQ(end.exit_code, 0) << end.error_output;
    const auto text = read_text(store_->folder() / "out");
    for (const auto& subject : store_->clean()) EXPECT_THAT(text, HasSubstr(subject.name)) << format;
    if (std::string_view(format) == "csv") continue;  // has all digits, and no notes
    EXPECT_THAT(step_times_in(text), IsSupersetOf(clean_step_times())) << format;
    EXPECT_THAT(text, HasSubstr("2 attempts with an injected fault are left out")) << format;
  }
  const auto text = run({"report", "--sweep", "all", "--format", "markdown"}).output;
  EXPECT_THAT(step_times_in_rows(text), UnorderedElementsAreArray(clean_step_times())) << text;
}

TEST_F(Subjects, AFaultIsReportedIfItIsRequestedByName) {
  const auto& fault = store_->injected();
  const std::vector<Figure> one{figure_of(fault)};
  for (const auto& selection : {std::string("all@inject"), fault.sweep_id + "@side B", run_name() + "@ffffff"}) {
    const auto rows = json_of({"report", "--sweep", selection})["rows"];
    EXPECT_THAT(figures_in(rows, "step_time_s", "runs"), UnorderedElementsAreArray(one)) << selection;
    EXPECT_EQ(rows[0]["inject"], json({"slow:span=matmul,fraction=0.5"}));
  }
  // People see the fault, even if every row has it.
  const auto text = run({"report", "--sweep", "all@inject", "--format", "markdown"}).output;
  EXPECT_THAT(text, AllOf(HasSubstr("| Subject"), HasSubstr(fault.name)));
  // The comparison itself has both of its sides.
  const auto rows = json_of({"report", "--sweep", fault.sweep_id})["rows"];
  EXPECT_THAT(figures_in(rows, "step_time_s", "runs"), Contains(figure_of(fault)));
  EXPECT_EQ(rows.size(), 2U);
}

TEST_F(Subjects, AnUnknownSubjectIsAnsweredWithAListOfAll) {
  const auto end = run({"report", "--sweep", "all@nobody"});
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_THAT(end.error_output, AllOf(HasSubstr("all@nobody"), HasSubstr("dddddddd, side A")));
}

TEST_F(Subjects, ShowHasMediansOfEach) {
  const auto shown = json_of({"show", run_name()});
  json times = json::array();
  for (const auto& metric : shown["metrics"]) {
    if (metric["metric"] == "step_time_s") times.push_back(metric);
  }
  EXPECT_THAT(shown["metrics"].dump(), HasSubstr("mfu_fraction"));
  EXPECT_THAT(figures_in(times, "value", "attempts"), UnorderedElementsAreArray(figures_of(store_->clean())));
  EXPECT_EQ(shown["run"].size(), store_->clean().size());
  const auto text = run({"show", run_name(), "--format", "markdown"}).output;
  EXPECT_THAT(text, HasSubstr("20260106T000000Z-fault@inject names them"));
  const auto fault = json_of({"show", run_name() + "@inject"});
  EXPECT_EQ(fault["run"][0]["subject"], store_->injected().name);
  EXPECT_EQ(fault["attempts"].size(), 2U);
}

// A row of a list belongs to one sweep.
TEST_F(Subjects, ListHasARowForEachInASweep) {
  const auto rows = json_of({"list", "runs"})["runs"];
  std::vector<Figure> expected;
  for (const auto& subject : store_->clean()) {
    if (subject.runs == 2) expected.push_back(figure_of(subject));
  }
  expected.push_back(figure_of(store_->injected()));
  const auto& swept = store_->clean().front();
  for (const std::int64_t runs : {3, 2}) expected.push_back({swept.name, e4(swept.step_s), runs});
  EXPECT_THAT(figures_in(rows, "step_time_s", "attempts"), UnorderedElementsAreArray(expected));
  const auto faults = json_of({"list", "runs", "--where", "subject=*inject*"})["runs"];
  EXPECT_EQ(faults.size(), 1U);
}

TEST_F(Subjects, DiffUsesOneSubjectOnEachSide) {
  const auto both = json_of({"diff", run_name() + "@bbbbbbbb", run_name()});
  EXPECT_EQ(both["runs"][0]["subject"], "bbbbbbbb");
  EXPECT_EQ(both["runs"][1]["subject"], "aaaaaaaa, side A");  // the one that finished last, without a fault
  for (const auto& metric : both["metrics"]) {
    if (metric["metric"] != "step_time_s") continue;
    EXPECT_EQ(e4(metric["left"]), 6011);
    EXPECT_EQ(e4(metric["right"]), 4057);
  }
}

TEST_F(Subjects, ABaselineOfSeveralIsRefusedWithTheList) {
  for (const auto* selection : {"all", "all@side B", "20260105T000000Z-revisions"}) {
    const auto end = run({"baseline", "set", "main", "--from", selection, "--reason", "r"});
    EXPECT_EQ(end.exit_code, 3) << selection << end.output;
    EXPECT_THAT(end.error_output, AllOf(HasSubstr("several subjects"), HasSubstr("eeeeeeee, side B"))) << selection;
  }
  // A complete name selects only that subject, and not its side of a comparison.
  EXPECT_EQ(run({"baseline", "set", "main", "--from", "all@aaaaaaaa", "--reason", "r"}).exit_code, 0);
  EXPECT_EQ(run({"baseline", "set", "side", "--from", "all@eeeeeeee", "--reason", "r"}).exit_code, 0);
  const auto listed = json_of({"baseline", "list"})["baselines"];
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0]["runs"], 2);
  EXPECT_EQ(listed[1]["runs"], 5);
}

TEST_F(Subjects, ComparisonsWithStoredRunsUseOneSubjectOnEachSide) {
  const auto refused = run({"compare", "--baseline", run_name(), "--sweep", "20260104T000000Z-night"});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.error_output, AllOf(HasSubstr("several subjects"), HasSubstr("bbbbbbbb")));
  const auto rows = json_of({"compare", "--baseline", run_name() + "@dddddddd", "--sweep", "all"})["cells"];
  std::vector<std::int64_t> expected;
  for (const auto& subject : store_->clean()) expected.push_back(e4(subject.step_s));
  std::vector<std::int64_t> found;
  for (const auto& row : rows) {
    found.push_back(e4(row["current"]));
    EXPECT_EQ(e4(row["baseline"]), 2027);
  }
  EXPECT_THAT(found, UnorderedElementsAreArray(expected));
  const auto text = run({"compare", "--baseline", run_name() + "@dddddddd", "--sweep", "all"}).output;
  for (const auto& subject : store_->clean()) EXPECT_THAT(text, HasSubstr(subject.name.substr(0, 8)));
  const auto reported = json_of({"report", "--sweep", "all", "--baseline", run_name() + "@dddddddd"})["rows"];
  EXPECT_THAT(figures_in(reported, "step_time_s", "runs"), UnorderedElementsAreArray(figures_of(store_->clean())));
}

// A series continues from engine to engine, and each point belongs to one engine.
TEST_F(Subjects, HistoryHasAPointForEachNight) {
  const auto series = json_of({"history"})["series"];
  ASSERT_EQ(series.size(), 1U);
  const std::vector<Figure> nights{{"bbbbbbbb", 6011, 2}, {"cccccccc", 7019, 2}};
  EXPECT_THAT(figures_in(series[0]["nights"], "value", "runs"), testing::ElementsAreArray(nights));
  EXPECT_NE(run({"history", "--format", "svg", "-o", "h.svg"}).exit_code, 3);
}

TEST_F(Subjects, AnExportIncludesThem) {
  const auto file = (store_->folder() / "all.perfbench").string();
  std::filesystem::remove(file);
  ASSERT_EQ(run({"export", file}).exit_code, 0);
  const auto elsewhere = (store_->folder() / "copy.db").string();
  const auto binary = std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench";
  const std::map<std::string, std::string> data{{"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR}};
  const auto taken = run_process({.command = {binary, "import", "--db", elsewhere, file}, .environment = data});
  ASSERT_EQ(taken.exit_code, 0) << taken.error_output;
  const auto report = run_process(
      {.command = {binary, "report", "--db", elsewhere, "--sweep", "all", "--format", "json"}, .environment = data});
  EXPECT_THAT(figures_in(json::parse(report.output)["rows"], "step_time_s", "runs"),
              UnorderedElementsAreArray(figures_of(store_->clean())));
}

TEST_F(Subjects, TheViewOfRunsDistinguishesThem) {
  const auto db = open_database(store_->db(), {.mode = OpenMode::read_only});
  Statement row(db, "SELECT engine_sha256, inject, side FROM v_runs WHERE attempt_key = ?");
  std::set<std::string> sides;
  for (const auto& attempt : load_attempts(db, parse_selection("all"))) {
    ASSERT_TRUE(row.with(attempt.key).step());
    // An older perfbench recorded the engines of a comparison only with its sides.
    if (!row.is_null(0)) {
      EXPECT_EQ(row.text(0), attempt.subject.engine_sha256);
    }
    EXPECT_EQ(row.is_null(0) && attempt.subject.side.empty(), attempt.subject.engine_sha256.empty());
    EXPECT_EQ(row.is_null(1) ? std::vector<std::string>() : std::vector{row.text(1)}, attempt.subject.inject);
    EXPECT_EQ(row.is_null(2) ? "" : row.text(2), attempt.subject.side);
    sides.insert(attempt.subject.side);
  }
  EXPECT_THAT(sides, testing::ElementsAre("", "A", "B"));
}

TEST_F(Subjects, PagesShowTheSameRows) {
  const auto db = open_database(store_->db(), {.mode = OpenMode::read_only});
  reports::MemoryCounts counts({"/nonexistent/engine"});
  const auto page = [&](const ViewRequest& request) {
    const auto document = view(db, request, Installation{.engine = "/nonexistent/engine"}, counts);
    EXPECT_THAT(reports::render(document, reports::DocumentFormat::html), HasSubstr("<html")) << request.path;
    return json::parse(reports::render(document, reports::DocumentFormat::json));
  };
  const auto fault = page({.path = "/report", .parameters = {{"sweep", store_->injected().sweep_id}}});
  EXPECT_THAT(fault.dump(), AllOf(HasSubstr("aaaaaaaa, side A"), HasSubstr(store_->injected().name)));
  EXPECT_EQ(page({.path = "/runs"})["runs"].size(), 9U);
  const auto shown = page({.path = "/run/" + store_->run_id().substr(0, 12)});
  EXPECT_EQ(shown["run"].size(), store_->clean().size());
  const auto of_one = page({.path = "/run/" + store_->run_id().substr(0, 12), .parameters = {{"subject", "inject"}}});
  EXPECT_EQ(of_one["run"][0]["subject"], store_->injected().name);
  page({.path = "/"});
  page({.path = "/history"});
  const auto id = store_->run_id().substr(0, 12);
  page({.path = "/diff", .parameters = {{"left", id + "/1"}, {"right", id}}});
}

TEST_F(Subjects, AServerShowsTheDocumentsThatCommandsPrint) {
  const auto db = open_database(store_->db(), {.mode = OpenMode::read_only});
  const Installation installation{.engine = "/nonexistent/engine"};
  reports::MemoryCounts counts({installation.engine});
  const auto page = [&](const ViewRequest& request, reports::DocumentFormat format) {
    return reports::render(view(db, request, installation, counts), format);
  };
  const auto id = store_->run_id().substr(0, 12);
  const auto sweep = store_->clean()[1].sweep_id;
  struct Case {
    std::vector<std::string> command;
    ViewRequest request;
  };
  for (const auto& [command, request] :
       {Case{{"show", id}, {.path = "/run/" + id}},
        Case{{"diff", id + "/1", id}, {.path = "/diff", .parameters = {{"left", id + "/1"}, {"right", id}}}},
        Case{{"history"}, {.path = "/history"}}}) {
    for (const auto format : {reports::DocumentFormat::csv, reports::DocumentFormat::json}) {
      auto arguments = command;
      arguments.insert(arguments.end(), {"--format", std::string(spec::enum_name(format))});
      const auto printed = run(arguments);
      EXPECT_NE(printed.output, "") << printed.error_output;
      EXPECT_EQ(printed.output, page(request, format)) << request.path;
    }
  }
  // These pages have a heading of their own, so that their JSON differs.
  EXPECT_EQ(run({"report", "--sweep", sweep, "--format", "csv"}).output,
            page({.path = "/report", .parameters = {{"sweep", sweep}}}, reports::DocumentFormat::csv));
  EXPECT_THAT(page({.path = "/alerts"}, reports::DocumentFormat::markdown),
              testing::EndsWith(run({"alerts", "list", "--format", "markdown"}).output));
}

}  // namespace
}  // namespace perfbench::harness
