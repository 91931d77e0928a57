// Matrix file -> MatrixParts.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "harness/input_error.h"
#include "harness/matrix/matrix.h"
#include "harness/matrix/matrix_parts.h"
#include "harness/matrix/yaml_document.h"

namespace perfbench::harness {
namespace {

using spec::Json;

std::string child(const std::string& pointer, std::string_view key) {
  return pointer + "/" + spec::detail::pointer_token(key);
}
std::string child(const std::string& pointer, std::size_t index) {
  return pointer + "/" + std::to_string(index);
}

class MatrixParser {
 public:
  explicit MatrixParser(const YamlDocument& document) : document_(document), root_(document.root()) {}

  MatrixParts parse() {
    check_keys("", root_,
               {"name", "description", "defaults", "axes", "zip", "include", "exclude", "overrides", "constraints",
                "repeats"});
    parts_.name = required_text("", root_, "name", "the name that results are stored under");
    if (root_.contains("description")) parts_.description = text("/description", root_["description"]);
    if (root_.contains("repeats")) parts_.defaults.push_back(assignment("/repeats", "repeats", root_["repeats"]));
    if (root_.contains("defaults")) {
      append(parts_.defaults, assignments("/defaults", root_["defaults"]));
    }
    parse_product();
    parse_includes();
    parse_excludes();
    parse_overrides();
    parse_constraints();
    parts_.assignments = next_id_;
    return std::move(parts_);
  }

 private:
  [[noreturn]] void fail(const std::string& pointer, const std::string& message) const {
    throw document_.error(pointer, message);
  }

  static void append(std::vector<Assignment>& out, std::vector<Assignment> more) {
    std::move(more.begin(), more.end(), std::back_inserter(out));
  }

  // ---- Plain shapes

  void check_keys(const std::string& pointer, const Json& json, const std::vector<std::string>& known) const {
    if (!json.is_object()) fail(pointer, "found " + spec::shown(json) + " where a mapping of keys is needed");
    for (const auto& key : document_.keys(pointer)) {
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        fail(child(pointer, key), "unknown key '" + key + "'" + spec::suggestion(key, known));
      }
    }
  }

  const Json& mapping(const std::string& pointer, const Json& json, const std::string& of) const {
    if (!json.is_object()) fail(pointer, "found " + spec::shown(json) + " where a mapping of " + of + " is needed");
    return json;
  }

  const Json& list(const std::string& pointer, const Json& json, const std::string& of) const {
    if (!json.is_array()) fail(pointer, "found " + spec::shown(json) + " where a list of " + of + " is needed");
    return json;
  }

  std::string text(const std::string& pointer, const Json& json) const {
    if (!json.is_string()) fail(pointer, "found " + spec::shown(json) + " where text is needed");
    return json.get<std::string>();
  }

  std::string required_text(const std::string& pointer, const Json& json, const std::string& key,
                            const std::string& meaning) const {
    if (!json.contains(key)) fail(pointer, "the key '" + key + "' (" + meaning + ") is missing");
    const std::string value = text(child(pointer, key), json[key]);
    if (value.empty()) fail(child(pointer, key), "'" + key + "' is empty: it is " + meaning);
    return value;
  }

  // ---- Assignments

  Assignment assignment(const std::string& pointer, std::string key, const Json& value) {
    return Assignment{std::move(key), value, Origin{pointer, ""}, next_id_++};
  }

  // One key and its value, "mesh: {ici: {fsdp: 2}}" taken apart to mesh.ici.fsdp.
  void assign(const std::string& pointer, const std::string& word, const Json& value, std::vector<Assignment>& out) {
    const auto key = find_key(word);
    if (!key) fail(pointer, "unknown key '" + word + "'" + key_suggestion(word, {}));
    if (key->kind == KeyKind::group && value.is_object()) {
      for (const auto& inner : document_.keys(pointer)) {
        assign(child(pointer, inner), key->name + "." + inner, value[inner], out);
      }
      return;
    }
    check_value(pointer, word, *key, value);
    out.push_back(assignment(pointer, key->name, value));
  }

