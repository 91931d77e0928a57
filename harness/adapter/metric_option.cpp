#include "harness/adapter/metric_option.h"

#include <algorithm>

#include "harness/readers/figure.h"
#include "harness/readers/reader.h"

namespace perfbench::adapter {
namespace {

// If the text after the last colon is one of the known words, removes it from the text and returns it.
template <class Known>
std::string take_last_part(std::string_view& text, const Known& is_known) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || !is_known(text.substr(colon + 1))) return "";
  std::string part(text.substr(colon + 1));
  text = text.substr(0, colon);
  return part;
}

}  // namespace

std::pair<std::string, spec::DeclaredMetric> parse_metric_option(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    throw readers::ReaderError("'" + std::string(text) +
                               "': the form of a metric is NAME=REGEX[:UNIT[:lower|higher]], such as 'step_time_s=took "
                               "(?P<value>[0-9.]+) ms:ms'");
  }
  std::string name(text.substr(0, equals));
  auto rest = text.substr(equals + 1);
  spec::DeclaredMetric metric;
  const auto units = readers::known_units();
  const auto better = take_last_part(rest, [](auto word) { return word == "lower" || word == "higher"; });
  const auto unit = take_last_part(rest, [&](auto word) { return std::ranges::find(units, word) != units.end(); });
  if (!better.empty()) metric.better = *spec::enum_value<spec::Better>(better);
  if (!unit.empty()) metric.unit = unit;
  metric.regex = rest;
  return {std::move(name), std::move(metric)};
}

}  // namespace perfbench::adapter
