#include "harness/matrix/value_reader.h"

#include <algorithm>
#include <map>

#include "harness/input_error.h"
#include "harness/matrix/yaml_document.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {

using spec::Json;

std::string child(const std::string& pointer, std::string_view key) {
  return pointer + "/" + spec::pointer_token(key);
}
std::string child(const std::string& pointer, std::size_t index) {
  return pointer + "/" + std::to_string(index);
}

void ValueReader::fail(const std::string& pointer, const std::string& message) const {
  throw document_.error(pointer, message);
}

void ValueReader::check_keys(const std::string& pointer, const Json& json,
                             const std::vector<std::string>& known) const {
  if (!json.is_object()) fail(pointer, "found " + spec::shown(json) + " where a mapping of keys is needed");
  for (const auto& key : document_.keys(pointer)) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      fail(child(pointer, key), "unknown key '" + key + "'" + spec::suggestion(key, known));
    }
  }
}

const Json& ValueReader::mapping(const std::string& pointer, const Json& json, const std::string& of) const {
  if (!json.is_object()) fail(pointer, "found " + spec::shown(json) + " where a mapping of " + of + " is needed");
  return json;
}

const Json& ValueReader::list(const std::string& pointer, const Json& json, const std::string& of) const {
  if (!json.is_array()) fail(pointer, "found " + spec::shown(json) + " where a list of " + of + " is needed");
  return json;
}

std::string ValueReader::text(const std::string& pointer, const Json& json) const {
  if (!json.is_string()) fail(pointer, "found " + spec::shown(json) + " where text is needed");
  return json.get<std::string>();
}

std::string ValueReader::required_text(const std::string& pointer, const Json& json, const std::string& key,
                                       const std::string& meaning) const {
  if (!json.contains(key)) fail(pointer, "the key '" + key + "' (" + meaning + ") is missing");
  const std::string value = text(child(pointer, key), json[key]);
  if (value.empty()) fail(child(pointer, key), "'" + key + "' is empty: it is " + meaning);
  return value;
}

void ValueReader::assign(const std::string& pointer, const std::string& word, const Json& value,
                         std::vector<Assignment>& out) {
  const auto key = find_key(word);
  if (!key) fail(pointer, "unknown key '" + word + "'" + key_suggestion(word, {}));
  if (key->kind == KeyKind::group && value.is_object()) {
    for (const auto& inner : document_.keys(pointer)) {
      assign(child(pointer, inner), key->name + "." + inner, value[inner], out);
    }
    return;
  }
  check_value(pointer, word, *key, value);
  out.push_back({key->name, value, Origin{pointer, ""}, next_id_++});
}

// What the field list does not check: shapes of the keys that are not fields, and lists where one value is meant.
void ValueReader::check_value(const std::string& pointer, const std::string& word, const RunKey& key,
                              const Json& value) const {
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

std::vector<Assignment> ValueReader::assignments(const std::string& pointer, const Json& json) {
  mapping(pointer, json, "keys and values");
  std::vector<Assignment> out;
  for (const auto& word : document_.keys(pointer)) assign(child(pointer, word), word, json[word], out);
  check_one_meaning(out);
  return out;
}

// Within one mapping no key may be given twice ("fsdp" and "mesh.ici.fsdp") and only one kind of batch.
void ValueReader::check_one_meaning(const std::vector<Assignment>& set) const {
  std::map<std::string, const Assignment*> seen;
  for (const auto& entry : set) {
    const std::string subject = is_batch_key(entry.key) ? "the batch" : "'" + short_name(entry.key) + "'";
    const auto [first, is_new] = seen.emplace(subject, &entry);
    if (!is_new) {
      const auto line = std::to_string(document_.position(first->second->origin.pointer).line);
      const bool other_word = entry.key != first->second->key;
      const auto as = [other_word](const Assignment& a) { return other_word ? " as '" + short_name(a.key) + "'" : ""; };
      fail(entry.origin.pointer,
           subject + " is set twice," + as(*first->second) + " in line " + line + " and" + as(entry) + " here");
    }
  }
}

AxisValue ValueReader::axis_value(const std::string& pointer, const Axis& axis, const Json& value) {
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

Axis ValueReader::axis(const std::string& pointer, const std::string& name, const Json& values) {
  Axis out;
  out.name = name;
  out.pointer = pointer;
  if (const auto key = find_key(name)) {
    if (key->kind == KeyKind::group) fail(pointer, "'" + name + "' has keys inside it: make one of them the axis");
    out.key = key->name;
  }
  list(pointer, values, "values");
  if (values.empty()) fail(pointer, "the axis '" + name + "' has no values");
  for (std::size_t i = 0; i < values.size(); ++i) {
    out.values.push_back(axis_value(child(pointer, i), out, values[i]));
  }
  return out;
}

}  // namespace perfbench::harness
