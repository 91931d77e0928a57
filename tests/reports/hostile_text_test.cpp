// Names, reasons, notes and file names that could act as commands, colours and markup, through every command that
// prints them, in every format.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "harness/execute/process.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "tests/harness/example_alert.h"
#include "tests/harness/example_run.h"

namespace perfbench::reports {
namespace {

namespace fs = std::filesystem;
using harness::ProcessEnd;
using testing::HasSubstr;

const std::string kHostile =
    "zq\n::error::zq1\r\n  ::warning::zq2\x1b]0;t\x07\x1b[31m<script>zq3|`zq4`[x](javascript:zq5)\u202e##[error]zq6\t"
    "\x7f\xc2\x9b";
const std::string kFormula = "=cmd()|zq";

// Only line ends and tabs move the cursor, and no line is a command of a CI runner.
void expect_harmless(const std::string& text, const std::string& where) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool is_line_end = c == '\n' || (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n');
    const bool is_c1 = c == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if ((c >= 0x20 && c != 0x7F && !is_c1) || is_line_end || c == '\t') continue;
    ADD_FAILURE() << where << ": character " << int{c} << " at " << i << " of:\n" << text;
    return;
  }
  EXPECT_EQ(text.find("\u202e"), std::string::npos) << where;
  EXPECT_EQ(text.find("##["), std::string::npos) << where << ":\n" << text;
  static const std::regex kCommand(R"((^|\n)[ \t]*::)");
  EXPECT_FALSE(std::regex_search(text, kCommand)) << where << ":\n" << text;
}

std::size_t unescaped_pipes(const std::string& line) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == '|') {
      ++count;
    }
  }
  return count;
}

void expect_markdown(const std::string& text, const std::string& where) {
  EXPECT_EQ(text.find('<'), std::string::npos) << where << ":\n" << text;
  static const std::regex kLink(R"([^\\]\]\()");
  EXPECT_FALSE(std::regex_search(text, kLink)) << where << ":\n" << text;
  EXPECT_EQ(text.find(" `zq"), std::string::npos) << where << ":\n" << text;
  std::istringstream lines(text);
  std::size_t columns = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto found = unescaped_pipes(line);
    EXPECT_TRUE(columns == 0 || found == 0 || found == columns) << where << ": " << line;
    columns = found;
  }
}

// RFC 4180.
std::vector<std::vector<std::string>> parse_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows{{""}};
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    auto& field = rows.back().back();
    if (quoted) {
      if (c != '"') {
        field += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field += text[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      rows.back().emplace_back();
    } else if (c == '\n') {
      rows.push_back({""});
    } else if (c != '\r') {
      field += c;
    }
  }
  rows.pop_back();  // after the last line end
  return rows;
}

// Every record has as many fields as the heading. Returns those of a column.
std::vector<std::string> csv_column(const std::string& text, const std::string& name) {
  const auto rows = parse_csv(text);
  const auto& heading = rows.at(0);
  const auto column = static_cast<std::size_t>(std::find(heading.begin(), heading.end(), name) - heading.begin());
  std::vector<std::string> out;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].size(), heading.size()) << text;
    out.push_back(rows[i].at(column));
  }
  return out;
}

class HostileText : public testing::Test {
 protected:
  harness::ScratchFolder scratch_;
  std::string folder_ = "runs " + kHostile;

