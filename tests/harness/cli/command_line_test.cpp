// Error messages for invalid command lines, and the promises of the help.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "harness/execute/process.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using CommandWords = std::vector<std::string>;

const std::set<std::string> kCommandTitles{
    "Subcommands:", "Measure:", "Read:", "Compare:", "Nightly:", "Data:", "Admin:"};

class CommandLine : public testing::Test {
 protected:
  ProcessEnd run(CommandWords arguments, std::map<std::string, std::string> environment = {}) const {
    arguments.insert(arguments.begin(), std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench");
    environment["PERFBENCH_DATA_DIR"] = PERFBENCH_SOURCE_DIR;
    return run_process({.command = arguments, .working_dir = scratch_.path(), .environment = environment},
                       {.time_limit = std::chrono::minutes(1)});
  }

  // One to three lines, of which the first begins with the command and the user's input.
  void expect_error(const CommandWords& words, const std::string& begin, const CommandWords& parts) const {
    const auto end = run(words);
    EXPECT_EQ(end.exit_code, 3) << begin;
    EXPECT_EQ(end.output, "") << begin;
    EXPECT_THAT(end.error_output, StartsWith(begin));
    for (const auto& part : parts) EXPECT_THAT(end.error_output, HasSubstr(part)) << begin;
    EXPECT_LE(std::count(end.error_output.begin(), end.error_output.end(), '\n'), 3) << end.error_output;
    EXPECT_THAT(end.error_output, AllOf(Not(HasSubstr("->")), Not(HasSubstr("Run with")))) << begin;
  }

  // The help of every command and subcommand.
  void append_help(const CommandWords& command, std::map<CommandWords, std::string>& out) const {
    auto asked = command;
    asked.emplace_back("--help");
    const auto help = run(asked).output;
    out[command] = help;
    bool inside = false;
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty() && line[0] != ' ') inside = kCommandTitles.contains(line);
      if (!inside || !line.starts_with("  ") || line[2] == ' ') continue;
      auto below = command;
      below.push_back(line.substr(2, line.find(' ', 2) - 2));
      append_help(below, out);
    }
  }

  ScratchFolder scratch_;
};

TEST_F(CommandLine, AMisspeltWordIsAnsweredWithTheClosestMatch) {
  expect_error({"swep", "x"}, "[perfbench] 'swep': there is no such command (did you mean 'sweep'?)",
               {"report", "--help"});
  expect_error({"alerts", "lst"}, "[alerts] 'lst': there is no such command (did you mean 'list'?)", {"reopen"});
  expect_error({"report", "--formt", "csv"}, "[report] '--formt': there is no such option (did you mean '--format'?)",
               {"`perfbench report --help`"});
  expect_error({"alerts", "list", "--gat"}, "[alerts list] '--gat': there is no such option (did you mean '--gate'?)",
               {});
  expect_error({"--versio"}, "[perfbench] '--versio': there is no such option (did you mean '--version'?)", {});
  // The value of the misspelt option is taken for the matrix file; an error about that would not help.
  for (const auto* value : {"a=b", "."}) {
    expect_error({"sweep", "--onyl", value, "m.yaml"}, "[sweep] '--onyl': there is no such option", {"'--only'"});
  }
}

TEST_F(CommandLine, AMisplacedWordIsAnsweredWithItsPlace) {
  expect_error({"--db", "x", "report"}, "[perfbench] '--db': is an option of `perfbench report` and follows it", {});
  expect_error({"report", "x"}, "[report] 'x': is one word too many",
               {"`perfbench report [OPTIONS]`", "for example: "});
  expect_error({"report", "--db"}, "[report] --db: takes a value; give --db DATABASE", {});
  expect_error({"report", "--db", "a", "--db", "b"}, "[report] --db: 2 values were given, but it takes 1", {});
  expect_error({"compare", "--ab", "a"}, "[compare] --ab: takes 2 values; give --ab A B", {});
  expect_error({"alerts", "list", "--gate=maybe"}, "[alerts list] --gate 'maybe': takes no value", {});
  expect_error({"compare", "--runs", "x"}, "[compare] --runs: only works with --ab; add --ab", {});
  expect_error({"sweep", "--keep-going", "--fail-fast", "m.yaml"},
               "[sweep] --keep-going: cannot be combined with --fail-fast", {});
}

TEST_F(CommandLine, AMissingArgumentIsAnsweredWithAnExample) {
  expect_error({"baseline"}, "[baseline] a command is missing: give set, import or list", {"perfbench baseline set"});
  expect_error({"sweep"}, "[sweep] file is missing: matrix file", {"for example: perfbench sweep matrices/"});
  expect_error({"alerts", "ack"}, "[alerts ack] ALERT is missing: ", {"for example: perfbench alerts ack 1a2b3c"});
  expect_error({"alerts", "close", "1a2b3c", "--reason", "r"}, "[alerts close] --as is missing: fixed,",
               {"--as wont_fix"});
  expect_error({"data", "show"}, "[data show] DIR is missing", {"perfbench data show text"});
}

