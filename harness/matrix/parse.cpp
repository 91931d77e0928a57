// Reads a matrix file into MatrixParts.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "harness/matrix/matrix.h"
#include "harness/matrix/matrix_parts.h"
#include "harness/matrix/mistakes.h"
#include "harness/matrix/read_program.h"
#include "harness/matrix/value_reader.h"
#include "harness/matrix/yaml_document.h"

namespace perfbench::harness {
namespace {

using spec::Json;

class MatrixParser {
 public:
  MatrixParser(const YamlDocument& document, Mistakes& mistakes)
      : document_(document), root_(document.root()), mistakes_(mistakes), read_(document, mistakes, parts_) {}

  MatrixParts parse() {
    read_.check_keys("", root_,
                     {"name", "description", "program", "work", "defaults", "axes", "zip", "named", "include",
                      "exclude", "overrides", "constraints", "repeats"});
    mistakes_.note({"/name"}, [this] {
      parts_.name = read_.required_text("", root_, "name", "the name under which results are stored");
    });
    section("description", [this](const Json& json) { parts_.description = read_.text("/description", json); });
    section("program", [this](const Json& json) { parse_program(json); });
    section("work", [this](const Json& json) { parse_work(json); });
    section("repeats", [this](const Json& json) { read_.assign("/repeats", "repeats", json, parts_.defaults); });
    section("defaults", [this](const Json& json) {
      for (auto& entry : read_.assignments("/defaults", json)) parts_.defaults.push_back(std::move(entry));
    });
    parse_product();
    section("named", [this](const Json& json) { parse_named(json); });
    section("include", [this](const Json& json) { parse_includes(json); });
    section("exclude", [this](const Json& json) { parse_excludes(json); });
    section("overrides", [this](const Json& json) { parse_overrides(json); });
    section("constraints", [this](const Json& json) { parse_constraints(json); });
    parts_.assignments = read_.count();
    return std::move(parts_);
  }

 private:
  // Reads one key of the matrix if it is there.
  template <class Read>
  void section(const std::string& name, const Read& read) {
    if (root_.contains(name)) mistakes_.note({child("", name)}, [&] { read(root_[name]); });
  }

  // Reads the entries of a list one by one.
  template <class Read>
  void each(const std::string& pointer, const Json& list, const Read& read) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto at = child(pointer, i);
      mistakes_.note({at}, [&] { read(at, list[i]); });
    }
  }

  void parse_program(const Json& json) {
    parts_.program = read_program(document_, "/program", json);
    const auto steps = json.find("steps");
    if (steps != json.end()) read_.assign("/program/steps", "steps", *steps, parts_.defaults);
  }

  // The work of a step of the program, with the same keys as `defaults`.
  void parse_work(const Json& json) {
    if (!parts_.program) read_.fail("/work", "'work' declares what a `program` works on; without one use 'defaults'");
    for (auto& entry : read_.assignments("/work", json)) parts_.defaults.push_back(std::move(entry));
  }

  AxisGroup zip_group(const std::string& pointer, const Json& json) {
    read_.mapping(pointer, json, "axes that advance together");
    AxisGroup group;
    if (json.empty()) read_.fail(pointer, "a zip without axes");
    for (const auto& name : document_.keys(pointer)) {
      const auto at = child(pointer, name);
      group.columns.push_back(read_.axis(at, name, json[name]));
      const auto& first = group.columns.front().name;
      if (!json[name].is_array() || !json[first].is_array() || json[name].size() == json[first].size()) continue;
      mistakes_.note({at}, [&] {
        read_.fail(at, "'" + name + "' has " + std::to_string(json[name].size()) + " values and '" + first + "' has " +
                           std::to_string(json[first].size()) +
                           ": the lists of a zip advance together and must have the same length");
      });
    }
    return group;
  }

  void parse_product() {
    Block block;
    section("axes", [&](const Json& json) {
      block.pointer = "/axes";
      read_.mapping("/axes", json, "axes");
      for (const auto& name : document_.keys("/axes")) {
        block.groups.push_back({{read_.axis(child("/axes", name), name, json[name])}});
        check_distinct(block.groups.back().columns.front());
      }
    });
    section("zip", [&](const Json& json) {
      const auto add = [&](const std::string& at, const Json& zip) { block.groups.push_back(zip_group(at, zip)); };
      if (json.is_array()) {
        each("/zip", json, add);
      } else {
        add("/zip", json);
      }
    });
    check_axes(block);
    // Without axes the defaults form a single cell, unless cells are listed one by one.
    if (!block.groups.empty() || !root_.contains("include")) parts_.blocks.push_back(std::move(block));
  }

  void check_distinct(const Axis& axis) const {
    std::set<std::string> labels;
    for (std::size_t i = 0; i < axis.values.size(); ++i) {
      if (labels.insert(axis.values[i].label).second) continue;
      const auto at = child(axis.pointer, i);
      mistakes_.note({at},
                     [&] { read_.fail(at, "the axis '" + axis.name + "' has '" + axis.values[i].label + "' twice"); });
    }
  }

