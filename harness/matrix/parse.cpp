// Matrix file -> MatrixParts.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "harness/matrix/matrix.h"
#include "harness/matrix/matrix_parts.h"
#include "harness/matrix/value_reader.h"
#include "harness/matrix/yaml_document.h"

namespace perfbench::harness {
namespace {

using spec::Json;

class MatrixParser {
 public:
  explicit MatrixParser(const YamlDocument& document) : document_(document), root_(document.root()), read_(document) {}

  MatrixParts parse() {
    read_.check_keys("", root_,
                     {"name", "description", "defaults", "axes", "zip", "named", "include", "exclude", "overrides",
                      "constraints", "repeats"});
    parts_.name = read_.required_text("", root_, "name", "the name that results are stored under");
    if (root_.contains("description")) parts_.description = read_.text("/description", root_["description"]);
    if (root_.contains("repeats")) read_.assign("/repeats", "repeats", root_["repeats"], parts_.defaults);
    if (root_.contains("defaults")) {
      for (auto& entry : read_.assignments("/defaults", root_["defaults"])) parts_.defaults.push_back(std::move(entry));
    }
    parse_product();
    parse_named();
    parse_includes();
    parse_excludes();
    parse_overrides();
    parse_constraints();
    parts_.assignments = read_.count();
    return std::move(parts_);
  }

 private:
  AxisGroup zip_group(const std::string& pointer, const Json& json) {
    read_.mapping(pointer, json, "axes that advance together");
    AxisGroup group;
    for (const auto& name : document_.keys(pointer)) {
      group.columns.push_back(read_.axis(child(pointer, name), name, json[name]));
      const auto& first = group.columns.front();
      const auto& last = group.columns.back();
      if (last.values.size() != first.values.size()) {
        read_.fail(last.pointer, "'" + name + "' has " + std::to_string(last.values.size()) + " values and '" +
                                     first.name + "' has " + std::to_string(first.values.size()) +
                                     ": the lists of a zip advance together and have one length");
      }
    }
    if (group.columns.empty()) read_.fail(pointer, "a zip without axes");
    return group;
  }

  void parse_product() {
    Block block;
    if (root_.contains("axes")) {
      block.pointer = "/axes";
      read_.mapping("/axes", root_["axes"], "axes");
      for (const auto& name : document_.keys("/axes")) {
        block.groups.push_back({{read_.axis(child("/axes", name), name, root_["axes"][name])}});
        check_distinct(block.groups.back().columns.front());
      }
    }
    if (root_.contains("zip")) {
      const Json& zip = root_["zip"];
      if (zip.is_array()) {
        for (std::size_t i = 0; i < zip.size(); ++i) block.groups.push_back(zip_group(child("/zip", i), zip[i]));
      } else {
        block.groups.push_back(zip_group("/zip", zip));
      }
    }
    check_axes(block);
    // Without axes the defaults are the one cell, unless cells are listed one by one.
    if (!block.groups.empty() || !root_.contains("include")) parts_.blocks.push_back(std::move(block));
  }

  void check_distinct(const Axis& axis) const {
    std::set<std::string> labels;
    for (std::size_t i = 0; i < axis.values.size(); ++i) {
      if (labels.insert(axis.values[i].label).second) continue;
      read_.fail(child(axis.pointer, i), "the axis '" + axis.name + "' has '" + axis.values[i].label + "' twice");
    }
  }

  // Values that 'include' may use by name without their being multiplied.
  void parse_named() {
    if (!root_.contains("named")) return;
    read_.mapping("/named", root_["named"], "axes");
    for (const auto& name : document_.keys("/named")) {
      const std::string pointer = child("/named", name);
      if (parts_.has_axis(name)) read_.fail(pointer, "'" + name + "' is an axis already; add the value there");
      parts_.named.push_back(read_.axis(pointer, name, root_["named"][name]));
      check_distinct(parts_.named.back());
    }
  }

