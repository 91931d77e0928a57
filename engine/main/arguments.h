// What commands read from their arguments.
#pragma once

#include <cstdint>
#include <string>

namespace perfbench::engine {

// Throws UsageError for what is no whole number of at least `minimum`.
std::int64_t number_argument(const std::string& option, const std::string& text, std::int64_t minimum);

}  // namespace perfbench::engine