  // Values that 'include' may use by name; they are not multiplied.
  void parse_named(const Json& json) {
    read_.mapping("/named", json, "axes");
    for (const auto& name : document_.keys("/named")) {
      const std::string pointer = child("/named", name);
      mistakes_.note({pointer}, [&] {
        if (parts_.has_axis(name)) read_.fail(pointer, "'" + name + "' is already an axis; add the value there");
        parts_.named.push_back(read_.axis(pointer, name, json[name]));
        check_distinct(parts_.named.back());
      });
    }
  }

  // Two axes that set the same key would overwrite each other.
  void check_axes(const Block& block) const {
    std::map<std::string, const Axis*> setter;
    std::set<std::string> names;
    for (const auto& group : block.groups) {
      for (const auto& column : group.columns) {
        const std::string name = column.key.empty() ? column.name : column.key;
        mistakes_.note({column.pointer}, [&] {
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
        });
      }
    }
  }

  // ---- Include: each entry is a small product. A word that is the name of a value of an axis stands for that value.

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
    if (const auto key = parts_.find(name)) out.key = key->name;
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
    } else if (const auto key = parts_.find(name); key && key->kind == KeyKind::group) {
      read_.fail(pointer, "name the keys inside '" + name + "' with dots, such as mesh.ici.fsdp");
    } else {
      add(pointer, json);
    }
    return out;
  }

  void parse_includes(const Json& json) {
    each("/include", read_.list("/include", json, "cells"), [this](const std::string& pointer, const Json& entry) {
      read_.mapping(pointer, entry, "keys and values");
      Block block;
      block.pointer = pointer;
      for (const auto& name : document_.keys(pointer)) {
        const auto at = child(pointer, name);
        mistakes_.note({at}, [&] { block.groups.push_back({{include_axis(at, name, entry[name])}}); });
      }
      if (entry.empty()) read_.fail(pointer, "an empty cell; name at least one key");
      check_axes(block);
      parts_.blocks.push_back(std::move(block));
    });
  }

  // ---- Rules

  When required_when(const std::string& pointer, const Json& json) const {
    if (!json.contains("when")) read_.fail(pointer, "the key 'when' (the cells to which it applies) is missing");
    When out = read_.when(child(pointer, "when"), json["when"]);
    if (json["when"].empty()) read_.fail(child(pointer, "when"), "'when' names no key, so it applies to every cell");
    return out;
  }

  void parse_excludes(const Json& json) {
    each("/exclude", read_.list("/exclude", json, "rules"), [this](const std::string& pointer, const Json& rule) {
      read_.check_keys(pointer, rule, {"when", "reason"});
      parts_.excludes.push_back(
          {required_when(pointer, rule),
           read_.required_text(pointer, rule, "reason", "why these cells are left out; it is recorded"), pointer});
    });
  }

  void parse_overrides(const Json& json) {
    each("/overrides", read_.list("/overrides", json, "rules"), [this](const std::string& pointer, const Json& rule) {
      read_.check_keys(pointer, rule, {"when", "set"});
      if (!rule.contains("set")) read_.fail(pointer, "the key 'set' (the values for these cells) is missing");
      OverrideRule out;
      out.set = read_.assignments(child(pointer, "set"), rule["set"]);
      out.when = required_when(pointer, rule);
      out.pointer = pointer;
      parts_.overrides.push_back(std::move(out));
    });
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
                             key->kind == KeyKind::bytes || key->kind == KeyKind::per_share ||
                             key->kind == KeyKind::repeats || key->kind == KeyKind::derived;
      if (!is_number) read_.fail(pointer, "'" + word + "' is not a number; match words under 'when'");
    }
    return out;
  }

  void parse_constraints(const Json& json) {
    const auto& rules = read_.list("/constraints", json, "comparisons");
    each("/constraints", rules, [this](const std::string& pointer, const Json& rule) {
      if (rule.is_string()) {
        parts_.constraints.push_back({{}, comparison(pointer, rule), "", pointer});
        return;
      }
      read_.check_keys(pointer, rule, {"require", "when", "reason"});
      if (!rule.contains("require")) {
        read_.fail(pointer, "the key 'require' (a comparison such as 'fsdp * tp <= 8') is missing");
      }
      ConstraintRule out;
      out.require = comparison(child(pointer, "require"), rule["require"]);
      if (rule.contains("when")) out.when = read_.when(child(pointer, "when"), rule["when"]);
      if (rule.contains("reason")) out.reason = read_.text(child(pointer, "reason"), rule["reason"]);
      out.pointer = pointer;
      parts_.constraints.push_back(std::move(out));
    });
  }

  const YamlDocument& document_;
  const Json& root_;
  Mistakes& mistakes_;
  ValueReader read_;
  MatrixParts parts_;
};

}  // namespace

std::optional<RunKey> MatrixParts::find(std::string_view word) const {
  if (program) {
    const auto& free = program->free_keys;
    if (std::find(free.begin(), free.end(), word) != free.end()) {
      return RunKey{std::string(word), KeyKind::free, "a value of the program's command"};
    }
  }
  return find_key(word);
}

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

MatrixParts parse_matrix(const YamlDocument& document, Mistakes& mistakes) {
  return MatrixParser(document, mistakes).parse();
}

}  // namespace perfbench::harness
