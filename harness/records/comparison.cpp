#include "harness/records/comparison.h"

#include <algorithm>

#include "harness/system/input_error.h"

namespace perfbench::harness {

std::vector<std::string> side_settings(const std::string& asked) {
  std::vector<std::string> out;
  for (std::size_t start = kSetPrefix.size(); start <= asked.size();) {
    const auto comma = std::min(asked.find(',', start), asked.size());
    if (comma == start) throw InputError("[compare] '" + asked + "': the form is set:KEY=VALUE,KEY=VALUE");
    out.push_back(asked.substr(start, comma - start));
    start = comma + 1;
  }
  return out;
}

}  // namespace perfbench::harness
