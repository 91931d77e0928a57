// Every option of every command, as its --help lists them, with invalid values: they are refused while the command line
// is parsed, with the option's name, before anything runs. Options that are added later are tested automatically.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "harness/execute/process.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {
namespace fs = std::filesystem;

using testing::HasSubstr;
using testing::StartsWith;
using Words = std::vector<std::string>;

// Options whose values are looked up later; tests of that code cover them.
const std::set<std::string> kWords{"--address",
                                   "--stack",
                                   "--image",
                                   "--container-option",
                                   "--chart",
                                   "--sweep",
                                   "--matrix",
                                   "--baseline",
                                   "--metric",
                                   "--metrics",
                                   "--margin",
                                   "--build-option",
                                   "--series",
                                   "--select",
                                   "--author",
                                   "--reason",
                                   "--expires",
                                   "--details",
                                   "--device",
                                   "--model",
                                   "--plant",
                                   "--inject",
                                   "ALERT",
                                   "NAME",
                                   "GOOD",
                                   "BAD",
                                   "COMMAND",
                                   "baseline set --from",
                                   "TEXT",
                                   "import --date",
                                   "import --commit",
                                   "--cell",
                                   "--read-metric",
                                   "--work",
                                   "run --name",
                                   "--program",
                                   "--launcher",
                                   "--launch-option",
                                   "--partition",
                                   "--queue",
                                   "--secret",
                                   "--claim",
                                   "--resource",
                                   "--cluster",
                                   "--device-type",
                                   "--new-key",
                                   "URL"};

// The title above a list of commands; perfbench itself has several groups.
const std::string kCommandsTitle = "Subcommands:|Measure:|Read:|Compare:|Nightly:|Data:|Admin:";

struct ListedOption {
  Words command;     // "baseline", "set"
  std::string name;  // "--db", or "FILE" for a positional
  std::string type;  // its first word: NUMBER, DATABASE, ...; empty for a flag
  Words before;      // positionals that precede it

  bool is_positional() const { return !name.starts_with('-'); }
  std::string shown() const {
    std::string text;
    for (const auto& word : command) text += word + " ";
    return text + name;
  }
};

// From "Positionals:" to the lines below it. A title begins at the margin, an entry two spaces to the right, and its
// help further to the right.
std::vector<std::string> entries_below(const std::string& help, const std::regex& title) {
  std::vector<std::string> out;
  bool inside = false;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Examples:") || line.starts_with("Example:")) break;
    if (!line.empty() && line[0] != ' ') inside = std::regex_search(line, title);
    if (inside && line.starts_with("  ") && line[2] != ' ') out.push_back(line.substr(2));
  }
  return out;
}

// Splits "--db DATABASE=perf.db Needs: --ab    database" into name and type.
ListedOption parse_entry(const Words& command, const std::string& entry) {
  auto words = entry.substr(0, entry.find("  "));
  ListedOption out{.command = command, .name = words.substr(0, words.find(' '))};
  out.name = out.name.substr(out.name.find(',') == std::string::npos ? 0 : out.name.find(',') + 1);
  if (words.find(' ') == std::string::npos) return out;
  out.type = words.substr(words.find(' ') + 1);
  out.type = out.type.substr(0, out.type.find_first_of(" =:"));
  if (out.type == "Needs" || out.type == "Excludes") out.type.clear();
  return out;
}

class Options : public testing::Test {
 protected:
  Options() {
    fs::create_symlink("loop", scratch_ / "loop");
    fs::create_directory(scratch_ / "folder");
    write_text(scratch_ / "file", "text");
  }

