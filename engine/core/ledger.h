// Memory is an inventory: every tensor is entered by name, scope, type and shape, and every peak can be listed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/dtype.h"
#include "engine/core/shape.h"

namespace perfbench::spec {
struct LiveTensor;
struct MemoryPeaks;
}  // namespace perfbench::spec

namespace perfbench::engine {

enum class MemoryScope { weights, gradients, optimizer, activations, gathered, workspace, host };
inline constexpr std::size_t kMemoryScopes = 7;
std::string_view scope_name(MemoryScope scope);

struct LedgerEntry {
  std::string name;
  MemoryScope scope = MemoryScope::activations;
  DType dtype = DType::f32;
  Shape shape;
  std::int64_t bytes = 0;  // as allocated, rounded up
};

class MemoryLedger {
 public:
  // Identifies an entered tensor: its sequence number, and its place among those alive.
  struct Ticket {
    std::int64_t number = -1;
    std::size_t place = 0;
  };

  Ticket enter(LedgerEntry entry);
  void leave(Ticket ticket);

  // Peaks so far: of each scope at its own moment, and of the total at the peak of the sum (without host memory).
  spec::MemoryPeaks peaks() const;
  std::int64_t live_bytes() const { return live_total_; }
  // The peak of the sum, without host memory.
  std::int64_t peak_bytes() const { return peak_total_; }
  // The entry of a tensor that is alive. Throws LogicFault if it is not.
  const LedgerEntry& entry(Ticket ticket) const;
  // The tensors that are alive now, largest first.
  std::vector<spec::LiveTensor> live() const;
  // The tensors that were alive when the total peaked, largest first.
  std::vector<spec::LiveTensor> live_at_peak() const;
  // The most recently entered tensor among those; empty if no tensor has been entered.
  std::string last_at_peak() const;
  // The tensors in host memory at that moment, largest first.
  std::vector<spec::LiveTensor> on_host_at_peak() const;

 private:
  struct Numbered {
    std::int64_t number = -1;  // of a free place
    LedgerEntry entry;
  };

  // Calls `f` with the number and the entry of each tensor that was alive when the total peaked.
  template <class F>
  void for_each_at_peak(F&& f) const;

  // A place is reused once its tensor has left: a plan enters and removes a million tensors.
  std::vector<Numbered> places_;
  std::vector<std::size_t> empty_places_;
  std::vector<Numbered> gone_since_peak_;  // those of them that were alive then
  std::int64_t next_number_ = 0;
  std::array<std::int64_t, kMemoryScopes> live_{};
  std::array<std::int64_t, kMemoryScopes> peak_{};
  std::int64_t live_total_ = 0;
  std::int64_t peak_total_ = 0;
  std::int64_t peak_number_ = -1;  // the number of the most recently entered tensor when the total peaked
};

}  // namespace perfbench::engine
