#include "harness/matrix/value_reader.h"

#include <algorithm>
#include <map>

#include "harness/matrix/mistakes.h"
#include "harness/matrix/reference_names.h"
#include "harness/matrix/yaml_document.h"
#include "harness/system/input_error.h"
#include "workloads/spec/model_spec.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {

using spec::Json;

namespace {

std::vector<std::string> free_keys(const MatrixParts& parts) {
  return parts.program ? parts.program->free_keys : std::vector<std::string>();
}

// {name: ..., set: {...}}
bool is_named_value(const Json& value) {
  return value.is_object() && value.contains("set");
}

}  // namespace

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
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const auto at = child(pointer, key);
    mistakes_.note({at}, [&] { fail(at, "unknown key '" + key + "'" + spec::suggestion(key, known)); });
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
  const auto key = parts_.find(word);
  if (!key) fail(pointer, "unknown key '" + word + "'" + key_suggestion(word, free_keys(parts_)));
  if (key->kind == KeyKind::group && value.is_object()) {
    for (const auto& inner : document_.keys(pointer)) {
      const auto at = child(pointer, inner);
      mistakes_.note({at}, [&] { assign(at, key->name + "." + inner, value[inner], out); });
    }
    return;
  }
  check_value(pointer, word, *key, value);
  if (key->kind == KeyKind::model && value.is_object() && !check_model(pointer, value)) return;
  const bool has_unit = key->kind == KeyKind::bytes && value.is_string();
  auto plain = has_unit ? parse_key_value(key->kind, value.get<std::string>()).value() : value;
  if (key->kind == KeyKind::free) plain = plain_text(value);
  out.push_back({key->name, plain, Origin{pointer, ""}, next_id_++});
}

void ValueReader::check_settable(const std::string& pointer, const std::string& word, const RunKey& key) const {
  if (key.kind != KeyKind::derived) return;
  fail(pointer, "'" + word + "' is " + std::string(kind_wanted(key.kind)) + ": set the mesh axes");
}

// Checks that the field list does not cover: keys that are not fields, and lists in place of a single value.
void ValueReader::check_value(const std::string& pointer, const std::string& word, const RunKey& key,
                              const Json& value) const {
  const auto wrong = [&] {
    fail(pointer, "'" + word + "' is " + spec::shown(value) + ", it must be " + std::string(kind_wanted(key.kind)));
  };
  check_settable(pointer, word, key);
  if (key.kind == KeyKind::group) {
    fail(pointer, "'" + word + "' is " + spec::shown(value) + ", it must be a mapping (" + key.help + ")");
  }
  if (value.is_array()) fail(pointer, "'" + word + "' has a list here; lists of values belong under 'axes' or 'zip'");
  if (value.is_null()) fail(pointer, "'" + word + "' has no value");
  if (key.kind == KeyKind::free && value.is_object()) wrong();
  if (key.kind == KeyKind::per_share && !parse_share(value)) wrong();
  if (key.kind == KeyKind::bytes && !value.is_number_integer()) {
    if (!value.is_string() || !parse_key_value(key.kind, value.get<std::string>())) wrong();
  }
  if (key.kind == KeyKind::model && !value.is_string() && !value.is_object()) wrong();
  if (key.kind == KeyKind::repeats && !is_repeat_count(value)) {
    fail(pointer, "'repeats' is " + spec::shown(value) + ", it must be 1 to " + std::to_string(kMostRepeats));
  }
}

// Checks each key, so that every mistake is found. Missing keys are found when the model is made.
bool ValueReader::check_model(const std::string& pointer, const Json& model) const {
  const auto names = spec::field_names<spec::ModelSpec>();
  bool sound = true;
  for (const auto& key : document_.keys(pointer)) {
    const auto at = child(pointer, key);
    try {
      if (std::find(names.begin(), names.end(), key) == names.end()) {
        const auto hint = reference_hint(key);
        fail(at, "unknown key '" + key + "'" + (hint.empty() ? spec::suggestion(key, names) : hint));
      }
      spec::ModelSpec read;
      spec::read_field(spec::field_table<spec::ModelSpec>(), &read, key, model[key]);
      continue;
    } catch (const spec::SpecError& e) {
      mistakes_.add({at}, document_.error(e, pointer).what());
    } catch (const InputError& e) {
      mistakes_.add({at}, e.what());
    }
    sound = false;
  }
  return sound;
}

