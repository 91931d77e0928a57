#include "harness/matrix/run_keys.h"

#include <array>
#include <charconv>
#include <utility>

#include "harness/matrix/reference_names.h"
#include "workloads/spec/amount_text.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {
namespace {

constexpr std::string_view kPlacesPrefix = "remat_custom.";

// Numbers that follow from the mesh and the batch, for rules and for the commands of programs.
constexpr std::array kDerived{
    std::pair{std::string_view("devices"), std::string_view("product of the mesh")},
    std::pair{std::string_view("devices_per_node"), std::string_view("product of the axes inside a node")},
    std::pair{std::string_view("node_count"), std::string_view("product of the axes across nodes")},
    std::pair{std::string_view("total_dp"), std::string_view("dp x dcn_dp")},
    std::pair{std::string_view("total_fsdp"), std::string_view("fsdp x dcn_fsdp")},
    std::pair{std::string_view("batch_tokens"), std::string_view("tokens of a step over all devices")},
    std::pair{std::string_view("microbatch"), std::string_view("sequences of a microbatch on a data shard")},
    std::pair{std::string_view("microbatch_per_device"), std::string_view("sequences of a microbatch over devices")},
    std::pair{std::string_view("microbatches"),
              std::string_view("microbatches of a step on all data shards together")}};

KeyKind kind_of(const std::string& name, const spec::MemberType& type) {
  switch (type.kind) {
    case spec::MemberKind::boolean:
      return KeyKind::boolean;
    case spec::MemberKind::integer:
      return name.ends_with("_bytes") ? KeyKind::bytes : KeyKind::integer;
    case spec::MemberKind::number:
      return KeyKind::number;
    case spec::MemberKind::text:
    case spec::MemberKind::word:
      return KeyKind::text;
    default:
      return name == "model" ? KeyKind::model : KeyKind::group;
  }
}

// Lists every field with its dotted name.
void list_fields(const spec::FieldTable& table, const std::string& prefix, std::vector<RunKey>& out) {
  for (const auto& [field, offset, type] : table.fields) {
    const auto name = prefix + std::string(field.name);
    out.push_back({name, kind_of(name, *type), std::string(field.help)});
    if (type->kind == spec::MemberKind::record) list_fields(type->fields(), name + ".", out);
  }
}

std::vector<RunKey> list_keys() {
  std::vector<RunKey> keys;
  list_fields(spec::field_table<spec::RunSpec>(), "", keys);
  keys.push_back({"batch_per_device", KeyKind::per_share, "sequences of a step over devices, a number or a fraction"});
  keys.push_back({"batch_per_shard", KeyKind::per_share, "sequences of a step over data shards (dp x fsdp x ep)"});
  keys.push_back({"repeats", KeyKind::repeats, "how often the cell is executed"});
  for (const auto& [name, help] : kDerived) keys.push_back({std::string(name), KeyKind::derived, std::string(help)});
  return keys;
}

template <class Number>
std::optional<Number> whole_text_as(std::string_view text) {
  Number value{};
  const auto* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return value;
}

std::optional<spec::Json> bytes_value(std::string_view text) {
  if (const auto bytes = whole_text_as<std::int64_t>(text)) return spec::Json(*bytes);
  constexpr double kBeyond = 0x1p63;
  const auto bytes = spec::parse_size_bytes(text, std::nullopt);
  return bytes && *bytes < kBeyond ? std::optional(spec::Json(static_cast<std::int64_t>(*bytes))) : std::nullopt;
}

}  // namespace

const std::vector<RunKey>& run_keys() {
  static const std::vector<RunKey> kKeys = list_keys();
  return kKeys;
}

std::optional<RunKey> find_key(std::string_view word) {
  for (const auto& key : run_keys()) {
    if (key.name == word || short_name(key.name) == word) return key;
  }
  if (word.starts_with(kPlacesPrefix) && word.size() > kPlacesPrefix.size() &&
      word.find_first_of("./", kPlacesPrefix.size()) == std::string_view::npos) {
    return RunKey{std::string(word), KeyKind::text, "where this value is kept until the backward pass"};
  }
  return std::nullopt;
}

