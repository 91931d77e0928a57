#include "reports/render/document/document.h"

#include <algorithm>

#include "reports/render/format/number.h"

namespace perfbench::reports {

std::optional<double> as_number(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

void Document::add_origin(const std::string& name, const std::string& text) {
  if (text.empty()) return;
  const bool has_title = !blocks.empty() && std::holds_alternative<Heading>(blocks.front());
  // A document that was appended may have an Origin of its own further down.
  auto at = blocks.begin() + (has_title ? 1 : 0);
  if (at == blocks.end() || !std::holds_alternative<Origin>(*at)) at = blocks.insert(at, Origin{});
  std::get<Origin>(*at).facts.emplace_back(name, text);
}

std::vector<std::size_t> columns_for(const Table& table, Audience reader) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const auto audience = table.columns[i].audience;
    if (audience == Audience::everyone || audience == reader) out.push_back(i);
  }
  return out;
}

std::vector<std::size_t> shared_settings(const Table& table) {
  std::vector<std::size_t> out;
  if (table.rows.size() < 2) return out;
  for (const auto i : columns_for(table, Audience::people)) {
    const auto& first = table.rows.front().cells[i].text;
    const bool is_shared = std::all_of(table.rows.begin(), table.rows.end(),
                                       [&, i](const Row& row) { return row.cells[i].text == first; });
    if (table.columns[i].is_setting && is_shared) out.push_back(i);
  }
  return out;
}

std::string shared_text(const Table& table) {
  std::string out;
  for (const auto i : shared_settings(table)) {
    const auto& text = table.rows.front().cells[i].text;
    if (text != kNothing) out += (out.empty() ? "" : "; ") + table.columns[i].title + ": " + text;
  }
  return out;
}

std::vector<std::size_t> columns_of_rows(const Table& table) {
  auto out = columns_for(table, Audience::people);
  const auto shared = shared_settings(table);
  std::erase_if(out, [&](std::size_t i) { return std::find(shared.begin(), shared.end(), i) != shared.end(); });
  return out;
}

std::size_t Footnotes::number(const std::string& note) {
  const auto [found, is_new] = numbers_.try_emplace(note, notes_.size() + 1);
  if (is_new) notes_.push_back(note);
  return found->second;
}

}  // namespace perfbench::reports
