// The meaning of an address, as browsers and users write it.
#include <gtest/gtest.h>

#include "harness/serve/guards.h"

namespace perfbench::harness {
namespace {

TEST(ViewRequest, ParsesAddressesOfUsersAndBrowsers) {
  const ViewRequest state{.path = "/runs", .parameters = {{"where", "state=ok"}}};
  EXPECT_EQ(view_request("/runs?where=state=ok"), state);
  EXPECT_EQ(view_request("/runs?where=state%3Dok"), state);
  EXPECT_EQ(view_request("/runs?where=state%3dok&"), state);
  EXPECT_EQ(view_request("/runs"), (ViewRequest{.path = "/runs"}));
  EXPECT_EQ(view_request("/runs?"), (ViewRequest{.path = "/runs"}));
  EXPECT_EQ(view_request("/runs?data&limit=3&limit=4"),
            (ViewRequest{.path = "/runs", .parameters = {{"data", ""}, {"limit", "4"}}}));
  EXPECT_EQ(view_request("/a%20b+c?x+y=1%2B1+%26&=v"),
            (ViewRequest{.path = "/a b+c", .parameters = {{"x y", "1+1 &"}, {"", "v"}}}));
}

TEST(ViewRequest, BrokenEncodingIsTakenLiterally) {
  EXPECT_EQ(view_request("/runs?where=%"), (ViewRequest{.path = "/runs", .parameters = {{"where", "%"}}}));
  EXPECT_EQ(view_request("/runs?where=%zz%00"),
            (ViewRequest{.path = "/runs", .parameters = {{"where", std::string("%zz\0", 4)}}}));
}

}  // namespace
}  // namespace perfbench::harness
