#include "reports/render/document/document.h"

namespace perfbench::reports {

std::optional<double> as_number(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

std::vector<std::size_t> columns_for(const Table& table, Audience reader) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const auto audience = table.columns[i].audience;
    if (audience == Audience::everyone || audience == reader) out.push_back(i);
  }
  return out;
}

std::size_t Footnotes::number(const std::string& note) {
  const auto [found, is_new] = numbers_.try_emplace(note, notes_.size() + 1);
  if (is_new) notes_.push_back(note);
  return found->second;
}

}  // namespace perfbench::reports
