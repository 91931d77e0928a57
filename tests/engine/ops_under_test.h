// The backend that the tests of the operations are linked with: ops_under_test_cpu.cpp or ops_under_test_cuda.cpp (on
// the CUDA runtime or on the emulated one).
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "engine/ops/ops.h"
#include "tests/engine/oracle/operand_memory.h"

namespace perfbench::engine {

// Empty if the backend can run here.
std::string why_no_ops();
std::unique_ptr<Ops> make_ops_under_test();
// Whether flash attention in bf16 multiplies rounded probabilities and gradients of scores, as tensor cores need them
// in bf16.
bool rounds_flash_weights();
// Whether rows of 8-bit operands may have any number of elements, or only multiples of 16, as for cuBLASLt.
bool multiplies_odd_8_bit_rows();
// Whether a product in bf16 may be rounded before a bias or the old result is added to it, as in cuBLASLt's kernels for
// Hopper (seen in 13.1).
bool rounds_before_adding();
// Whether a number added to a sum of 8-bit products keeps 13 bits relative to the largest of those added with it, as in
// Hopper's tensor cores (seen: errors of 2^-14 of the magnitudes; DeepSeek-V3, arXiv:2412.19437, 3.3.2).
bool cuts_8_bit_sums();
// Whether a product has the same bits whatever the distance of its rows: a library may use another kernel for another
// distance.
bool multiplies_rows_apart_alike();
// Calls `f` in every circumstance that must not change a bit of a result, with a description of it.
void in_every_circumstance(const std::function<void(const std::string&)>& f);
// The same for matrix products, which promise less (engine/ops/ops.h): calls with equal descriptions have equal bits.
void in_circumstances_of_products(const std::function<void(const std::string&)>& f);

class OpsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = why_no_ops(); !reason.empty()) GTEST_SKIP() << "skipped: " << reason;
    ops_ = make_ops_under_test();
  }
  std::unique_ptr<Ops> ops_;
};

}  // namespace perfbench::engine