  // What the field list does not check: shapes of the keys that are not fields, and lists where one value is meant.
  void check_value(const std::string& pointer, const std::string& word, const RunKey& key, const Json& value) const {
    const auto wrong = [&] {
      fail(pointer, "'" + word + "' is " + spec::shown(value) + ", it must be " + std::string(kind_wanted(key.kind)));
    };
    if (key.kind == KeyKind::derived) {
      fail(pointer, "'" + word + "' is " + std::string(kind_wanted(key.kind)) + ": set the mesh axes");
    }
    if (key.kind == KeyKind::group) {
      fail(pointer, "'" + word + "' is " + spec::shown(value) + ", it must be a mapping (" + key.help + ")");
    }
    if (value.is_array()) fail(pointer, "'" + word + "' has a list here; lists of values belong under 'axes' or 'zip'");
    if (value.is_null()) fail(pointer, "'" + word + "' has no value");
    if (key.kind == KeyKind::per_share && !parse_share(value)) wrong();
    if (key.kind == KeyKind::model && !value.is_string() && !value.is_object()) wrong();
    if (key.kind == KeyKind::repeats && !is_repeat_count(value)) {
      fail(pointer, "'repeats' is " + spec::shown(value) + ", it must be 1 to " + std::to_string(kMostRepeats));
    }
  }

  std::vector<Assignment> assignments(const std::string& pointer, const Json& json) {
    mapping(pointer, json, "keys and values");
    std::vector<Assignment> out;
    for (const auto& word : document_.keys(pointer)) assign(child(pointer, word), word, json[word], out);
    check_one_meaning(out);
    return out;
  }

  // Within one mapping no key may be given twice ("fsdp" and "mesh.ici.fsdp") and only one kind of batch.
  void check_one_meaning(const std::vector<Assignment>& set) const {
    std::map<std::string, const Assignment*> seen;
    for (const auto& entry : set) {
      const std::string subject = is_batch_key(entry.key) ? "the batch" : "'" + short_name(entry.key) + "'";
      const auto [first, is_new] = seen.emplace(subject, &entry);
      if (!is_new) {
        const auto at = document_.position(first->second->origin.pointer);
        fail(entry.origin.pointer, subject + " is set twice, as '" + short_name(first->second->key) + "' in line " +
                                       std::to_string(at.line) + " and as '" + short_name(entry.key) + "' here");
      }
    }
  }

  // ---- Axes

  AxisValue axis_value(const std::string& pointer, const Axis& axis, const Json& value) {
    if (value.is_object() && value.contains("set")) {
      check_keys(pointer, value, {"name", "set"});
      return {required_text(pointer, value, "name", "what labels call this value"),
              assignments(child(pointer, "set"), value["set"])};
    }
    if (axis.key.empty()) {
      fail(pointer, "'" + axis.name + "' is no field of a run" + key_suggestion(axis.name, {}) +
                        "; an axis of another name needs values of the form {name: ..., set: {...}}");
    }
    AxisValue out;
    assign(pointer, axis.name, value, out.set);
    if (value.is_object()) {  // an inline model
      out.label = required_text(pointer, value, "name", "what labels call this model");
    } else {
      out.label = plain_text(value);
    }
    return out;
  }

  Axis axis(const std::string& pointer, const std::string& name, const Json& values) {
    Axis out;
    out.name = name;
    out.pointer = pointer;
    if (const auto key = find_key(name)) {
      if (key->kind == KeyKind::group) fail(pointer, "'" + name + "' has keys inside it: make one of them the axis");
      out.key = key->name;
    }
    list(pointer, values, "values");
    if (values.empty()) fail(pointer, "the axis '" + name + "' has no values");
    std::set<std::string> labels;
    for (std::size_t i = 0; i < values.size(); ++i) {
      out.values.push_back(axis_value(child(pointer, i), out, values[i]));
      const auto& label = out.values.back().label;
      if (!labels.insert(label).second) fail(child(pointer, i), "the axis '" + name + "' has '" + label + "' twice");
    }
    return out;
  }

