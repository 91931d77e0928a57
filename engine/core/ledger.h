// Memory is an inventory: every tensor is entered by name, scope, type and shape, and every peak can be listed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/core/dtype.h"
#include "engine/core/shape.h"
#include "workloads/spec/record.h"

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

// `on` keeps every event so that the peak can be listed afterwards: for dry walks. A real run lists what is alive.
enum class LedgerLog { off, on };

class MemoryLedger {
 public:
  using Ticket = std::int64_t;

  explicit MemoryLedger(LedgerLog log) : log_mode_(log) {}

  Ticket enter(LedgerEntry entry);
  void leave(Ticket ticket);

  // Peaks so far, each scope at its own moment, total at the peak of the sum (host apart).
  spec::MemoryPeaks peaks() const;
  std::int64_t live_bytes() const { return live_total_; }
  // What is alive now, largest first.
  std::vector<spec::LiveTensor> live() const;
  // What was alive when the total peaked, largest first. Needs LedgerLog::on.
  std::vector<spec::LiveTensor> live_at_peak() const;

 private:
  struct Event {
    Ticket ticket = 0;
    bool enters = false;
  };

  LedgerLog log_mode_;
  std::unordered_map<Ticket, LedgerEntry> alive_;
  std::vector<Event> events_;                         // with the log on
  std::vector<std::pair<Ticket, LedgerEntry>> gone_;  // likewise: what has left
  Ticket next_ticket_ = 0;
  std::array<std::int64_t, kMemoryScopes> live_{};
  std::array<std::int64_t, kMemoryScopes> peak_{};
  std::int64_t live_total_ = 0;
  std::int64_t peak_total_ = 0;
  std::size_t peak_event_ = 0;  // of `events_` when the peak was reached
};

}  // namespace perfbench::engine