TEST_F(CommandLine, WithoutArgumentsItPrintsTheWorkflowInFiveLines) {
  const auto end = run({});
  EXPECT_EQ(end.exit_code, 3) << "a script whose command is empty has measured nothing";
  EXPECT_EQ(end.error_output, "");
  EXPECT_EQ(std::count(end.output.begin(), end.output.end(), '\n'), 5);
  std::istringstream lines(end.output);
  std::map<CommandWords, std::string> help;
  append_help({}, help);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string program;
    std::string command;
    words >> program >> command;
    EXPECT_EQ(program, "perfbench");
    EXPECT_TRUE(help.contains({command})) << line;
    EXPECT_LE(line.size(), 92U) << line;
  }
}

TEST_F(CommandLine, HelpPrintsWhatTheOptionPrints) {
  EXPECT_EQ(run({"help"}).output, run({"--help"}).output);
  EXPECT_EQ(run({"help", "sweep"}).output, run({"sweep", "--help"}).output);
  EXPECT_EQ(run({"help", "alerts", "list"}).output, run({"alerts", "list", "--help"}).output);
  EXPECT_THAT(run({"help", "sweep"}).output, HasSubstr("perfbench sweep [OPTIONS] file"));
  expect_error({"help", "swep"}, "[help] 'swep': there is no such command (did you mean 'sweep'?)", {"--help"});
}

TEST_F(CommandLine, HelpListsTheCommandsInGroups) {
  std::string titles;
  std::istringstream lines(run({"--help"}).output);
  for (std::string line; std::getline(lines, line);) {
    if (kCommandTitles.contains(line)) titles += line;
  }
  EXPECT_EQ(titles, "Measure:Read:Compare:Nightly:Data:Admin:");
}

TEST_F(CommandLine, AnInvalidValueIsAnsweredWithTheValidOnes) {
  expect_error({"report", "--format", "pdf"}, "[report] --format 'pdf': there is no such value",
               {"give text, markdown, csv, json, html or svg"});
  expect_error({"report", "--style", "paxx"},
               "[report] --style 'paxx': ", {"did you mean 'pax'?", "torchprime or seqax"});
  expect_error({"compare", "--definition", "x"}, "[compare] --definition 'x': ", {"causal, palm, six_n_total or"});
  expect_error({"sweep", "m.yaml", "--repeats", "0"}, "[sweep] --repeats '0': a whole number from 1 to 1000 is needed",
               {});
  expect_error({"report", "--sweep", "run:zz"}, "[report] --sweep 'run:zz': a run is named by", {"latest, all"});
  expect_error({"export", "f", "--select", "attempt:abcdef/x"},
               "[export] --select 'attempt:abcdef/x': ", {"number from 1"});
  expect_error({"baseline", "set", "x", "--reason", "r", "--from", "run:1"},
               "[baseline set] --from 'run:1': ", {"digits"});
}

TEST_F(CommandLine, AnUnknownMetricIsAnsweredWithTheCatalogClosestFirst) {
  // compare needs the database for that, because a program may declare the metric (program_command_test.cpp).
  for (const auto& command : {CommandWords{"history"}, {"bisect", "a", "b", "m.yaml"}}) {
    auto words = command;
    words.insert(words.end(), {"--metric", "step_tme_s"});
    expect_error(words,
                 "[" + command.front() + "] --metric 'step_tme_s': the catalog has no such metric (did you mean ",
                 {"'step_time_s'?", ":\n  step_time_s, ", "peak_memory_bytes"});
  }
  expect_error({"compare", "--ab", "a", "b", "m.yaml", "--metrics", "final_los"},
               "[compare] --metrics 'final_los': ", {"'final_loss'?"});
}

TEST_F(CommandLine, ADifferenceToDetectIsAFractionAndNeedsNoNumberOfPairs) {
  for (const auto* wrong : {"200%", "0", "much", "%", "-2%", "nan"}) {
    expect_error({"compare", "--ab", "a", "b", "m.yaml", "--detect", wrong},
                 std::string("[compare] --detect '") + wrong + "': a fraction from 0.1% to 50% is needed", {"2%"});
  }
  expect_error({"compare", "--ab", "a", "b", "m.yaml", "--detect", "2%", "--pairs", "8"},
               "[compare] --pairs: cannot be combined with --detect", {});
  expect_error({"compare", "--ab", "a", "b", "m.yaml", "--detect", "2%", "--resume"},
               "[compare] --detect: cannot be combined with --resume", {});
  expect_error({"compare", "--ab", "a", "b", "m.yaml", "--within", "5m"},
               "[compare] --within: only works with --detect", {});
}

