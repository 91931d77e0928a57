// What becomes of the values that a layer's backward pass reads: of each kind its place, its bytes and how many there
// were.
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
  // `tensor`, of `layer`, holds the value (or values, "gate+up") on its way to `place`.
  void note(std::string_view value, const LedgerEntry& tensor, std::string_view layer, spec::SavePlace place) {
    std::string_view name = tensor.name;
    if (name.starts_with(layer)) name.remove_prefix(layer.size() + 1);
    // The residual stream of the layer below, which that layer has named.
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

  // In the order in which a layer first had them.
  const std::vector<spec::Intermediate>& kinds() const { return kinds_; }

 private:
  std::vector<spec::Intermediate> kinds_;
};

}  // namespace perfbench::engine
