// A metric as a person names it on a command line: NAME=REGEX[:UNIT[:lower|higher]].
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "workloads/spec/program_spec.h"

namespace perfbench::adapter {

// The unit and the direction are looked for at the end, because an expression may have colons. Throws ReaderError for a
// text without a name or an expression; the reader itself says what is wrong with an expression or a unit.
std::pair<std::string, spec::DeclaredMetric> parse_metric_option(std::string_view text);

}  // namespace perfbench::adapter