  void SetUp() override {
    for (const int sweep : {1, 2}) {
      for (int i = 1; i <= 5; ++i) write_run(sweep, i, kHostile);
      write_run(sweep, 6, kFormula);
    }
    harness::ExampleRun crashed{.attempt = harness::example_attempt(kHostile, 7)};
    crashed.attempt.sweep_id = "s2";
    crashed.attempt.sweep_kind = harness::SweepKind::night;
    crashed.attempt.state = harness::AttemptState::crashed;
    crashed.attempt.reason = kHostile;
    crashed.run.seed = 77;
    harness::write_run_directory(scratch_ / folder_ / "s2" / "7", crashed);
    const auto quoted = nlohmann::json("m " + kHostile).dump(-1, ' ', true);
    write_text("m.yaml", "name: " + quoted +
                             "\ndefaults: {model: llama-mini, seq_len: 32, global_batch: 2, steps: 6}\n"
                             "axes: {steps: [6, 7]}\n");
    // An engine that plans, but prints hostile text instead of training.
    write_text("says.txt", kHostile + "\nperfbench-engine: zq ::x\x1b[31m<b>|\x7f\n");
    write_text("engine", "#!/bin/sh\nif [ \"$1\" = run ]; then cat '" + (scratch_ / "says.txt").string() +
                             "' >&2; exit 4; fi\nexec " PERFBENCH_FAKE_ENGINE " \"$@\"\n");
    fs::permissions(scratch_ / "engine", fs::perms::owner_all);
  }

  void write_text(const std::string& name, const std::string& text) { harness::write_text(scratch_ / name, text); }

  void write_run(int sweep, int number, const std::string& name) {
    harness::ExampleRun example{.attempt = harness::example_attempt(name, number)};
    example.attempt.matrix = name;
    example.attempt.sweep_id = "s" + std::to_string(sweep);
    example.attempt.sweep_kind = harness::SweepKind::night;
    example.attempt.started_utc = "2026-0" + std::to_string(sweep) + "-01T00:00:0" + std::to_string(number) + "Z";
    example.run.model.name = name;
    example.environment.hostname = example.environment.cpu_model = example.environment.kernel = kHostile;
    example.environment.libraries = {{kHostile, kHostile}};
    example.step_s.assign(6, 0.5 * sweep * (1 + 0.001 * number));
    harness::write_run_directory(scratch_ / folder_ / example.attempt.sweep_id / std::to_string(number), example);
  }

