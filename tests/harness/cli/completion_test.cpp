// The words that bash completes for the perfbench that was built.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
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
};

TEST_F(Completion, BashReadsItsScript) {
  expect_accepted("bash");
}

TEST_F(Completion, BashIsOfferedCommandsAndTheirCommands) {
  EXPECT_THAT(offered({""}), IsSupersetOf({"sweep", "report", "alerts", "completion", "help"}));
  EXPECT_THAT(offered({"re"}), UnorderedElementsAre("report", "reproduce", "restore"));
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
  EXPECT_THAT(offered({"completion", ""}), ElementsAre("bash"));
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

TEST_F(Completion, AnotherShellIsRefused) {
  const auto end = start({std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench", "completion", "zsh"});
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_THAT(end.error_output, HasSubstr("[completion] SHELL 'zsh': there is no such value"));
}

}  // namespace
}  // namespace perfbench::harness
