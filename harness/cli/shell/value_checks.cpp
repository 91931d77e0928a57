#include "harness/cli/shell/value_checks.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <vector>

#include "harness/app/installation.h"
#include "harness/matrix/published.h"
#include "harness/stats/verdict.h"
#include "harness/store/queries/query.h"
#include "harness/system/input_error.h"
#include "workloads/spec/metric_catalog.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {
namespace {

// Removes the room from "[store] 'run:x': ...", because the name of the option takes its place.
std::string without_room(const std::string& message) {
  const auto end = message.find("] ");
  return message.starts_with('[') && end != std::string::npos ? message.substr(end + 2) : message;
}

std::string no_such_metric(const std::string& text, const std::vector<std::string>& names) {
  const auto near = spec::nearest(text, names);
  return fmt::format("'{}': the catalog has no such metric{}; its metrics are, the closest first:\n  {}", text,
                     near ? " (did you mean '" + *near + "'?)" : "", fmt::join(spec::nearest_first(text, names), ", "));
}

}  // namespace

std::string metric_complaint(const std::string& text) {
  return spec::find_metric(text) ? "" : no_such_metric(text, judged_metrics());
}

std::string selection_complaint(const std::string& text) {
  try {
    parse_selection(text);
    return "";
  } catch (const InputError& e) {
    return without_room(e.what()) + "; latest, all and a sweep's id select too";
  }
}

std::function<std::string(const std::string&)> published_check(const Installation& installation) {
  return [&installation](const std::string& text) -> std::string {
    if (!text.starts_with("published:")) return "";
    try {
      PublishedCatalog(installation.data_dir()).row(text);
      return "";
    } catch (const spec::SpecError& e) {
      const std::string what = e.what();
      return what.starts_with('\'') ? what : fmt::format("'{}': {}", text, what);
    }
  };
}

}  // namespace perfbench::harness