  AxisGroup zip_group(const std::string& pointer, const Json& json) {
    mapping(pointer, json, "axes that advance together");
    AxisGroup group;
    for (const auto& name : document_.keys(pointer)) {
      group.columns.push_back(axis(child(pointer, name), name, json[name]));
      const auto& first = group.columns.front();
      const auto& last = group.columns.back();
      if (last.values.size() != first.values.size()) {
        fail(last.pointer, "'" + name + "' has " + std::to_string(last.values.size()) + " values and '" + first.name +
                               "' has " + std::to_string(first.values.size()) +
                               ": the lists of a zip advance together and have one length");
      }
    }
    if (group.columns.empty()) fail(pointer, "a zip without axes");
    return group;
  }

  void parse_product() {
    Block block;
    if (root_.contains("axes")) {
      block.pointer = "/axes";
      mapping("/axes", root_["axes"], "axes");
      for (const auto& name : document_.keys("/axes")) {
        block.groups.push_back({{axis(child("/axes", name), name, root_["axes"][name])}});
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

  // Two axes that set one key would overwrite each other.
  void check_axes(const Block& block) const {
    std::map<std::string, const Axis*> setter;
    std::set<std::string> names;
    for (const auto& group : block.groups) {
      for (const auto& column : group.columns) {
        const std::string name = column.key.empty() ? column.name : column.key;
        if (!names.insert(name).second) fail(column.pointer, "the axis '" + column.name + "' appears twice");
        for (const auto& value : column.values) {
          for (const auto& entry : value.set) {
            const std::string subject = is_batch_key(entry.key) ? "the batch" : "'" + short_name(entry.key) + "'";
            const auto [first, is_new] = setter.emplace(subject, &column);
            if (is_new || first->second == &column) continue;
            fail(entry.origin.pointer, subject + " is set by the axis '" + first->second->name + "' and by '" +
                                           column.name + "': one would overwrite the other");
          }
        }
      }
    }
  }

  // ---- Include: each entry is a small product. A word that names a value of an axis means that value.

  const AxisValue* named_value(const std::string& axis_name, const Json& word) const {
    if (parts_.blocks.empty() || !word.is_string()) return nullptr;
    for (const auto& group : parts_.blocks.front().groups) {
      for (const auto& column : group.columns) {
        if (column.name != axis_name) continue;
        for (const auto& value : column.values) {
          if (value.label == word.get<std::string>()) return &value;
        }
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
        fail(at, "'" + name + "' is neither a field of a run nor an axis with a value '" + plain_text(value) + "'" +
                     key_suggestion(name, parts_.axis_names()));
      }
      out.values.push_back(known != nullptr ? *known : axis_value(at, out, value));
    };
    if (json.is_array()) {
      if (json.empty()) fail(pointer, "'" + name + "' has no values");
      for (std::size_t i = 0; i < json.size(); ++i) add(child(pointer, i), json[i]);
    } else if (const auto key = find_key(name); key && key->kind == KeyKind::group) {
      fail(pointer, "name the keys inside '" + name + "' with dots, such as mesh.ici.fsdp");
    } else {
      add(pointer, json);
    }
    return out;
  }

  void parse_includes() {
    if (!root_.contains("include")) return;
    const Json& entries = list("/include", root_["include"], "cells");
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::string pointer = child("/include", i);
      mapping(pointer, entries[i], "keys and values");
      Block block;
      block.pointer = pointer;
      for (const auto& name : document_.keys(pointer)) {
        block.groups.push_back({{include_axis(child(pointer, name), name, entries[i][name])}});
      }
      if (block.groups.empty()) fail(pointer, "an empty cell; name at least one key");
      check_axes(block);
      parts_.blocks.push_back(std::move(block));
    }
  }

  // ---- Rules

  When when(const std::string& pointer, const Json& json) const {
    mapping(pointer, json, "keys and the values they must have");
    When out;
    for (const auto& word : document_.keys(pointer)) {
      const std::string at = child(pointer, word);
      Condition condition;
      if (parts_.has_axis(word)) {
        condition.name = word;
      } else if (const auto key = find_key(word); key && key->kind != KeyKind::group) {
        condition.name = key->name;
      } else {
        fail(at, "unknown key '" + word + "'" + key_suggestion(word, parts_.axis_names()));
      }
      const auto add = [&](const std::string& place, const Json& value) {
        if (value.is_structured() || value.is_null()) {
          fail(place, "found " + spec::shown(value) + " where a value of '" + word + "' is needed");
        }
        condition.patterns.push_back(plain_text(value));
      };
      if (json[word].is_array()) {
        for (std::size_t i = 0; i < json[word].size(); ++i) add(child(at, i), json[word][i]);
        if (json[word].empty()) fail(at, "'" + word + "' has no values to match");
      } else {
        add(at, json[word]);
      }
      out.push_back(std::move(condition));
    }
    return out;
  }

  When required_when(const std::string& pointer, const Json& json) const {
    if (!json.contains("when")) fail(pointer, "the key 'when' (which cells are meant) is missing");
    When out = when(child(pointer, "when"), json["when"]);
    if (out.empty()) fail(child(pointer, "when"), "'when' names no key, so that it means every cell");
    return out;
  }

  void parse_excludes() {
    if (!root_.contains("exclude")) return;
    const Json& rules = list("/exclude", root_["exclude"], "rules");
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const std::string pointer = child("/exclude", i);
      check_keys(pointer, rules[i], {"when", "reason"});
      parts_.excludes.push_back(
          {required_when(pointer, rules[i]),
           required_text(pointer, rules[i], "reason", "why these cells are left out; it is recorded"), pointer});
    }
  }

  void parse_overrides() {
    if (!root_.contains("overrides")) return;
    const Json& rules = list("/overrides", root_["overrides"], "rules");
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const std::string pointer = child("/overrides", i);
      check_keys(pointer, rules[i], {"when", "set"});
      if (!rules[i].contains("set")) fail(pointer, "the key 'set' (what these cells get) is missing");
      OverrideRule rule;
      rule.when = required_when(pointer, rules[i]);
      rule.set = assignments(child(pointer, "set"), rules[i]["set"]);
      rule.pointer = pointer;
      parts_.overrides.push_back(std::move(rule));
    }
  }

