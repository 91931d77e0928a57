// Shell completion and manual pages of the perfbench that was built.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "harness/execute/process.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;
using Replies = std::vector<std::string>;

const Replies kReportFormats{"text", "markdown", "csv", "json", "html", "svg"};

class Completion : public testing::Test {
 protected:
  ProcessEnd start(const std::vector<std::string>& command) const {
    return run_process({.command = command, .working_dir = scratch_.path()}, {.time_limit = std::chrono::minutes(1)});
  }

  std::string printed(std::vector<std::string> words) const {
    words.insert(words.begin(), std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench");
    const auto end = start(words);
    EXPECT_EQ(end.exit_code, 0) << end.error_output;
    return end.output;
  }

  bool is_installed(const std::string& program) const {
    return start({"bash", "-c", "command -v " + program}).exit_code == 0;
  }

  void expect_accepted(const std::string& shell) const {
    write_text(scratch_ / "script", printed({"completion", shell}));
    const auto end = start({shell, "-n", "script"});
    EXPECT_EQ(end.exit_code, 0) << end.error_output;
    EXPECT_EQ(end.error_output, "");
  }

  // The words that bash offers for the last of the words.
  Replies offered(const std::vector<std::string>& words) const {
    write_text(scratch_ / "script", printed({"completion", "bash"}));
    std::vector<std::string> command{"bash", "-euc",
                                     "source ./script; COMP_WORDS=(perfbench \"$@\"); COMP_CWORD=$#; "
                                     "_perfbench; printf '%s\\n' \"${COMPREPLY[@]}\"",
                                     "bash"};
    command.insert(command.end(), words.begin(), words.end());
    const auto end = start(command);
    return replies(end);
  }

  // The words that fish and zsh offer for a line that ends so, started for this test and without a user's settings.
  Replies offered_by_fish(const std::string& line) const {
    write_text(scratch_ / "script", printed({"completion", "fish"}));
    return replies(start({"env", "HOME=" + scratch_.path().string(), "fish", "--no-config", "-c",
                          "source ./script; complete -C $argv[1] | string replace -r '\\t.*' ''; true", line}));
  }

  // A terminal in which Tab is pressed. Replies are in angle brackets, as passed to compadd.
  Replies offered_by_zsh(const std::string& line) const {
    write_text(scratch_ / "_perfbench", printed({"completion", "zsh"}));
    write_text(scratch_ / "press_tab", kPressTab);
    const auto end = start({"zsh", "-f", "press_tab", scratch_.path().string(), line});
    EXPECT_EQ(end.exit_code, 0) << end.error_output;
    Replies out;
    for (auto from = end.output.find("<<"); from != std::string::npos; from = end.output.find("<<", from + 1)) {
      out.push_back(end.output.substr(from + 2, end.output.find(">>", from) - from - 2));
    }
    return out;
  }

  ScratchFolder scratch_;

 private:
  static Replies replies(const ProcessEnd& end) {
    EXPECT_EQ(end.exit_code, 0) << end.error_output;
    EXPECT_EQ(end.error_output, "");
    Replies out;
    std::istringstream lines(end.output);
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty()) out.push_back(line);
    }
    return out;
  }

  static constexpr const char* kPressTab = R"(zmodload zsh/zpty
zpty terminal zsh -f -i
zpty -w terminal "cd ${(q)1}; fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -u -D; compdef _perfbench perfbench"
zpty -w terminal 'compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-[OAD]* ]]; then builtin compadd "$@"; return; fi
  local -a matches
  builtin compadd -O matches "$@"
  print -rn -- "<<${(j:>><<:)matches}>>"
  builtin compadd "$@"
}
end-of-replies() { print -n "END OF"; print " REPLIES"; }
zle -N end-of-replies
bindkey "^Xe" end-of-replies
print RE""ADY'
zpty -r terminal echo_of_the_above '*READY*'
zpty -w -n terminal "$2"$'\t\C-Xe'
zpty -r terminal output '*END OF REPLIES*'
print -r -- "$output"
zpty -d terminal
)";
};

TEST_F(Completion, BashReadsItsScript) {
  expect_accepted("bash");
}

