#include "workloads/spec/process_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <set>
#include <string>

namespace perfbench::spec {
namespace {

std::string token_of_another_process() {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    const auto& token = process_token();
    _exit(write(ends[1], token.data(), token.size()) < 0 ? 1 : 0);
  }
  close(ends[1]);
  std::array<char, 64> text{};
  const auto size = ::read(ends[0], text.data(), text.size());
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return size < 0 ? "nothing read" : std::string(text.data(), static_cast<std::size_t>(size));
}

// One test, because a process that has already drawn its token passes it on to its children. Two of four tokens of 40
// bits are equal once in 2e11 runs.
TEST(ProcessToken, DiffersBetweenProcessesAndStaysWithinOne) {
  std::set<std::string> tokens;
  for (int i = 0; i < 3; ++i) tokens.insert(token_of_another_process());
  tokens.insert(process_token());
  tokens.insert(process_token());
  EXPECT_EQ(tokens.size(), 4U);
  for (const auto& token : tokens) EXPECT_THAT(token, testing::MatchesRegex("[0-9a-f]{10}"));
}

}  // namespace
}  // namespace perfbench::spec
