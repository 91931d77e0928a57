#include "workloads/spec/field_table.h"

#include <algorithm>
#include <stdexcept>

namespace perfbench::spec {

std::string_view word_of(const MemberType& type, const void* value) {
  const auto number = type.word_value(value);
  for (const auto& word : type.words) {
    if (word.value == number) return word.name;
  }
  return "?";
}

bool set_by_word(const MemberType& type, void* value, std::string_view word) {
  for (const auto& known : type.words) {
    if (known.name != word) continue;
    type.set_word(value, known.value);
    return true;
  }
  return false;
}

void finish_table(FieldTable& table) {
  for (const auto& entry : table.fields) table.sorted_names.push_back(entry.field.name);
  std::sort(table.sorted_names.begin(), table.sorted_names.end());
  const auto twice = std::adjacent_find(table.sorted_names.begin(), table.sorted_names.end());
  if (twice != table.sorted_names.end()) throw std::logic_error("two fields are named " + std::string(*twice));
}

}  // namespace perfbench::spec