  // If it were not refused, the command would run, possibly for hours.
  ProcessEnd run(Words arguments) const {
    arguments.insert(arguments.begin(), std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench");
    return run_process({.command = arguments,
                        .working_dir = scratch_.path(),
                        .environment = {{"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR}}},
                       {.time_limit = std::chrono::minutes(1)});
  }

  void append_options(const Words& command, std::vector<ListedOption>& out) const {
    auto asked = command;
    asked.push_back("--help");
    const auto help = run(asked).output;
    Words before;
    for (const auto& entry : entries_below(help, std::regex("^Positionals:"))) {
      out.push_back(parse_entry(command, entry));
      out.back().before = before;
      before.push_back("x");
    }
    for (const auto& entry : entries_below(help, std::regex("^(?!Positionals:|" + kCommandsTitle + ").*:$"))) {
      out.push_back(parse_entry(command, entry));
    }
    for (const auto& entry : entries_below(help, std::regex("^(" + kCommandsTitle + ")"))) {
      auto below = command;
      below.push_back(entry.substr(0, entry.find(' ')));
      append_options(below, out);
    }
  }

  std::vector<ListedOption> options() const {
    std::vector<ListedOption> out;
    append_options({}, out);
    return out;
  }

  // "[baseline set] "
  static std::string room(const ListedOption& option) {
    const auto shown = option.shown();
    return "[" + shown.substr(0, shown.size() - option.name.size() - 1) + "] ";
  }

  ProcessEnd run_with(const ListedOption& option, const std::string& value) const {
    auto words = option.command;
    words.insert(words.end(), option.before.begin(), option.before.end());
    words.push_back(option.is_positional() ? value : option.name + "=" + value);
    if (value.empty() && !option.is_positional()) words.back() = option.name, words.push_back("");
    return run(words);
  }

  std::string refusal(const ListedOption& option, const std::string& value) const {
    return run_with(option, value).error_output;
  }

  void expect_refused(const ListedOption& option, const std::string& value) const {
    const auto end = run_with(option, value);
    EXPECT_EQ(end.exit_code, 3) << option.shown() << " '" << value << "': " << end.output << end.error_output;
    EXPECT_THAT(end.error_output, StartsWith(room(option) + option.name + " '" + value + "'")) << option.shown();
  }

  ScratchFolder scratch_;
};

TEST_F(Options, EachIsOfAKindThatIsChecked) {
  std::size_t numbers = 0;
  std::size_t paths = 0;
  for (const auto& option : options()) {
    const auto& type = option.type;
    const bool is_number = type == "NUMBER" || type == "DURATION" || type == "SIZE" || type == "FRACTION";
    if (is_number) ++numbers;
    const bool is_path = type == "DATABASE" || type == "FILE" || type == "FOLDER" || type == "PATH";
    if (is_path) ++paths;
    const bool is_one_of = type.find('|') != std::string::npos || type == "debian" || type == "bash";
    const bool is_words = type == "KEY" || type == "A" || type == "RUN" || kWords.contains(option.name) ||
                          kWords.contains(option.shown());
    EXPECT_TRUE(type.empty() || is_number || is_path || is_one_of || is_words)
        << option.shown() << " takes " << type
        << ": make it with add_number, add_amount or add_path (harness/cli/shell/options.h)";
  }
  EXPECT_GT(numbers, 30U);
  EXPECT_GT(paths, 40U);
}

TEST_F(Options, AListOfNamesAcceptsNoOtherAndListsTheValidOnes) {
  std::size_t lists = 0;
  for (const auto& option : options()) {
    if (option.type.find('|') == std::string::npos && option.type != "debian") continue;
    if (option.type.starts_with("FILE")) continue;
    ++lists;
    expect_refused(option, "nonesuch");
    auto last = option.type.substr(option.type.rfind('|') + 1);
    EXPECT_THAT(refusal(option, "nonesuch"), HasSubstr(last)) << option.shown();
    last += "x";
    EXPECT_THAT(refusal(option, last), HasSubstr("did you mean '" + last.substr(0, last.size() - 1) + "'?"));
  }
  EXPECT_GT(lists, 12U);
}

// One function checks all numbers and another one all paths (EachIsOfAKindThatIsChecked). So it is enough that one
// option gets every bad value, and every option gets one bad value.
TEST_F(Options, ANumberIsFiniteAndWithinBounds) {
  std::vector<std::string> values{"nan", "inf", "-1", "1e999", "", "1000000000000000000"};
  for (const auto& option : options()) {
    const bool is_checked = option.type == "NUMBER" || option.type == "DURATION" || option.type == "SIZE";
    if (!is_checked && option.type != "FRACTION") continue;
    for (const auto& value : values) expect_refused(option, value);
    values = {"1000000000000000000"};  // the option has a bound of its own
  }
}

TEST_F(Options, ADurationOrASizeHasAUnitOrTheDefaultUnitOfItsHelp) {
  std::size_t amounts = 0;
  for (const auto& option : options()) {
    if (option.type != "DURATION" && option.type != "SIZE") continue;
    ++amounts;
    const auto complaint = refusal(option, "5 parsecs");
    EXPECT_THAT(complaint, HasSubstr(" is needed, such as ")) << option.shown();
    EXPECT_THAT(complaint, HasSubstr("; a number alone is ")) << option.shown();
    expect_refused(option, option.type == "SIZE" ? "1h" : "4GB");
  }
  EXPECT_GE(amounts, 8U);
  for (const auto* given : {"--timeout=1h30m", "--timeout=90", "--memory-limit=4GB", "--memory-limit=1.5"}) {
    EXPECT_THAT(run({"sweep", given}).error_output, StartsWith("[sweep] file is missing")) << given;
  }
}

TEST_F(Options, APathIsNotEmptyNorACycleNorOfTheWrongKind) {
  std::vector<std::string> values{"loop", "loop/x", ""};
  for (const auto& option : options()) {
    const bool is_file = option.type == "FILE" || option.type == "DATABASE";
    if (!is_file && option.type != "FOLDER" && option.type != "PATH") continue;
    for (const auto& value : values) expect_refused(option, value);
    values = {""};
    if (is_file) expect_refused(option, "folder");
    if (option.type == "FOLDER") expect_refused(option, "file");
    if (option.type == "DATABASE") expect_refused(option, "/dev/null");
  }
}

TEST_F(Options, WordsWithNumbersAndPathsInThemAreChecked) {
  write_text(scratch_ / "m.yaml", "name: m\ndefaults: {model: gpt-mini, global_batch: 2, seq_len: 16}\n");
  const auto refused = [this](const Words& words, const std::string& reason) {
    const auto end = run(words);
    EXPECT_EQ(end.exit_code, 3) << words.back() << ": " << end.output << end.error_output;
    EXPECT_THAT(end.error_output, HasSubstr(reason)) << words.back();
  };
  for (const auto* key : {"optimizer.learning_rate", "model.norm_eps", "steps", "seed", "repeats", "batch_per_device",
                          "memory_limit_bytes", "fsdp"}) {
    for (const auto* value : {"nan", "inf", "-inf", "-1", "1e999", "100000000000000000000000", ""}) {
      refused({"plan", "m.yaml", "--set", std::string(key) + "=" + value},
              std::string("--set ") + (*value ? key : "'"));
    }
  }
  for (const auto* value : {"nan", "inf", "-1", "1e999"}) {  // any finite norm is valid
    refused({"plan", "m.yaml", "--set", std::string("optimizer.clip_norm=") + value}, "--set optimizer.clip_norm");
  }
  for (const auto* path : {"./loop", "loop/x", "file"}) {
    refused({"plan", "m.yaml", "--set", "data.kind=flat_tokens", "--set", std::string("data.path=") + path}, path);
  }
  refused({"plan", "m.yaml", "--set", "model=./loop"}, "form a cycle");
  refused({"plan", "m.yaml", "--set", "model=./folder"}, "is a folder");
  for (const auto* margin : {"nan", "inf", "-1", "0", "1e999", ""}) {
    refused({"compare", "--ab", "nowhere", "current", "m.yaml", "--margin", std::string("step_time_s=") + margin},
            "--margin step_time_s=");
  }
  refused({"compare", "--ab", "", "current", "m.yaml"}, "--ab ''");
  refused({"compare", "--ab", "./loop", "current", "m.yaml"}, "'./loop'");
  for (const auto* source : {"loop", "folder", ""}) {
    refused({"baseline", "import", "x", "--reason", "r", "--from", source}, "--from '" + std::string(source) + "'");
  }
}

TEST_F(Options, TheDefaultDatabaseIsCheckedLikeANamedOne) {
  fs::create_directory(scratch_ / "perf.db");
  const auto of_folder = run({"report"});
  EXPECT_EQ(of_folder.exit_code, 3);
  EXPECT_THAT(of_folder.error_output, HasSubstr("'perf.db': is a folder"));
  fs::remove(scratch_ / "perf.db");
  fs::create_symlink("perf.db", scratch_ / "perf.db");
  for (const auto* command : {"report", "history"}) {
    const auto of_circle = run({command});
    EXPECT_EQ(of_circle.exit_code, 3);
    EXPECT_THAT(of_circle.error_output, HasSubstr("form a cycle"));
  }
}

TEST_F(Options, RepeatsAreBoundedAsInAMatrix) {
  write_text(scratch_ / "m.yaml", "name: m\ndefaults: {model: gpt-mini, global_batch: 2, seq_len: 16}\n");
  const auto end = run({"sweep", "m.yaml", "--dry-run", "--repeats", "1000000000"});
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_THAT(end.error_output, HasSubstr("from 1 to 1000"));
}

}  // namespace
}  // namespace perfbench::harness
