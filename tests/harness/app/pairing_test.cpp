#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/app/pairs/detection.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;

constexpr CellMemory kHalf{.needed_bytes = 50, .available_bytes = 100};

TEST(Pairing, IsInTurnsWhereBothSidesFit) {
  EXPECT_EQ(why_apart({}, kHalf, kHalf), "");
  EXPECT_THAT(why_apart({}, kHalf, {.needed_bytes = 51, .available_bytes = 100}),
              HasSubstr("both together need 101 B"));
  EXPECT_THAT(why_apart({}, kHalf, {.needed_bytes = 1}), HasSubstr("was not part of its plan"));
}

TEST(Pairing, IsApartIfASideWorksBetweenItsSteps) {
  AbCell cell;
  cell.b.run.device = spec::Device::cuda;
  EXPECT_THAT(why_apart(cell, kHalf, kHalf), HasSubstr("B runs on a GPU: it is unknown how its driver shares the GPU"));
  cell.b.run.device = spec::Device::cpu;
  cell.a.run.checkpoint.every_steps = 2;
  EXPECT_EQ(why_apart(cell, kHalf, kHalf), "A writes checkpoints while it waits for its turn");
  cell.a.run.checkpoint.asynchronous = false;
  EXPECT_EQ(why_apart(cell, kHalf, kHalf), "");
}

}  // namespace
}  // namespace perfbench::harness
