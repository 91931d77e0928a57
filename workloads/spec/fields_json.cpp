#include "workloads/spec/fields_json.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/spec/spec_error.h"
#include "workloads/spec/suggest.h"

namespace perfbench::spec {

std::string shown(const Json& value) {
  std::string text = json_line(value);
  constexpr std::size_t kLongest = 60;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

std::string pointer_token(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

namespace {

template <class T>
const T& as(const void* value) {
  return *static_cast<const T*>(value);
}
template <class T>
T& as(void* value) {
  return *static_cast<T*>(value);
}

Json number_to_json(double value) {
  for (const auto& [number, word] : kNotFinite) {
    if (value == number || (std::isnan(value) && std::isnan(number))) return Json(word);
  }
  return Json(value);
}

Json held_to_json(const MemberType& type, const void* value, Written written) {
  const auto held = type.values(value);
  if (type.kind == MemberKind::optional) {
    return held.empty() ? Json() : value_to_json(*type.held, held.front().value, written);
  }
  Json out = type.kind == MemberKind::list ? Json::array() : Json::object();
  for (const auto& [key, one] : held) {
    auto json = value_to_json(*type.held, one, written);
    if (type.kind == MemberKind::list) {
      out.push_back(std::move(json));
    } else {
      out[std::string(key)] = std::move(json);
    }
  }
  return out;
}

// Whether both values are written as the same JSON.
bool is_same(const MemberType& type, const void* a, const void* b, Written written) {
  switch (type.kind) {
    case MemberKind::boolean:
      return as<bool>(a) == as<bool>(b);
    case MemberKind::integer:
      return as<std::int64_t>(a) == as<std::int64_t>(b);
    case MemberKind::number: {
      const auto x = as<double>(a);
      const auto y = as<double>(b);
      return (std::isnan(x) && std::isnan(y)) || std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
    }
    case MemberKind::text:
      return as<std::string>(a) == as<std::string>(b);
    case MemberKind::word:
      return type.word_value(a) == type.word_value(b);
    case MemberKind::record:
      return std::ranges::all_of(type.fields().fields, [&](const TableField& entry) {
        return (written == Written::counted && !entry.field.counted) ||
               is_same(*entry.type, entry.in(a), entry.in(b), written);
      });
    case MemberKind::list:
    case MemberKind::mapping:
    case MemberKind::optional:
      break;
  }
  return std::ranges::equal(type.values(a), type.values(b), [&](const HeldValue& x, const HeldValue& y) {
    return x.key == y.key && is_same(*type.held, x.value, y.value, written);
  });
}

// The place of a value. Its JSON pointer is made only for an error: a run has a hundred fields, which are read
// thousands of times.
struct Place {
  const Place* parent = nullptr;  // null: `key` is the pointer of the whole document
  std::string_view key;

  std::string text() const { return parent == nullptr ? std::string(key) : parent->text() + "/" + pointer_token(key); }
};

class Reader {
 public:
  explicit Reader(Missing missing) : missing_(missing) {}

  void record(const FieldTable& table, void* record, const Json& json, const Place& place) const {
    if (!json.is_object()) throw SpecError(place.text(), "found " + shown(json) + " where a mapping of keys is needed");
    const auto& given = json.get_ref<const Json::object_t&>();
    for (const auto& [key, value] : given) {
      if (!std::ranges::binary_search(table.sorted_names, std::string_view(key))) unknown_key(table, key, place);
    }
    for (const auto& entry : table.fields) {
      const auto& field = entry.field;
      const auto found = given.find(field.name);
      if (found != given.end()) {
        value(entry, *entry.type, entry.in(record), found->second, {&place, field.name});
      } else if (field.presence == Presence::omitted_at_default) {
        entry.type->assign(entry.in(record), table.default_of(entry));
      } else if (missing_ == Missing::is_error || field.presence == Presence::required) {
        throw SpecError(place.text(),
                        "the key '" + std::string(field.name) + "' (" + std::string(field.help) + ") is missing");
      }
    }
  }

  // `name` leads from `record` to the member.
  void member(const FieldTable& table, void* record, std::string_view name, const Json& json,
              const Place& place) const {
    const auto dot = name.find('.');
    const auto key = name.substr(0, dot);
    const auto found = std::ranges::find_if(table.fields, [key](const auto& entry) { return entry.field.name == key; });
    if (found == table.fields.end()) unknown_key(table, std::string(key), place);
    const Place here{&place, key};
    if (dot == std::string_view::npos) return value(*found, *found->type, found->in(record), json, here);
    const auto rest = name.substr(dot + 1);
    if (found->type->kind == MemberKind::mapping) {
      const auto& held = *found->type->held;
      return value(*found, held, found->type->add(found->in(record), std::string(rest)), json, {&here, rest});
    }
    if (found->type->kind != MemberKind::record) unknown_key(table, std::string(name), place);
    member(found->type->fields(), found->in(record), rest, json, here);
  }

 private:
  [[noreturn]] static void unknown_key(const FieldTable& table, const std::string& key, const Place& place) {
    std::vector<std::string> names;
    for (const auto& entry : table.fields) names.emplace_back(entry.field.name);
    throw SpecError(Place{&place, key}.text(), "unknown key '" + key + "'" + suggestion(key, names));
  }

  [[noreturn]] static void wrong_type(const TableField& entry, const Json& json, const Place& place,
                                      const std::string& wanted) {
    throw SpecError(place.text(),
                    "'" + std::string(entry.field.name) + "' is " + shown(json) + ", it must be " + wanted);
  }

  // Bounds are shown in the type of the field: 'steps' is at least 1, and not 1.0.
  static std::string bound(MemberKind kind, double bound) {
    return shown(kind == MemberKind::integer ? Json(static_cast<std::int64_t>(bound)) : Json(bound));
  }

  static void check_range(const TableField& entry, const MemberType& type, const Json& json, const Place& place) {
    const auto& field = entry.field;
    const auto number = json.get<double>();
    if (number >= field.minimum && number <= field.maximum) return;
    std::string wanted;
    if (std::isfinite(field.minimum)) wanted += "at least " + bound(type.kind, field.minimum);
    if (std::isfinite(field.maximum)) {
      wanted += (wanted.empty() ? "" : " and ") + std::string("at most ") + bound(type.kind, field.maximum);
    }
    throw SpecError(place.text(), "'" + std::string(field.name) + "' is " + shown(json) + ", it must be " + wanted);
  }

  void value(const TableField& entry, const MemberType& type, void* out, const Json& json, const Place& place) const {
    switch (type.kind) {
      case MemberKind::boolean:
        if (!json.is_boolean()) wrong_type(entry, json, place, "true or false");
        as<bool>(out) = json.get<bool>();
        return;
      case MemberKind::integer:
        return integer(entry, type, as<std::int64_t>(out), json, place);
      case MemberKind::number:
        return number(entry, type, as<double>(out), json, place);
      case MemberKind::text:
        if (!json.is_string()) wrong_type(entry, json, place, "text");
        as<std::string>(out) = json.get_ref<const std::string&>();
        return;
      case MemberKind::word:
        return word(entry, type, out, json, place);
      case MemberKind::record:
        return record(type.fields(), out, json, place);
      case MemberKind::list:
        return list(entry, type, out, json, place);
      case MemberKind::mapping:
        if (!json.is_object()) wrong_type(entry, json, place, "a mapping");
        type.clear(out);
        for (const auto& [key, held] : json.get_ref<const Json::object_t&>()) {
          value(entry, *type.held, type.add(out, key), held, {&place, key});
        }
        return;
      case MemberKind::optional:
        // null is not accepted here, nor is a number that is not finite.
        type.clear(out);
        if (!json.is_null()) value(entry, *type.held, type.add(out, ""), json, place);
        return;
    }
  }

  static void integer(const TableField& entry, const MemberType& type, std::int64_t& out, const Json& json,
                      const Place& place) {
    if (!json.is_number_integer()) wrong_type(entry, json, place, "a whole number");
    if (json.is_number_unsigned() && json.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
      wrong_type(entry, json, place, "below 2^63");
    }
    check_range(entry, type, json, place);
    out = json.get<std::int64_t>();
  }

  // Only a field without bounds, such as the loss of a diverged run, may hold a number that is not finite. Older
  // versions wrote null for all of these.
  static void number(const TableField& entry, const MemberType& type, double& out, const Json& json,
                     const Place& place) {
    if (!std::isfinite(entry.field.minimum) && !std::isfinite(entry.field.maximum)) {
      if (json.is_null()) {
        out = std::numeric_limits<double>::quiet_NaN();
        return;
      }
      for (const auto& [not_finite, word] : kNotFinite) {
        if (!json.is_string() || json.get_ref<const std::string&>() != word) continue;
        out = not_finite;
        return;
      }
    }
    if (!json.is_number()) wrong_type(entry, json, place, "a number");
    const auto number = json.get<double>();
    if (!std::isfinite(number)) wrong_type(entry, json, place, "a finite number");
    check_range(entry, type, json, place);
    out = number;
  }

  static void word(const TableField& entry, const MemberType& type, void* out, const Json& json, const Place& place) {
    if (json.is_string() && set_by_word(type, out, json.get_ref<const std::string&>())) return;
    std::vector<std::string> names;
    for (const auto& known : type.words) names.emplace_back(known.name);
    if (!json.is_string()) wrong_type(entry, json, place, "a word" + suggestion("", names));
    const auto& given = json.get_ref<const std::string&>();
    throw SpecError(place.text(), "'" + std::string(entry.field.name) + "' is '" + given +
                                      "', which is not one of its values" + suggestion(given, names));
  }

  void list(const TableField& entry, const MemberType& type, void* out, const Json& json, const Place& place) const {
    if (!json.is_array()) wrong_type(entry, json, place, "a list");
    type.clear(out);
    for (std::size_t i = 0; i < json.size(); ++i) {
      const auto index = std::to_string(i);
      value(entry, *type.held, type.add(out, ""), json[i], {&place, index});
    }
  }

  Missing missing_;
};

}  // namespace

Json value_to_json(const MemberType& type, const void* value, Written written) {
  switch (type.kind) {
    case MemberKind::boolean:
      return Json(as<bool>(value));
    case MemberKind::integer:
      return Json(as<std::int64_t>(value));
    case MemberKind::number:
      return number_to_json(as<double>(value));
    case MemberKind::text:
      return Json(as<std::string>(value));
    case MemberKind::word:
      return Json(word_of(type, value));
    case MemberKind::record:
      return record_to_json(type.fields(), value, written);
    case MemberKind::list:
    case MemberKind::mapping:
    case MemberKind::optional:
      break;
  }
  return held_to_json(type, value, written);
}

Json record_to_json(const FieldTable& table, const void* record, Written written) {
  Json out = Json::object();
  auto& members = out.get_ref<Json::object_t&>();
  for (const auto& entry : table.fields) {
    if (written == Written::counted && !entry.field.counted) continue;
    if (written != Written::whole && is_omitted(table, entry, record, written)) continue;
    members.emplace(entry.field.name, value_to_json(*entry.type, entry.in(record), written));
  }
  return out;
}

bool is_omitted(const FieldTable& table, const TableField& field, const void* record, Written written) {
  return field.field.presence == Presence::omitted_at_default &&
         is_same(*field.type, field.in(record), table.default_of(field), written);
}

void read_fields(const FieldTable& table, void* record, const Json& json, Missing missing, std::string_view pointer) {
  Reader(missing).record(table, record, json, {nullptr, pointer});
}

void read_field(const FieldTable& table, void* record, std::string_view name, const Json& json) {
  Reader(Missing::takes_default).member(table, record, name, json, {nullptr, ""});
}

}  // namespace perfbench::spec
