#include "workloads/spec/dry_counts.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "workloads/spec/fields_json.h"
#include "workloads/spec/parse_json.h"

namespace perfbench::spec {
namespace {

// "layers.17.mlpwi_0" -> "layers.*.mlpwi_0"
std::string without_numbers(const std::string& name) {
  std::string out;
  for (std::size_t start = 0; start <= name.size();) {
    const auto dot = std::min(name.find('.', start), name.size());
    const std::string part = name.substr(start, dot - start);
    const bool is_number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    out += (start == 0 ? "" : ".") + (is_number ? "*" : part);
    start = dot + 1;
  }
  return out;
}

}  // namespace

std::vector<TensorGroup> group_tensors(const std::vector<LiveTensor>& tensors) {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, TensorGroup> groups;
  for (const auto& tensor : tensors) {
    const auto name = without_numbers(tensor.name);
    auto& group = groups[{tensor.scope, name, tensor.dtype, tensor.shape}];
    group.name = name;
    group.scope = tensor.scope;
    group.dtype = tensor.dtype;
    group.shape = tensor.shape;
    ++group.tensors;
    group.bytes += tensor.bytes;
  }
  std::vector<TensorGroup> out;
  for (auto& [key, group] : groups) out.push_back(std::move(group));
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return out;
}

DryCounts summed_up(DryReport report, std::size_t most) {
  auto groups = group_tensors(report.live_at_peak);
  report.live_at_peak = {};
  const auto kept = static_cast<std::ptrdiff_t>(std::min(groups.size(), most));
  return {std::move(report), {groups.begin(), groups.begin() + kept}};  // a copy, without room for the others
}

std::string to_json_line(const DryCounts& counts) {
  return json_line(fields_to_json(counts));
}

DryCounts parse_dry_counts(std::string_view line) {
  return fields_from_json<DryCounts>(parse_json(line), Missing::is_error);
}

}  // namespace perfbench::spec
