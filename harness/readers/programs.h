// The programs whose records are rows, with a table for each.
#pragma once

#include <span>

#include "harness/readers/row_reader.h"

namespace perfbench::readers {

std::span<const Program> log_programs();

}  // namespace perfbench::readers
