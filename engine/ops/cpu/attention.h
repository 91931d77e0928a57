// The two kinds of attention, in the files of their names.
#pragma once

#include "engine/ops/ops.h"

namespace perfbench::engine::cpu {

void dot_product_forward(const AttentionForwardArgs& args);
void dot_product_backward(const AttentionBackwardArgs& args);
void flash_forward(const AttentionForwardArgs& args);
void flash_backward(const AttentionBackwardArgs& args);

}  // namespace perfbench::engine::cpu
