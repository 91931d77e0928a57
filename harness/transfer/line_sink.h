// Lines of an export on their way, each with its newline.
#pragma once

#include <functional>
#include <string_view>

namespace perfbench::harness {

using LineSink = std::function<void(std::string_view line)>;

}  // namespace perfbench::harness