TEST_F(CommandLine, AnUnknownPublishedRowIsAnsweredWithThoseOfItsSystemOrAllSystems) {
  for (const auto* command : {"report", "compare"}) {
    const auto begin = std::string("[") + command + "] --baseline 'published:";
    expect_error({command, "--baseline", "published:seqax"}, begin + "seqax': names a system but no row",
                 {"published:SYSTEM/ID", "seqax has:\n  seqax/"});
    expect_error({command, "--baseline", "published:pux/1"}, begin + "pux/1': ", {"'pax'?", "axlearn, fms-fsdp, "});
    expect_error({command, "--baseline", "published:maxtext/llama2-7b-8xh200"},
                 begin + "maxtext/llama2-7b-8xh200': ", {"did you mean 'maxtext/llama2-7b-8xh100'?"});
  }
  expect_error({"baseline", "import", "x", "--reason", "r", "--from", "published:pax"},
               "[baseline import] --from 'published:pax': ", {"pax has:"});
}

TEST_F(CommandLine, TheEnvironmentNamesTheDatabaseUnlessAnOptionDoes) {
  const auto database_of = [this](const CommandWords& words, const std::string& in_environment) {
    const auto end = run(words, {{"PERFBENCH_DB", in_environment}});
    std::smatch found;
    const auto text = end.output + end.error_output;
    return std::regex_search(text, found, std::regex("(perf|env|named)\\.db")) ? found.str() : text;
  };
  for (const auto& command : {CommandWords{"report"}, {"history"}, {"alerts", "list"}, {"baseline", "list"}}) {
    auto named = command;
    named.insert(named.end(), {"--db", "named.db"});
    EXPECT_EQ(database_of(command, ""), "perf.db");
    EXPECT_EQ(database_of(command, "env.db"), "env.db");
    EXPECT_EQ(database_of(named, "env.db"), "named.db");
  }
}

TEST_F(CommandLine, ValuesOfTheEnvironmentAreCheckedForTheCommandThatRuns) {
  std::filesystem::create_directory(scratch_ / "folder");
  const std::map<std::string, std::string> environment{{"PERFBENCH_DB", "folder"}};
  const auto refused = run({"report"}, environment);
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.error_output, StartsWith("[report] PERFBENCH_DB 'folder': is a folder"));
  EXPECT_EQ(run({"--version"}, environment).exit_code, 0);
  EXPECT_EQ(run({"completion", "bash"}, environment).exit_code, 0);
}

TEST_F(CommandLine, EveryDatabaseOptionNamesItsVariable) {
  std::map<CommandWords, std::string> help;
  append_help({}, help);
  std::size_t options = 0;
  for (const auto& [command, text] : help) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("  --db ")) continue;
      ++options;
      EXPECT_THAT(line, HasSubstr("(Env:PERFBENCH_DB)")) << testing::PrintToString(command);
    }
  }
  EXPECT_GT(options, 15U);
}

TEST_F(CommandLine, AMissingFolderForTemporaryFilesIsNamed) {
  const auto matrix = std::string(PERFBENCH_SOURCE_DIR) + "/matrices/quickstart.yaml";
  const auto end = run({"plan", matrix}, {{"TMPDIR", "/nonexistent"}});
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_THAT(end.error_output, HasSubstr("TMPDIR is '/nonexistent', which is not a folder"));
  EXPECT_EQ(run({"plan", matrix}, {{"TMPDIR", scratch_.path().string()}}).exit_code, 0);
}

TEST_F(CommandLine, VersionIsTheNumberAndTheCommit) {
  const auto end = run({"--version"});
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_TRUE(
      std::regex_match(end.output, std::regex(R"(\d+\.\d+\.\d+ \(commit ([0-9a-f]{12}|unknown)(, changed)?\)\n)")))
      << end.output;
}

TEST_F(CommandLine, EveryCommandsHelpHasExamplesAndExitCodes) {
  std::map<CommandWords, std::string> help;
  append_help({}, help);
  EXPECT_GT(help.size(), 28U);
  for (const auto& [command, text] : help) {
    const auto name = testing::PrintToString(command);
    EXPECT_TRUE(std::regex_search(text, std::regex("\nExamples?:\n  \\S*.*perfbench"))) << name << text;
    EXPECT_THAT(text, HasSubstr("\nExit codes: ")) << name;
    EXPECT_THAT(text, Not(HasSubstr("->"))) << name;
    EXPECT_THAT(text, Not(HasSubstr(":{"))) << name;
  }
}

}  // namespace
}  // namespace perfbench::harness