  ProcessEnd run(std::vector<std::string> arguments, const std::string& engine = PERFBENCH_FAKE_ENGINE) {
    arguments.insert(arguments.begin(), std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench");
    return harness::run_process(
        {.command = arguments,
         .working_dir = scratch_.path(),
         .environment = {
             {"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR}, {"PERFBENCH_ENGINE", engine}, {"USER", kHostile}}});
  }

  // Both streams are harmless, and the name was there to be shown.
  ProcessEnd shows(const std::vector<std::string>& arguments, const std::string& engine = PERFBENCH_FAKE_ENGINE) {
    auto end = run(arguments, engine);
    std::string where;
    for (const auto& argument : arguments) where += argument.substr(0, 30) + " ";
    expect_harmless(end.output, where + "(output)");
    expect_harmless(end.error_output, where + "(error)");
    EXPECT_THAT(end.output + end.error_output, HasSubstr("zq")) << where;
    return end;
  }
  ProcessEnd shows_markdown(const std::vector<std::string>& arguments) {
    auto end = shows(arguments);
    expect_markdown(end.output, arguments.front());
    return end;
  }
};

// Two script elements, the data and the page's own script. Only that script can make an element.
void expect_page(const std::string& text, const std::string& where) {
  static const std::regex kElement("<(/?)(script|img|iframe|object|embed|form)");
  const auto count = std::distance(std::sregex_iterator(text.begin(), text.end(), kElement), std::sregex_iterator());
  EXPECT_EQ(count, 4) << where;  // two opening and two closing ones
  const std::string begin = "id=\"document\">";
  const auto at = text.find(begin) + begin.size();
  EXPECT_TRUE(nlohmann::json::accept(text.substr(at, text.find("</script>", at) - at))) << where;
}

void expect_drawing(const std::string& text, const std::string& where) {
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(text.c_str())) << where;
  static const std::set<std::string> kElements{"svg", "style", "title", "text", "rect", "line", "path", "circle"};
  struct Walker : pugi::xml_tree_walker {
    bool for_each(pugi::xml_node& node) override {
      if (node.type() != pugi::node_element) return true;
      EXPECT_TRUE(kElements.contains(node.name())) << node.name();
      for (const auto& attribute : node.attributes()) {
        EXPECT_EQ(std::string(attribute.name()).find("on"), std::string::npos) << attribute.name();
        EXPECT_EQ(std::string(attribute.value()).find("zq"), std::string::npos) << attribute.value();
      }
      return true;
    }
  } walker;
  document.traverse(walker);
}

TEST_F(HostileText, InPagesAndDrawings) {
  shows({"ingest", folder_, "--db", "q.db"});
  for (const auto& command : {std::vector<std::string>{"report", "--sweep", "all"},
                              {"history"},
                              {"list"},
                              {"show", "latest"},
                              {"compare", "--baseline", "s1"}}) {
    auto arguments = command;
    arguments.insert(arguments.end(), {"--db", "q.db", "--format", "html"});
    expect_page(shows(arguments).output, command.front());
  }
  expect_drawing(shows({"history", "--db", "q.db", "--format", "svg"}).output, "history");
  shows({"history", "--db", "q.db", "--format", "svg", "--chart", kHostile});
  shows({"list", "--db", "q.db", "--format", "html", "-o", kHostile + "/zq"});
  shows({"plan", "m.yaml", "--html", "plan.html"});
  expect_page(harness::read_text(scratch_ / "plan.html"), "plan");
}

TEST_F(HostileText, InReportsAndComparisons) {
  shows({"ingest", folder_, "--db", "q.db"});
  shows_markdown({"report", "--db", "q.db", "--sweep", "all"});
  shows_markdown({"report", "--db", "q.db", "--baseline", "s1"});
  shows_markdown({"report", "--db", "q.db", "--style", "seqax"});
  const auto csv = shows({"report", "--db", "q.db", "--sweep", "all", "--format", "csv"});
  const auto cells = csv_column(csv.output, "cell");
  EXPECT_THAT(cells, testing::Contains("'=cmd()|zq"));
  EXPECT_THAT(cells, testing::Contains(HasSubstr("zq ::error::zq1    ::warning::zq2\\x1b]0;t\\x07")));
  const auto json = nlohmann::json::parse(shows({"report", "--db", "q.db", "--format", "json"}).output);
  EXPECT_THAT(json["rows"].dump(), HasSubstr(nlohmann::json(kHostile).dump())) << "exactly as it is";

  shows({"baseline", "set", "zq-base", "--db", "q.db", "--from", "s1", "--reason", kHostile, "--author", kHostile});
  shows({"baseline", "set", kHostile, "--db", "q.db", "--from", "s1", "--reason", "r", "--author", "a"});
  shows({"baseline", "list", "--db", "q.db"});
  shows({"compare", "--db", "q.db", "--baseline", "s1"});
  shows({"compare", "--db", "q.db", "--baseline", kHostile});
  EXPECT_TRUE(
      nlohmann::json::accept(shows({"compare", "--db", "q.db", "--baseline", "s1", "--format", "json"}).output));
  shows_markdown({"history", "--db", "q.db"});
  csv_column(shows({"history", "--db", "q.db", "--format", "csv"}).output, "cell");
  EXPECT_TRUE(nlohmann::json::accept(shows({"history", "--db", "q.db", "--format", "json"}).output));
  shows({"history", "--db", "q.db", "--series", kHostile + "zq"});
  shows({"export", "--db", "q.db", kHostile});
  shows({"import", "--db", "w.db", kHostile});
  write_text(kHostile, "torn");
  shows({"import", "--db", "w.db", kHostile});
}

TEST_F(HostileText, InAlerts) {
  auto finding = harness::example_finding();
  finding.series.matrix = finding.series.cell = finding.detail = kHostile;
  finding.series.run_id = finding.series.machine = kHostile;
  finding.last_good.revision = finding.first_bad.revision = finding.first_bad.sweep_id = kHostile;
  finding.environment = {{kHostile, kHostile, kHostile}};
  finding.attribution = {{.name = kHostile, .ns = 1e6, .share = 0.5}};
  finding.confirmation = {kHostile};
  std::string id;
  {
    auto db = harness::open_database(scratch_ / "q.db");
    id = harness::record_findings(db, {finding}, kHostile, "2026-01-10T05:00:00Z").at(0).alert.alert_id;
  }
  const std::vector<std::string> at{"--db", "q.db"};
  const auto with = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), at.begin(), at.end());
    return arguments;
  };
  shows(with({"alerts", "ack", id, "--reason", kHostile, "--author", kHostile}));
  for (const auto& what : {std::vector<std::string>{"alerts", "list"}, {"alerts", "show", id}}) {
    const auto in_format = [&](const std::string& format) {
      auto arguments = with(what);
      arguments.insert(arguments.end(), {"--format", format});
      return arguments;
    };
    shows_markdown(with(what));
    EXPECT_THAT(nlohmann::json::parse(shows(in_format("json")).output).dump(),
                HasSubstr(nlohmann::json(kHostile).dump()));
    pugi::xml_document document;
    const auto xml = shows(in_format("junit")).output;
    ASSERT_TRUE(document.load_string(xml.c_str())) << xml;
    // One command, the intended one; its title and its message cannot end it.
    const auto github = run(in_format("github")).output;
    static const std::regex kAnnotation("::(error|warning|notice) title=[^:,\n]*::[^\n\r\x1b\x7f]*\n");
    EXPECT_TRUE(std::regex_match(github, kAnnotation)) << github;
  }
  shows(with({"alerts", "show", kHostile}));
}

TEST_F(HostileText, InPlansSweepsAndOutputOfEngines) {
  const auto engine = (scratch_ / "engine").string();
  shows({"plan", "m.yaml"});
  shows({"plan", "m.yaml", "--details", kHostile});
  csv_column(shows({"plan", "m.yaml", "--format", "csv"}).output, "cell");
  EXPECT_EQ(nlohmann::json::parse(shows({"plan", "m.yaml", "--format", "json"}).output)["matrix"], "m " + kHostile);
  shows({"plan", "m.yaml", "--only", kHostile + "zq=1"});
  const auto swept = shows({"sweep", "m.yaml", "--db", "s.db", "--runs", folder_}, engine);
  EXPECT_THAT(swept.error_output, HasSubstr("crashed")) << swept.output;
  const auto table = swept.output.find("## ");
  expect_markdown(swept.output.substr(table, swept.output.find("; database", table) - table), "sweep");
  EXPECT_THAT(swept.output, HasSubstr("perfbench-engine: zq ::x")) << "what the engine said last";
  const auto night = shows({"nightly", "m.yaml", "--db", "n.db", "--junit", "n.xml", "--markdown", "n.md"}, engine);
  expect_markdown(night.output, "nightly");
  expect_markdown(harness::read_text(scratch_ / "n.md"), "nightly --markdown");
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(harness::read_text(scratch_ / "n.xml").c_str()));
}

