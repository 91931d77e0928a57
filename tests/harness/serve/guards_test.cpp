// Which requests a server accepts, by their headers.
#include "harness/serve/guards.h"

#include <gtest/gtest.h>

namespace perfbench::harness {
namespace {

TEST(ServeGuards, AHostIsThisMachineByNumberOrByItsOwnName) {
  for (const char* own : {"localhost", "localhost:8123", "127.0.0.1:8123", "10.1.2.3", "[::1]:80", "[::1]", "box:80"}) {
    EXPECT_TRUE(is_own_host(own, "Box")) << own;
  }
  for (const char* other : {"",
                            "evil.example",
                            "evil.example:8123",
                            "localhost.evil.example",
                            "127.0.0.1.evil.example",
                            "box.evil.example",
                            "[::1",
                            "1.2.3",
                            ":8123",
                            "localhost:80:evil.example",
                            "localhost:",
                            "localhost:x",
                            "localhost:999999",
                            "localhost:80 ",
                            "[::1]evil.example",
                            "[::1]x:80",
                            "[::1]:",
                            "[localhost]",
                            "::1",
                            "localhost,evil.example",
                            "evil.example@localhost"}) {
    EXPECT_FALSE(is_own_host(other, "box")) << other;
  }
  EXPECT_FALSE(is_own_host("", ""));
  EXPECT_FALSE(is_own_host(":80", ""));
}

TEST(ServeGuards, AnOriginMustBeAPageOfTheSameHost) {
  EXPECT_TRUE(is_own_origin("http://127.0.0.1:8123", "127.0.0.1:8123"));
  for (const char* other : {"", "null", "http://127.0.0.1", "http://127.0.0.1:8124", "https://127.0.0.1:8123",
                            "http://127.0.0.1:8123.evil.example", "http://evil.example"}) {
    EXPECT_FALSE(is_own_origin(other, "127.0.0.1:8123")) << other;
  }
  EXPECT_FALSE(is_own_origin("http://", ""));
}

TEST(ServeGuards, TokensAreCompleteAndUnique) {
  const auto token = new_token();
  EXPECT_EQ(token.size(), 32U);
  EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(token, new_token());
  EXPECT_TRUE(same_token(token, token));
  EXPECT_FALSE(same_token(token, token.substr(1)));
  auto other = token;
  other.back() = other.back() == '0' ? '1' : '0';
  EXPECT_FALSE(same_token(token, other));
  EXPECT_FALSE(same_token(token, ""));
}

}  // namespace
}  // namespace perfbench::harness
