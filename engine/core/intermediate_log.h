// Records where the values that a layer's backward pass reads are kept: the place of each kind, its bytes, and how many
// there were.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/core/ledger.h"
#include "workloads/spec/peak_report.h"

namespace perfbench::engine {

class IntermediateLog {
 public:
  // `tensor`, of `layer`, holds the value (or values, "gate+up") that goes to `place`.
  void note(std::string_view value, const LedgerEntry& tensor, std::string_view layer, spec::SavePlace place) {
    std::string_view name = tensor.name;
    if (name.starts_with(layer)) name.remove_prefix(layer.size() + 1);
    // The residual stream belongs to the layer below, which has named it.
    if (name.starts_with("layers.")) name.remove_prefix(name.rfind('.') + 1);
    const auto known = std::ranges::find_if(kinds_, [&](const spec::Intermediate& kind) {
      return kind.tensor == name && kind.bytes == tensor.bytes && kind.place == place && kind.value == value;
    });
    if (known != kinds_.end()) {
      ++known->times;
    } else {
      kinds_.push_back({std::string(value), std::string(name), place, tensor.bytes, 1});
    }
  }

  // In the order in which layers first had them.
  const std::vector<spec::Intermediate>& kinds() const { return kinds_; }

 private:
  std::vector<spec::Intermediate> kinds_;
};

}  // namespace perfbench::engine
