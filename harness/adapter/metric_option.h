// A metric as a user writes it on a command line: NAME=REGEX[:UNIT[:lower|higher]].
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "workloads/spec/program_spec.h"

namespace perfbench::adapter {

// Unit and direction are looked for at the end, because an expression may contain colons. Throws ReaderError for a text
// without a name or an expression. Mistakes in an expression or a unit are found by the reader.
std::pair<std::string, spec::DeclaredMetric> parse_metric_option(std::string_view text);

}  // namespace perfbench::adapter
