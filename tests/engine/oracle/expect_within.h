// Compares a whole result with its oracle, with an error bound for each element.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/engine/oracle/operand.h"

namespace perfbench::engine::oracle {

// Passes if |got - want| <= bound + (rounding of the stored type) * |want| for every element; reports the worst one.
inline void expect_within(const Operand& got, const Values& want, const std::function<double(std::size_t)>& bound,
                          std::string_view what) {
  const Values values = got.values();
  ASSERT_EQ(values.size(), want.size()) << what;
  double worst = 0.0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    // The smallest normal f32 stands in for results that underflow.
    const double allowed = bound(i) + unit_of(got.dtype()) * (std::abs(want[i]) + bound(i)) + 0x1p-126;
    const double ratio = std::abs(values[i] - want[i]) / allowed;
    if (!(ratio <= worst)) {
      worst = ratio;
      at = i;
      if (std::isnan(ratio)) break;  // no later ratio may hide it
    }
  }
  EXPECT_LE(worst, 1.0) << what << ": element " << at << " is " << values[at] << ", expected " << want[at] << " within "
                        << bound(at);
}

}  // namespace perfbench::engine::oracle
