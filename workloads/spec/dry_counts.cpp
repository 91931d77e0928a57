#include "workloads/spec/dry_counts.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "workloads/spec/fields_json.h"
#include "workloads/spec/parse_json.h"

namespace perfbench::spec {
namespace {

// Appends "layers.*.mlpwi_0" for "layers.17.mlpwi_0".
void append_without_numbers(std::string& out, std::string_view name) {
  for (std::size_t start = 0; start <= name.size();) {
    const auto dot = std::min(name.find('.', start), name.size());
    const auto part = name.substr(start, dot - start);
    const bool is_number = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    if (start > 0) out += '.';
    out += is_number ? "*" : part;
    start = dot + 1;
  }
}

auto order(const TensorGroup& group) {
  return std::tuple(-group.bytes, std::string_view(group.scope), std::string_view(group.name),
                    std::string_view(group.dtype), std::string_view(group.shape));
}

}  // namespace

std::vector<TensorGroup> group_tensors(const std::vector<LiveTensor>& tensors) {
  std::vector<TensorGroup> groups;
  std::unordered_map<std::string, std::size_t> known;  // by all properties that the tensors of a group share
  std::string key;
  for (const auto& tensor : tensors) {
    key.clear();
    append_without_numbers(key, tensor.name);
    const auto name_size = key.size();
    for (const auto* part : {&tensor.scope, &tensor.dtype, &tensor.shape}) (key += '\n') += *part;
    const auto [found, is_new] = known.try_emplace(key, groups.size());
    if (is_new) {
      groups.push_back(
          {.name = key.substr(0, name_size), .scope = tensor.scope, .dtype = tensor.dtype, .shape = tensor.shape});
    }
    auto& group = groups[found->second];
    ++group.tensors;
    group.bytes += tensor.bytes;
  }
  std::sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return order(a) < order(b); });
  return groups;
}

DryCounts summed_up(DryReport report, std::size_t most) {
  auto groups = group_tensors(report.live_at_peak);
  report.live_at_peak = {};
  report.host_at_peak = {};
  report.intermediates = {};
  const auto kept = static_cast<std::ptrdiff_t>(std::min(groups.size(), most));
  return {std::move(report), {groups.begin(), groups.begin() + kept}};  // a copy, without memory for the other groups
}

std::string to_json_line(const DryCounts& counts) {
  return json_line(fields_to_json(counts));
}

DryCounts parse_dry_counts(std::string_view line) {
  return fields_from_json<DryCounts>(parse_json(line), Missing::is_error);
}

}  // namespace perfbench::spec
