#include "engine/main/arguments.h"

#include <cstdlib>

#include "engine/main/commands.h"

namespace perfbench::engine {

std::int64_t number_argument(const std::string& option, const std::string& text, std::int64_t minimum) {
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value < minimum) {
    throw UsageError(option + " is '" + text + "', it must be a whole number of at least " + std::to_string(minimum));
  }
  return value;
}

}  // namespace perfbench::engine