  Constraint comparison(const std::string& pointer, const Json& json) const {
    Constraint out = [&] {
      try {
        return Constraint::parse(text(pointer, json));
      } catch (const ConstraintError& e) {
        fail(pointer, e.what());
      }
    }();
    for (const auto& word : out.keys()) {
      const auto key = find_key(word);
      if (!key) fail(pointer, "unknown key '" + word + "'" + key_suggestion(word, {}));
      const bool is_number = key->kind == KeyKind::integer || key->kind == KeyKind::number ||
                             key->kind == KeyKind::per_share || key->kind == KeyKind::repeats ||
                             key->kind == KeyKind::derived;
      if (!is_number) fail(pointer, "'" + word + "' is no number; match words under 'when'");
    }
    return out;
  }

  void parse_constraints() {
    if (!root_.contains("constraints")) return;
    const Json& rules = list("/constraints", root_["constraints"], "comparisons");
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const std::string pointer = child("/constraints", i);
      if (rules[i].is_string()) {
        parts_.constraints.push_back({{}, comparison(pointer, rules[i]), "", pointer});
        continue;
      }
      check_keys(pointer, rules[i], {"require", "when", "reason"});
      if (!rules[i].contains("require")) {
        fail(pointer, "the key 'require' (a comparison such as 'fsdp * tp <= 8') is missing");
      }
      ConstraintRule rule;
      rule.require = comparison(child(pointer, "require"), rules[i]["require"]);
      if (rules[i].contains("when")) rule.when = when(child(pointer, "when"), rules[i]["when"]);
      if (rules[i].contains("reason")) rule.reason = text(child(pointer, "reason"), rules[i]["reason"]);
      rule.pointer = pointer;
      parts_.constraints.push_back(std::move(rule));
    }
  }

  const YamlDocument& document_;
  const Json& root_;
  MatrixParts parts_;
  std::size_t next_id_ = 0;
};

}  // namespace

bool MatrixParts::has_axis(std::string_view axis_name) const {
  const auto names = axis_names();
  return std::find(names.begin(), names.end(), axis_name) != names.end();
}

std::vector<std::string> MatrixParts::axis_names() const {
  std::vector<std::string> names;
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
