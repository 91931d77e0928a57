#include "reports/content/listed_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "harness/matrix/match.h"
#include "harness/system/input_error.h"
#include "reports/render/format/number.h"
#include "workloads/spec/suggest.h"

namespace perfbench::reports {
namespace {

struct TextsOfValue {
  std::vector<std::string> operator()(std::monostate) const { return {}; }
  std::vector<std::string> operator()(bool value) const { return {value ? "true" : "false"}; }
  std::vector<std::string> operator()(std::int64_t value) const { return {std::to_string(value)}; }
  std::vector<std::string> operator()(double value) const { return {fmt::format("{}", value)}; }
  std::vector<std::string> operator()(const std::string& value) const { return {value}; }
  std::vector<std::string> operator()(const std::vector<std::string>& values) const { return values; }
};

}  // namespace

TableFilter::TableFilter(const std::vector<std::string>& conditions, std::vector<Column> columns,
                         const std::vector<std::string>& more_keys)
    : columns_(std::move(columns)) {
  std::vector<std::string> known;
  for (const auto& column : columns_) known.push_back(column.key);
  known.insert(known.end(), more_keys.begin(), more_keys.end());
  for (const auto& text : conditions) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw harness::InputError("[list] --where '" + text +
                                "': KEY=PATTERN is needed, such as state=ok or cell=*fsdp=2*");
    }
    Condition condition{.key = text.substr(0, equals), .pattern = text.substr(equals + 1)};
    if (std::find(known.begin(), known.end(), condition.key) == known.end()) {
      std::string all;
      for (const auto& key : known) all += (all.empty() ? "" : ", ") + key;
      const auto near = spec::nearest(condition.key, known);
      throw harness::InputError("[list] --where '" + text + "': there is no " + condition.key +
                                (near ? " (did you mean '" + *near + "'?)" : "") + "; there are: " + all);
    }
    conditions_.push_back(std::move(condition));
  }
}

bool TableFilter::keeps(const Row& row, const std::map<std::string, std::string>& more) const {
  return std::all_of(conditions_.begin(), conditions_.end(),
                     [&](const Condition& condition) { return holds(condition, row, more); });
}

bool TableFilter::asks_of(const std::set<std::string>& keys) const {
  return std::any_of(conditions_.begin(), conditions_.end(),
                     [&](const Condition& condition) { return keys.contains(condition.key); });
}

bool TableFilter::may_keep(const Row& row, const std::set<std::string>& keys,
                           const std::map<std::string, std::string>& more) const {
  return std::all_of(conditions_.begin(), conditions_.end(), [&](const Condition& condition) {
    return !keys.contains(condition.key) || holds(condition, row, more);
  });
}

bool TableFilter::may_keep_from(const std::string& key, const std::string& least) const {
  return std::all_of(conditions_.begin(), conditions_.end(), [&](const Condition& condition) {
    const auto beginning = condition.pattern.substr(0, condition.pattern.find('*'));
    return condition.key != key || least.substr(0, beginning.size()) <= beginning;
  });
}

bool TableFilter::holds(const Condition& condition, const Row& row,
                        const std::map<std::string, std::string>& more) const {
  const auto fits = [&](const std::string& text) { return harness::glob_matches(condition.pattern, text); };
  if (const auto value = more.find(condition.key); value != more.end() && fits(value->second)) return true;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].key != condition.key) continue;
    const auto texts = std::visit(TextsOfValue{}, row.cells[i].value);
    if (fits(row.cells[i].text) || std::any_of(texts.begin(), texts.end(), fits)) return true;
  }
  return false;
}

ListedTable::ListedTable(std::string key, std::vector<Column> columns, const ListQuery& query,
                         const std::vector<std::string>& more_keys)
    : table_{.key = std::move(key), .columns = columns, .rows = {}},
      filter_(query.where, std::move(columns), more_keys),
      limit_(query.limit),
      remedy_(query.remedy) {}

bool ListedTable::add(Row row, const std::map<std::string, std::string>& more) {
  if (!filter_.keeps(row, more)) return true;
  if (table_.rows.size() == limit_) {
    had_more_ = true;
    return false;
  }
  table_.rows.push_back(std::move(row));
  return true;
}

Document ListedTable::document() && {
  Document out;
  const bool is_empty = table_.rows.empty();
  const auto key = table_.key;
  out.add(std::move(table_));
  if (is_empty) out.add(Note{"no " + key + " fit"});
  if (had_more_) out.add(Note{fmt::format("These are the first {}; {}.", limit_, remedy_)});
  return out;
}

}  // namespace perfbench::reports