std::vector<Assignment> ValueReader::assignments(const std::string& pointer, const Json& json) {
  mapping(pointer, json, "keys and values");
  std::vector<Assignment> out;
  for (const auto& word : document_.keys(pointer)) {
    const auto at = child(pointer, word);
    mistakes_.note({at}, [&] { assign(at, word, json[word], out); });
  }
  check_one_meaning(out);
  return out;
}

// A mapping must not set a key twice ("fsdp" and "mesh.ici.fsdp") or set more than one kind of batch.
void ValueReader::check_one_meaning(const std::vector<Assignment>& set) const {
  std::map<std::string, const Assignment*> seen;
  for (const auto& entry : set) {
    const std::string subject = is_batch_key(entry.key) ? "the batch" : "'" + short_name(entry.key) + "'";
    const auto place = seen.emplace(subject, &entry);
    if (place.second) continue;
    const Assignment& first = *place.first->second;
    const auto line = std::to_string(document_.position(first.origin.pointer).line);
    const bool other_word = entry.key != first.key;
    const auto as = [other_word](const Assignment& a) { return other_word ? " as '" + short_name(a.key) + "'" : ""; };
    mistakes_.note(entry.origin, [&] {
      fail(entry.origin.pointer,
           subject + " is set twice," + as(first) + " in line " + line + " and" + as(entry) + " here");
    });
  }
}

AxisValue ValueReader::axis_value(const std::string& pointer, const Axis& axis, const Json& value) {
  if (is_named_value(value)) {
    check_keys(pointer, value, {"name", "set"});
    return {required_text(pointer, value, "name", "the name of this value in labels"),
            assignments(child(pointer, "set"), value["set"])};
  }
  AxisValue out;
  assign(pointer, axis.name, value, out.set);
  if (value.is_object()) {  // an inline model
    out.label = required_text(pointer, value, "name", "the name of this model in labels");
  } else {
    out.label = plain_text(value);
  }
  return out;
}

void ValueReader::add_values(Axis& axis, const Json& values) {
  const auto key = parts_.find(axis.name);
  if (key && key->kind == KeyKind::group) {
    fail(axis.pointer, "'" + axis.name + "' has keys inside it: make one of them the axis");
  }
  if (key) axis.key = key->name;
  list(axis.pointer, values, "values");
  if (values.empty()) fail(axis.pointer, "the axis '" + axis.name + "' has no values");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = child(axis.pointer, i);
    if (key && !is_named_value(values[i])) check_settable(at, axis.name, *key);
    if (!key && !is_named_value(values[i])) {
      fail(at, "'" + axis.name + "' is not a field of a run" + key_suggestion(axis.name, {}) +
                   "; an axis of another name needs values of the form {name: ..., set: {...}}");
    }
    mistakes_.note({at}, [&] { axis.values.push_back(axis_value(at, axis, values[i])); });
  }
}

Axis ValueReader::axis(const std::string& pointer, const std::string& name, const Json& values) {
  Axis out;
  out.name = name;
  out.pointer = pointer;
  mistakes_.note({pointer}, [&] { add_values(out, values); });
  return out;
}

Condition ValueReader::condition(const std::string& pointer, const std::string& word, const Json& json) const {
  Condition out;
  const auto key = parts_.find(word);
  if (parts_.has_axis(word)) {
    out.name = word;
  } else if (key && key->kind != KeyKind::group) {
    out.name = key->name;
  } else {
    fail(pointer, "unknown key '" + word + "'" + key_suggestion(word, parts_.axis_names()));
  }
  const auto add = [&](const std::string& place, const Json& value) {
    if (value.is_structured() || value.is_null()) {
      fail(place, "found " + spec::shown(value) + " where a value of '" + word + "' is needed");
    }
    out.patterns.push_back(key ? plain_pattern(key->kind, plain_text(value)) : plain_text(value));
  };
  if (!json.is_array()) {
    add(pointer, json);
    return out;
  }
  for (std::size_t i = 0; i < json.size(); ++i) add(child(pointer, i), json[i]);
  if (json.empty()) fail(pointer, "'" + word + "' has no values to match");
  return out;
}

When ValueReader::when(const std::string& pointer, const Json& json) const {
  mapping(pointer, json, "keys and the values they must have");
  When out;
  for (const auto& word : document_.keys(pointer)) {
    const std::string at = child(pointer, word);
    mistakes_.note({at}, [&] { out.push_back(condition(at, word, json[word])); });
  }
  return out;
}

}  // namespace perfbench::harness
