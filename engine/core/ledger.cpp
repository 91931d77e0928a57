#include "engine/core/ledger.h"

#include <algorithm>
#include <utility>

#include "engine/core/error.h"

namespace perfbench::engine {
namespace {

constexpr std::array<std::string_view, kMemoryScopes> kScopeNames{"weights",  "gradients", "optimizer", "activations",
                                                                  "gathered", "workspace", "host"};

std::size_t index(MemoryScope scope) {
  return static_cast<std::size_t>(scope);
}

using Listed = std::pair<MemoryLedger::Ticket, const LedgerEntry*>;

// Largest first, equal ones in the order in which they were entered.
std::vector<spec::LiveTensor> listed(std::vector<Listed> tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const Listed& a, const Listed& b) {
    return std::pair(-a.second->bytes, a.first) < std::pair(-b.second->bytes, b.first);
  });
  std::vector<spec::LiveTensor> out;
  out.reserve(tensors.size());
  for (const auto& [ticket, e] : tensors) {
    out.push_back(
        {e->name, std::string(scope_name(e->scope)), std::string(dtype_name(e->dtype)), to_string(e->shape), e->bytes});
  }
  return out;
}

}  // namespace

std::string_view scope_name(MemoryScope scope) {
  return kScopeNames[index(scope)];
}

MemoryLedger::Ticket MemoryLedger::enter(LedgerEntry entry) {
  const Ticket ticket = next_ticket_++;
  if (log_mode_ == LedgerLog::on) events_.push_back({ticket, true});
  auto& live = live_[index(entry.scope)];
  live += entry.bytes;
  peak_[index(entry.scope)] = std::max(peak_[index(entry.scope)], live);
  if (entry.scope != MemoryScope::host) live_total_ += entry.bytes;
  if (live_total_ > peak_total_) {
    peak_total_ = live_total_;
    peak_event_ = events_.size();
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
  if (log_mode_ == LedgerLog::on) {
    events_.push_back({ticket, false});
    gone_.emplace_back(ticket, std::move(found->second));
  }
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
  std::vector<Listed> tensors;
  for (const auto& [ticket, entry] : alive_) tensors.emplace_back(ticket, &entry);
  return listed(std::move(tensors));
}

std::vector<spec::LiveTensor> MemoryLedger::live_at_peak() const {
  if (log_mode_ == LedgerLog::off) throw LogicFault("memory ledger: the log is off, its peak cannot be listed");
  std::vector<bool> was_alive(static_cast<std::size_t>(next_ticket_));
  for (std::size_t i = 0; i < peak_event_; ++i)
    was_alive[static_cast<std::size_t>(events_[i].ticket)] = events_[i].enters;
  std::vector<Listed> tensors;
  const auto take = [&](Ticket ticket, const LedgerEntry& entry) {
    if (was_alive[static_cast<std::size_t>(ticket)] && entry.scope != MemoryScope::host) {
      tensors.emplace_back(ticket, &entry);
    }
  };
  for (const auto& [ticket, entry] : gone_) take(ticket, entry);
  for (const auto& [ticket, entry] : alive_) take(ticket, entry);
  return listed(std::move(tensors));
}

}  // namespace perfbench::engine
