#include "engine/core/ledger.h"

#include <algorithm>
#include <utility>

#include "engine/core/error.h"
#include "workloads/spec/memory_record.h"

namespace perfbench::engine {
namespace {

constexpr std::array<std::string_view, kMemoryScopes> kScopeNames{"weights",  "gradients", "optimizer", "activations",
                                                                  "gathered", "workspace", "host"};

std::size_t index(MemoryScope scope) {
  return static_cast<std::size_t>(scope);
}

using Listed = std::pair<std::int64_t, const LedgerEntry*>;

// Largest first; equal sizes in the order in which they were entered.
std::vector<spec::LiveTensor> listed(std::vector<Listed> tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const Listed& a, const Listed& b) {
    return std::pair(-a.second->bytes, a.first) < std::pair(-b.second->bytes, b.first);
  });
  std::vector<spec::LiveTensor> out;
  out.reserve(tensors.size());
  for (const auto& [number, e] : tensors) {
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
  const std::int64_t number = next_number_++;
  auto& live = live_[index(entry.scope)];
  live += entry.bytes;
  peak_[index(entry.scope)] = std::max(peak_[index(entry.scope)], live);
  if (entry.scope != MemoryScope::host) live_total_ += entry.bytes;
  if (live_total_ > peak_total_) {
    peak_total_ = live_total_;
    peak_number_ = number;
    gone_since_peak_.clear();
  }
  if (empty_places_.empty()) {
    places_.push_back({number, std::move(entry)});
    return {number, places_.size() - 1};
  }
  const std::size_t place = empty_places_.back();
  empty_places_.pop_back();
  places_[place] = {number, std::move(entry)};
  return {number, place};
}

void MemoryLedger::leave(Ticket ticket) {
  entry(ticket);  // throws if it is not alive
  Numbered leaving = std::exchange(places_[ticket.place], {});
  const LedgerEntry& entry = leaving.entry;
  live_[index(entry.scope)] -= entry.bytes;
  if (entry.scope != MemoryScope::host) live_total_ -= entry.bytes;
  if (leaving.number <= peak_number_) gone_since_peak_.push_back(std::move(leaving));
  empty_places_.push_back(ticket.place);
}

const LedgerEntry& MemoryLedger::entry(Ticket ticket) const {
  if (ticket.number < 0 || ticket.place >= places_.size() || places_[ticket.place].number != ticket.number) {
    throw LogicFault("memory ledger: tensor " + std::to_string(ticket.number) + " is not alive");
  }
  return places_[ticket.place].entry;
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
  for (const auto& [number, entry] : places_) {
    if (number >= 0) tensors.emplace_back(number, &entry);
  }
  return listed(std::move(tensors));
}

template <class F>
void MemoryLedger::for_each_at_peak(F&& f) const {
  for (const auto* some : {&places_, &gone_since_peak_}) {
    for (const auto& [number, entry] : *some) {
      if (number >= 0 && number <= peak_number_) f(number, entry);
    }
  }
}

std::vector<spec::LiveTensor> MemoryLedger::live_at_peak() const {
  std::vector<Listed> tensors;
  for_each_at_peak([&](std::int64_t number, const LedgerEntry& entry) {
    if (entry.scope != MemoryScope::host) tensors.emplace_back(number, &entry);
  });
  return listed(std::move(tensors));
}

std::vector<spec::LiveTensor> MemoryLedger::on_host_at_peak() const {
  std::vector<Listed> tensors;
  for_each_at_peak([&](std::int64_t number, const LedgerEntry& entry) {
    if (entry.scope == MemoryScope::host) tensors.emplace_back(number, &entry);
  });
  return listed(std::move(tensors));
}

std::string MemoryLedger::last_at_peak() const {
  std::string name;
  for_each_at_peak([&](std::int64_t number, const LedgerEntry& entry) {
    if (number == peak_number_) name = entry.name;
  });
  return name;
}

}  // namespace perfbench::engine