  // Two axes that set one key would overwrite each other.
  void check_axes(const Block& block) const {
    std::map<std::string, const Axis*> setter;
    std::set<std::string> names;
    for (const auto& group : block.groups) {
      for (const auto& column : group.columns) {
        const std::string name = column.key.empty() ? column.name : column.key;
        if (!names.insert(name).second) read_.fail(column.pointer, "the axis '" + column.name + "' appears twice");
        for (const auto& value : column.values) {
          for (const auto& entry : value.set) {
            const std::string subject = is_batch_key(entry.key) ? "the batch" : "'" + short_name(entry.key) + "'";
            const auto [first, is_new] = setter.emplace(subject, &column);
            if (is_new || first->second == &column) continue;
            read_.fail(entry.origin.pointer, subject + " is set by the axis '" + first->second->name + "' and by '" +
                                                 column.name + "': one would overwrite the other");
          }
        }
      }
    }
  }

  // ---- Include: each entry is a small product. A word that names a value of an axis means that value.

  const AxisValue* named_value(const std::string& axis_name, const Json& word) const {
    if (!word.is_string()) return nullptr;
    const auto in = [&](const Axis& axis) -> const AxisValue* {
      if (axis.name != axis_name) return nullptr;
      const auto found = std::find_if(axis.values.begin(), axis.values.end(),
                                      [&](const AxisValue& value) { return value.label == word.get<std::string>(); });
      return found == axis.values.end() ? nullptr : &*found;
    };
    for (const auto& axis : parts_.named) {
      if (const auto* value = in(axis)) return value;
    }
    if (parts_.blocks.empty()) return nullptr;
    for (const auto& group : parts_.blocks.front().groups) {
      for (const auto& column : group.columns) {
        if (const auto* value = in(column)) return value;
      }
    }
    return nullptr;
  }

  Axis include_axis(const std::string& pointer, const std::string& name, const Json& json) {
    Axis out;
    out.name = name;
    out.pointer = pointer;
    if (const auto key = find_key(name)) out.key = key->name;
    const auto add = [&](const std::string& at, const Json& value) {
      const AxisValue* known = named_value(name, value);
      if (known == nullptr && out.key.empty()) {
        read_.fail(at, "'" + name + "' is neither a field of a run nor an axis with a value '" + plain_text(value) +
                           "'" + key_suggestion(name, parts_.axis_names()));
      }
      out.values.push_back(known != nullptr ? *known : read_.axis_value(at, out, value));
    };
    if (json.is_array()) {
      if (json.empty()) read_.fail(pointer, "'" + name + "' has no values");
      for (std::size_t i = 0; i < json.size(); ++i) add(child(pointer, i), json[i]);
    } else if (const auto key = find_key(name); key && key->kind == KeyKind::group) {
      read_.fail(pointer, "name the keys inside '" + name + "' with dots, such as mesh.ici.fsdp");
    } else {
      add(pointer, json);
    }
    return out;
  }

  void parse_includes() {
    if (!root_.contains("include")) return;
    const Json& entries = read_.list("/include", root_["include"], "cells");
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::string pointer = child("/include", i);
      read_.mapping(pointer, entries[i], "keys and values");
      Block block;
      block.pointer = pointer;
      for (const auto& name : document_.keys(pointer)) {
        block.groups.push_back({{include_axis(child(pointer, name), name, entries[i][name])}});
      }
      if (block.groups.empty()) read_.fail(pointer, "an empty cell; name at least one key");
      check_axes(block);
      parts_.blocks.push_back(std::move(block));
    }
  }

  // ---- Rules

  When when(const std::string& pointer, const Json& json) const {
    read_.mapping(pointer, json, "keys and the values they must have");
    When out;
    for (const auto& word : document_.keys(pointer)) {
      const std::string at = child(pointer, word);
      Condition condition;
      if (parts_.has_axis(word)) {
        condition.name = word;
      } else if (const auto key = find_key(word); key && key->kind != KeyKind::group) {
        condition.name = key->name;
      } else {
        read_.fail(at, "unknown key '" + word + "'" + key_suggestion(word, parts_.axis_names()));
      }
      const auto add = [&](const std::string& place, const Json& value) {
        if (value.is_structured() || value.is_null()) {
          read_.fail(place, "found " + spec::shown(value) + " where a value of '" + word + "' is needed");
        }
        condition.patterns.push_back(plain_text(value));
      };
      if (json[word].is_array()) {
        for (std::size_t i = 0; i < json[word].size(); ++i) add(child(at, i), json[word][i]);
        if (json[word].empty()) read_.fail(at, "'" + word + "' has no values to match");
      } else {
        add(at, json[word]);
      }
      out.push_back(std::move(condition));
    }
    return out;
  }

