#include "engine/core/ledger.h"

#include <algorithm>

#include "engine/core/error.h"

namespace perfbench::engine {
namespace {

constexpr std::array<std::string_view, kMemoryScopes> kScopeNames{"weights",  "gradients", "optimizer", "activations",
                                                                  "gathered", "workspace", "host"};

std::size_t index(MemoryScope scope) {
  return static_cast<std::size_t>(scope);
}

std::vector<spec::LiveTensor> listed(const std::map<MemoryLedger::Ticket, LedgerEntry>& alive) {
  std::vector<spec::LiveTensor> out;
  for (const auto& [ticket, e] : alive) {
    out.push_back(
        {e.name, std::string(scope_name(e.scope)), std::string(dtype_name(e.dtype)), to_string(e.shape), e.bytes});
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return out;
}

}  // namespace

std::string_view scope_name(MemoryScope scope) {
  return kScopeNames[index(scope)];
}

MemoryLedger::Ticket MemoryLedger::enter(LedgerEntry entry) {
  const Ticket ticket = next_ticket_++;
  if (log_mode_ == LedgerLog::on) log_.push_back({ticket, entry});
  auto& live = live_[index(entry.scope)];
  live += entry.bytes;
  peak_[index(entry.scope)] = std::max(peak_[index(entry.scope)], live);
  if (entry.scope != MemoryScope::host) live_total_ += entry.bytes;
  if (live_total_ > peak_total_) {
    peak_total_ = live_total_;
    peak_event_ = log_.size();
  }
  alive_.emplace(ticket, std::move(entry));
  return ticket;
}

void MemoryLedger::leave(Ticket ticket) {
  const auto found = alive_.find(ticket);
  if (found == alive_.end()) throw LogicFault("memory ledger: ticket " + std::to_string(ticket) + " is not alive");
  const LedgerEntry& entry = found->second;
  live_[index(entry.scope)] -= entry.bytes;
  if (entry.scope != MemoryScope::host) live_total_ -= entry.bytes;
  if (log_mode_ == LedgerLog::on) log_.push_back({ticket, {}});
  alive_.erase(found);
}

spec::MemoryPeaks MemoryLedger::peaks() const {
  const auto of = [this](MemoryScope scope) { return peak_[index(scope)]; };
  return {.weights_bytes = of(MemoryScope::weights),
          .gradients_bytes = of(MemoryScope::gradients),
          .optimizer_bytes = of(MemoryScope::optimizer),
          .activations_bytes = of(MemoryScope::activations),
          .gathered_bytes = of(MemoryScope::gathered),
          .workspace_bytes = of(MemoryScope::workspace),
          .host_bytes = of(MemoryScope::host),
          .total_bytes = peak_total_};
}

std::vector<spec::LiveTensor> MemoryLedger::live() const {
  return listed(alive_);
}

std::vector<spec::LiveTensor> MemoryLedger::live_at_peak() const {
  if (log_mode_ == LedgerLog::off) throw LogicFault("memory ledger: the log is off, its peak cannot be listed");
  std::map<Ticket, LedgerEntry> alive;
  for (std::size_t i = 0; i < peak_event_; ++i) {
    const auto& event = log_[i];
    if (event.entered.name.empty()) {
      alive.erase(event.ticket);
    } else {
      alive.emplace(event.ticket, event.entered);
    }
  }
  std::erase_if(alive, [](const auto& item) { return item.second.scope == MemoryScope::host; });
  return listed(alive);
}

}  // namespace perfbench::engine
