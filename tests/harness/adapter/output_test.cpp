// The kept output of a program has no secrets and a limited size.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "harness/adapter/output_log.h"
#include "harness/adapter/secrets.h"

namespace perfbench::adapter {
namespace {

std::string redacted(const std::string& text, std::size_t chunk) {
  Redactor redactor({"abcdefgh", "abcdefghijkl"});
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += chunk) {
    out += redactor.add(std::string_view(text).substr(at, chunk));
  }
  out += redactor.finish();
  return out;
}

TEST(Redactor, FindsSecretsWhereverTheChunksEnd) {
  for (const std::size_t chunk : {1U, 2U, 3U, 8U, 100U}) {
    EXPECT_EQ(redacted("xx abcdefgh yy abcdefg zz\n", chunk), "xx [secret] yy abcdefg zz\n") << chunk;
  }
}

TEST(Redactor, TakesTheLongerOfTwoSecretsThatBeginAlike) {
  EXPECT_EQ(redacted("abcdefghijkl", 100), "[secret]");
}

TEST(Redactor, LeavesTextWithoutSecretsAsItIs) {
  Redactor none({});
  EXPECT_EQ(none.add("abcdefgh"), "abcdefgh");
}

TEST(Secrets, AreKnownByTheirNames) {
  for (const auto* name : {"HF_TOKEN", "WANDB_API_KEY", "db_password", "AWS_SECRET_ACCESS_KEY", "TOKEN"}) {
    EXPECT_TRUE(is_secret_name(name)) << name;
  }
  for (const auto* name : {"TOKENIZERS_PARALLELISM", "PATH", "KEYBOARD", "MAX_TOKENS"}) {
    EXPECT_FALSE(is_secret_name(name)) << name;
  }
  const char* const environment[] = {"A_TOKEN=short", "B_TOKEN=long-enough", "PLAIN=long-enough", nullptr};
  EXPECT_EQ(secret_values(environment), std::vector<std::string>{"long-enough"});
}

TEST(OutputLog, KeepsShortOutputWhole) {
  const auto file = std::filesystem::path(testing::TempDir()) / "output_log_test.log";
  OutputLog log(file);
  log.add("a\n");
  log.add("b\n");
  log.finish();
  std::ifstream in(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "a\nb\n");
  EXPECT_EQ(log.dropped_bytes(), 0);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace perfbench::adapter