  When required_when(const std::string& pointer, const Json& json) const {
    if (!json.contains("when")) read_.fail(pointer, "the key 'when' (which cells are meant) is missing");
    When out = when(child(pointer, "when"), json["when"]);
    if (out.empty()) read_.fail(child(pointer, "when"), "'when' names no key, so that it means every cell");
    return out;
  }

  void parse_excludes() {
    if (!root_.contains("exclude")) return;
    const Json& rules = read_.list("/exclude", root_["exclude"], "rules");
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const std::string pointer = child("/exclude", i);
      read_.check_keys(pointer, rules[i], {"when", "reason"});
      parts_.excludes.push_back(
          {required_when(pointer, rules[i]),
           read_.required_text(pointer, rules[i], "reason", "why these cells are left out; it is recorded"), pointer});
    }
  }

  void parse_overrides() {
    if (!root_.contains("overrides")) return;
    const Json& rules = read_.list("/overrides", root_["overrides"], "rules");
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const std::string pointer = child("/overrides", i);
      read_.check_keys(pointer, rules[i], {"when", "set"});
      if (!rules[i].contains("set")) read_.fail(pointer, "the key 'set' (what these cells get) is missing");
      OverrideRule rule;
      rule.when = required_when(pointer, rules[i]);
      rule.set = read_.assignments(child(pointer, "set"), rules[i]["set"]);
      rule.pointer = pointer;
      parts_.overrides.push_back(std::move(rule));
    }
  }

  Constraint comparison(const std::string& pointer, const Json& json) const {
    Constraint out = [&] {
      try {
        return Constraint::parse(read_.text(pointer, json));
      } catch (const ConstraintError& e) {
        read_.fail(pointer, e.what());
      }
    }();
    for (const auto& word : out.keys()) {
      const auto key = find_key(word);
      if (!key) read_.fail(pointer, "unknown key '" + word + "'" + key_suggestion(word, {}));
      const bool is_number = key->kind == KeyKind::integer || key->kind == KeyKind::number ||
                             key->kind == KeyKind::per_share || key->kind == KeyKind::repeats ||
                             key->kind == KeyKind::derived;
      if (!is_number) read_.fail(pointer, "'" + word + "' is no number; match words under 'when'");
    }
    return out;
  }

  void parse_constraints() {
    if (!root_.contains("constraints")) return;
    const Json& rules = read_.list("/constraints", root_["constraints"], "comparisons");
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const std::string pointer = child("/constraints", i);
      if (rules[i].is_string()) {
        parts_.constraints.push_back({{}, comparison(pointer, rules[i]), "", pointer});
        continue;
      }
      read_.check_keys(pointer, rules[i], {"require", "when", "reason"});
      if (!rules[i].contains("require")) {
        read_.fail(pointer, "the key 'require' (a comparison such as 'fsdp * tp <= 8') is missing");
      }
      ConstraintRule rule;
      rule.require = comparison(child(pointer, "require"), rules[i]["require"]);
      if (rules[i].contains("when")) rule.when = when(child(pointer, "when"), rules[i]["when"]);
      if (rules[i].contains("reason")) rule.reason = read_.text(child(pointer, "reason"), rules[i]["reason"]);
      rule.pointer = pointer;
      parts_.constraints.push_back(std::move(rule));
    }
  }

  const YamlDocument& document_;
  const Json& root_;
  ValueReader read_;
  MatrixParts parts_;
};

}  // namespace

bool MatrixParts::has_axis(std::string_view axis_name) const {
  const auto names = axis_names();
  return std::find(names.begin(), names.end(), axis_name) != names.end();
}

std::vector<std::string> MatrixParts::axis_names() const {
  std::vector<std::string> names;
  for (const auto& axis : named) names.push_back(axis.name);
  for (const auto& block : blocks) {
    for (const auto& group : block.groups) {
      for (const auto& column : group.columns) {
        if (std::find(names.begin(), names.end(), column.name) == names.end()) names.push_back(column.name);
      }
    }
  }
  return names;
}

MatrixParts parse_matrix(const YamlDocument& document) {
  return MatrixParser(document).parse();
}

}  // namespace perfbench::harness