TEST_F(HostileText, InArgumentsAndPaths) {
  shows({"report", kHostile});
  shows({"report", "--" + kHostile});
  shows({"report", "--db", kHostile});
  shows({"plan", kHostile + ".yaml"});
  shows({"reproduce", (scratch_ / folder_).string()});
  shows({"trace", (scratch_ / folder_).string()});
  shows({"data", "show", kHostile});
  shows({"doctor"}, (scratch_ / kHostile).string());
  shows({"bisect", kHostile, "HEAD", "m.yaml"});
  shows({"compare", "--ab", kHostile, "HEAD", "m.yaml"});
}

// Legitimate text stays readable.
TEST_F(HostileText, DoesNotTouchOrdinaryNames) {
  harness::ExampleRun example{.attempt = harness::example_attempt("größe=模型_2 mesh=[2, 4]", 1)};
  example.attempt.matrix = "Ночь";
  harness::write_run_directory(scratch_ / "plain" / "1", example);
  run({"ingest", "plain", "--db", "p.db"});
  EXPECT_THAT(run({"report", "--db", "p.db"}).output, HasSubstr("## Ночь\n"));
  EXPECT_THAT(run({"report", "--db", "p.db", "--format", "csv"}).output, HasSubstr("größe=模型_2 mesh=[2, 4]"));
}

}  // namespace
}  // namespace perfbench::reports