TEST_F(Completion, BashIsOfferedCommandsAndSubcommands) {
  EXPECT_THAT(offered({""}), IsSupersetOf({"sweep", "report", "alerts", "completion", "man"}));
  EXPECT_THAT(offered({"re"}), UnorderedElementsAre("report", "reproduce"));
  EXPECT_THAT(offered({"alerts", ""}), UnorderedElementsAre("list", "show", "deliver", "ack", "close", "reopen"));
  EXPECT_THAT(offered({"alerts", "re"}), ElementsAre("reopen"));
}

TEST_F(Completion, BashIsOfferedTheOptionsOfTheCommand) {
  EXPECT_THAT(offered({"report", "--"}), AllOf(IsSupersetOf({"--db", "--format", "--style"}), Not(Contains("--gate"))));
  EXPECT_THAT(offered({"alerts", "list", "--g"}), ElementsAre("--gate"));
  EXPECT_THAT(offered({"report", ""}), Contains("--db"));  // no other word can follow
  EXPECT_THAT(offered({"--ver"}), ElementsAre("--version"));
}

TEST_F(Completion, BashIsOfferedTheValuesOfAnOption) {
  EXPECT_THAT(offered({"report", "--format", ""}), UnorderedElementsAreArray(kReportFormats));
  EXPECT_THAT(offered({"report", "--db", "x.db", "--format", "c"}), ElementsAre("csv"));
  EXPECT_THAT(offered({"report", "--format", "=", "m"}), ElementsAre("markdown"));
  EXPECT_THAT(offered({"report", "--format", "="}), UnorderedElementsAreArray(kReportFormats));
  EXPECT_THAT(offered({"alerts", "close", "1a2b", "--as", "w"}), ElementsAre("wont_fix"));
  EXPECT_THAT(offered({"history", "--metric", "peak"}), ElementsAre("peak_memory_bytes"));
  EXPECT_THAT(offered({"completion", ""}), UnorderedElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(offered({"sweep", "--timeout", ""}), testing::IsEmpty());  // a number
}

TEST_F(Completion, BashIsOfferedFilesWhereAPathIsExpected) {
  write_text(scratch_ / "my matrix.yaml", "");
  std::filesystem::create_directory(scratch_ / "my runs");
  EXPECT_THAT(offered({"sweep", "my"}), UnorderedElementsAre("my matrix.yaml", "my runs"));
  EXPECT_THAT(offered({"sweep", "--set", "a=b", "my"}), UnorderedElementsAre("my matrix.yaml", "my runs"));
  EXPECT_THAT(offered({"sweep", "--runs", "my"}), ElementsAre("my runs"));
  EXPECT_THAT(offered({"report", "--db", "my"}), UnorderedElementsAre("my matrix.yaml", "my runs"));
  EXPECT_THAT(offered({"ingest", "one", "two", "my"}), ElementsAre("my runs"));
  EXPECT_THAT(offered({"compare", "--ab", "x", "y", "my m"}), ElementsAre("my matrix.yaml"));
  EXPECT_THAT(offered({"bisect", "my"}), testing::IsEmpty());  // a revision
  EXPECT_THAT(offered({"bisect", "v1", "HEAD", "my m"}), ElementsAre("my matrix.yaml"));
}

TEST_F(Completion, ZshReadsItsScript) {
  const auto script = printed({"completion", "zsh"});
  EXPECT_THAT(script, AllOf(HasSubstr("#compdef perfbench\n"), HasSubstr("_perfbench_alerts_list()")));
  EXPECT_THAT(script, HasSubstr(":(text markdown csv json html svg)"));
  if (!is_installed("zsh")) GTEST_SKIP() << "skipped: zsh is not installed";
  expect_accepted("zsh");
}

TEST_F(Completion, ZshIsOfferedCommandsOptionsValuesAndFiles) {
  if (!is_installed("zsh")) GTEST_SKIP() << "skipped: zsh is not installed";
  write_text(scratch_ / "my matrix.yaml", "");
  EXPECT_THAT(offered_by_zsh("perfbench re"), UnorderedElementsAre("report", "reproduce"));
  EXPECT_THAT(offered_by_zsh("perfbench alerts re"), ElementsAre("reopen"));
  EXPECT_THAT(offered_by_zsh("perfbench alerts list --ga"), ElementsAre("--gate"));
  EXPECT_THAT(offered_by_zsh("perfbench report --format "), UnorderedElementsAreArray(kReportFormats));
  EXPECT_THAT(offered_by_zsh("perfbench history --metric peak"), ElementsAre("peak_memory_bytes"));
  EXPECT_THAT(offered_by_zsh("perfbench sweep my"), ElementsAre("my\\ matrix.yaml"));
}

TEST_F(Completion, FishReadsItsScript) {
  const auto script = printed({"completion", "fish"});
  EXPECT_THAT(script, HasSubstr("'__perfbench_in report' -l format -x -a 'text markdown csv json html svg'"));
  if (!is_installed("fish")) GTEST_SKIP() << "skipped: fish is not installed";
  expect_accepted("fish");
}

TEST_F(Completion, FishIsOfferedCommandsOptionsValuesAndFiles) {
  if (!is_installed("fish")) GTEST_SKIP() << "skipped: fish is not installed";
  write_text(scratch_ / "my matrix.yaml", "");
  EXPECT_THAT(offered_by_fish("perfbench re"), UnorderedElementsAre("report", "reproduce"));
  EXPECT_THAT(offered_by_fish("perfbench alerts re"), ElementsAre("reopen"));
  EXPECT_THAT(offered_by_fish("perfbench alerts list --ga"), ElementsAre("--gate"));
  EXPECT_THAT(offered_by_fish("perfbench report --format "), UnorderedElementsAreArray(kReportFormats));
  EXPECT_THAT(offered_by_fish("perfbench history --metric peak"), ElementsAre("peak_memory_bytes"));
  EXPECT_THAT(offered_by_fish("perfbench sweep my"), ElementsAre("my matrix.yaml"));
}

TEST_F(Completion, AnotherShellIsRefused) {
  const auto end = start({std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench", "completion", "csh"});
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_THAT(end.error_output, HasSubstr("[completion] SHELL 'csh': there is no such value"));
}

TEST_F(Completion, AManualPageHasTheCommandsOptionsExamplesAndExitCodes) {
  const auto page = printed({"man", "report"});
  for (const auto* part :
       {".TH \"PERFBENCH\\-REPORT\" 1", ".SH \"NAME\"\nperfbench\\-report \\- The runs of a database",
        ".SH \"SYNOPSIS\"\n\\fBperfbench report\\fR [OPTIONS]",
        "\n\\fB\\-\\-format\\fR \\fItext|markdown|csv|json|html|svg\\fR\n",
        "Default: perf.db. Environment: PERFBENCH_DB.", ".SH \"EXAMPLES\"\n.nf\n.RS\nperfbench report",
        ".SH \"EXIT STATUS\"\n0 success; 3 wrong input", ".SH \"SEE ALSO\"\n\\fBperfbench\\fR(1)"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  EXPECT_THAT(printed({"man"}), HasSubstr(".SS \"Nightly\"\n.TP\n\\fBperfbench\\-nightly"));
  EXPECT_THAT(printed({"man"}), HasSubstr("\\fBperfbench\\-sweep\\fR(1)\nRuns every cell"));
  EXPECT_THAT(printed({"man", "alerts", "list"}), HasSubstr(".TH \"PERFBENCH\\-ALERTS\\-LIST\" 1"));
  const auto unknown = start({std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench", "man", "reprt"});
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_THAT(unknown.error_output, HasSubstr("[man] 'reprt': there is no such command (did you mean 'report'?)"));
}

// One for every command that --help lists, each equal to the page that is printed alone.
TEST_F(Completion, AllManualPagesAreWritten) {
  printed({"man", "--output", "pages/man1"});
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(scratch_ / "pages/man1")) {
    files.insert(entry.path().filename().string());
  }
  EXPECT_THAT(files,
              IsSupersetOf({"perfbench.1", "perfbench-sweep.1", "perfbench-alerts.1", "perfbench-alerts-list.1"}));
  EXPECT_EQ(read_text(scratch_ / "pages/man1/perfbench-sweep.1"), printed({"man", "sweep"}));
  if (!is_installed("man") || !is_installed("groff")) GTEST_SKIP() << "skipped: man or groff is not installed";
  for (const auto& file : files) {
    const auto end = start({"man", "--warnings", "-l", "pages/man1/" + file});
    EXPECT_EQ(end.exit_code, 0) << file;
    EXPECT_EQ(end.error_output, "") << file;
    EXPECT_THAT(end.output, HasSubstr("EXAMPLES")) << file;
  }
}

}  // namespace
}  // namespace perfbench::harness
