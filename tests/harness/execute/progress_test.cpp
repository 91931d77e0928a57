#include "harness/execute/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace perfbench::harness {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SecondsLeft, GoWithTheWork) {
  EXPECT_DOUBLE_EQ(seconds_left(10, 2, 6), 30);
  EXPECT_EQ(seconds_left(10, 2, 0), 0);
  EXPECT_LT(seconds_left(0, 0, 6), 0) << "nothing has finished: unknown";
}

class Shown {
 public:
  std::FILE* file() { return file_; }
  std::string text() {
    std::fflush(file_);
    return {buffer_, size_};
  }
  ~Shown() {
    std::fclose(file_);
    std::free(buffer_);
  }

 private:
  char* buffer_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_ = open_memstream(&buffer_, &size_);
};

AttemptRecord ended(AttemptState state, double seconds) {
  AttemptRecord record;
  record.state = state;
  record.wall_ns = static_cast<std::int64_t>(seconds * 1e9);
  return record;
}

TEST(SweepProgress, WritesPlainLinesWhereNobodyWatches) {
  Shown shown;
  SweepProgress progress(shown.file(), SweepProgress::Style::lines, {{"fsdp=1", 1, 5}, {"fsdp=2", 3, 5}});
  progress.begin(0);
  progress.steps(3);
  progress.end(ended(AttemptState::ok, 10));
  progress.begin(1);
  auto crash = ended(AttemptState::crashed, 2);
  crash.reason = "exit code 4";
  progress.end(crash);
  EXPECT_EQ(shown.text(),
            "[1/2] fsdp=1\n"
            "[1/2] ok in 10.0 s, about 30 s left  fsdp=1\n"
            "[2/2] fsdp=2\n"
            "[2/2] crashed in 2.0 s  fsdp=2: exit code 4\n");
}

TEST(SweepProgress, RewritesOneLineOnATerminal) {
  Shown shown;
  SweepProgress progress(shown.file(), SweepProgress::Style::live, {{"fsdp=1", 1, 5}});
  progress.begin(0);
  progress.steps(3);
  EXPECT_THAT(shown.text(), HasSubstr("\r\x1b[2K[1/1] step 3/5"));
  EXPECT_THAT(shown.text(), Not(HasSubstr("\n")));
  progress.say("a note");
  EXPECT_THAT(shown.text(), HasSubstr("\r\x1b[2Ka note\n"));
}

}  // namespace
}  // namespace perfbench::harness