std::string key_suggestion(std::string_view word, const std::vector<std::string>& more_names) {
  if (auto hint = reference_hint(word); !hint.empty()) return hint;
  for (const auto& key : run_keys()) {  // the last part of a dotted name
    if (key.name.ends_with("." + std::string(word))) return " (did you mean '" + key.name + "'?)";
  }
  if (const auto dot = word.rfind('.'); dot != std::string_view::npos) {  // a key with a section that does not exist
    if (const auto key = find_key(word.substr(dot + 1))) return " (did you mean '" + short_name(key->name) + "'?)";
  }
  std::vector<std::string> names = more_names;
  for (const auto& key : run_keys()) {
    names.push_back(key.name);
    if (auto shorter = short_name(key.name); shorter != key.name) names.push_back(std::move(shorter));
  }
  return spec::suggestion(word, names);
}

std::string short_name(std::string_view key) {
  constexpr std::string_view kInside = "mesh.ici.";
  constexpr std::string_view kAcross = "mesh.dcn.";
  if (key.starts_with(kInside)) return std::string(key.substr(kInside.size()));
  if (key.starts_with(kAcross)) return "dcn_" + std::string(key.substr(kAcross.size()));
  return std::string(key);
}

bool is_batch_key(std::string_view key) {
  return key == "global_batch" || key == "batch_per_device" || key == "batch_per_shard";
}

std::optional<spec::Json> parse_key_value(KeyKind kind, std::string_view text) {
  switch (kind) {
    case KeyKind::boolean:
      if (text == "true") return spec::Json(true);
      if (text == "false") return spec::Json(false);
      return std::nullopt;
    case KeyKind::integer:
    case KeyKind::repeats:
      if (const auto number = whole_text_as<std::int64_t>(text)) return spec::Json(*number);
      return std::nullopt;
    case KeyKind::number:
      if (const auto number = whole_text_as<double>(text)) return spec::Json(*number);
      return std::nullopt;
    case KeyKind::bytes:
      return bytes_value(text);
    case KeyKind::per_share:
      if (const auto number = whole_text_as<double>(text)) return spec::Json(*number);
      return spec::Json(std::string(text));
    case KeyKind::text:
    case KeyKind::model:
    case KeyKind::free:
      return spec::Json(std::string(text));
    case KeyKind::group:
    case KeyKind::derived:
      return std::nullopt;
  }
  return std::nullopt;
}

std::string_view kind_wanted(KeyKind kind) {
  static const std::string kASize =
      "a size such as " + std::string(spec::kSizeExamples) + ", or a whole number of bytes";
  switch (kind) {
    case KeyKind::boolean:
      return "true or false";
    case KeyKind::integer:
    case KeyKind::repeats:
      return "a whole number";
    case KeyKind::number:
      return "a number";
    case KeyKind::bytes:
      return kASize;
    case KeyKind::per_share:
      return "a number or a fraction such as 1/8, above 0";
    case KeyKind::text:
    case KeyKind::free:
      return "a word";
    case KeyKind::model:
      return "the name of a model";
    case KeyKind::group:
      return "set through the keys inside it";
    case KeyKind::derived:
      return "computed from the mesh, it cannot be set";
  }
  return "";
}

std::string plain_pattern(KeyKind kind, const std::string& pattern) {
  if (kind != KeyKind::bytes) return pattern;
  const bool negated = pattern.starts_with('!');
  const auto bytes = bytes_value(std::string_view(pattern).substr(negated ? 1 : 0));
  return bytes ? (negated ? "!" : "") + plain_text(*bytes) : pattern;
}

std::string plain_text(const spec::Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return spec::json_line(value);
}

bool is_repeat_count(const spec::Json& value) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned()) {
    const auto count = value.get<std::uint64_t>();
    return count >= 1 && count <= static_cast<std::uint64_t>(kMostRepeats);
  }
  return value.get<std::int64_t>() >= 1 && value.get<std::int64_t>() <= kMostRepeats;
}

std::optional<double> parse_share(const spec::Json& value) {
  double share = 0;
  if (value.is_number()) {
    share = value.get<double>();
  } else if (value.is_string()) {
    const auto text = value.get<std::string>();
    const auto slash = text.find('/');
    if (slash == std::string::npos) return std::nullopt;
    const auto above = whole_text_as<std::int64_t>(std::string_view(text).substr(0, slash));
    const auto below = whole_text_as<std::int64_t>(std::string_view(text).substr(slash + 1));
    if (!above || !below || *below < 1) return std::nullopt;
    share = static_cast<double>(*above) / static_cast<double>(*below);
  }
  if (!(share > 0) || share > 1e9) return std::nullopt;
  return share;
}

}  // namespace perfbench::harness
