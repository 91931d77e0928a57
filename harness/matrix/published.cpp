#include "harness/matrix/published.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <system_error>

#include "harness/matrix/yaml_document.h"
#include "workloads/spec/fields_json.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {
namespace {

using spec::FlopDefinition;
using spec::PublishedRow;

// Published figures have at least three digits; rounding both factors of a product changes it by less than this.
constexpr double kRoundingFraction = 0.02;

bool differs(double a, double b) {
  return std::abs(a - b) > kRoundingFraction * std::max(std::abs(a), std::abs(b));
}

double real(std::int64_t value) {
  return static_cast<double>(value);
}

std::optional<double> peak_flops_per_s(const PublishedEntry& entry) {
  if (!entry.hardware) return std::nullopt;
  const double peak = spec::mfu_peak_flops_per_s(*entry.hardware, entry.row.precision);
  if (peak <= 0) return std::nullopt;
  return peak;
}

// The model FLOP/s of one device that the row states, with their definition.
std::optional<double> rate_from_stated_figures(const PublishedEntry& entry) {
  const PublishedRow& row = entry.row;
  const auto definition = spec::enum_value<FlopDefinition>(row.stated_definition);
  if (!definition || !entry.model || row.seq_len == 0) return std::nullopt;
  const double flops_per_token = spec::flops_per_token(*definition, *entry.model, row.seq_len);
  if (row.stated_flops_per_s_per_device > 0) return row.stated_flops_per_s_per_device / flops_per_token;
  const auto peak = peak_flops_per_s(entry);
  if (row.stated_mfu_fraction > 0 && peak) return row.stated_mfu_fraction * *peak / flops_per_token;
  return std::nullopt;
}

void check_rate_against_batch(const PublishedRow& row, std::vector<std::string>& out) {
  if (row.step_time_s <= 0 || row.sequences_per_s <= 0 || row.global_batch == 0) return;
  const double sequences = row.step_time_s * row.sequences_per_s;
  if (differs(sequences, real(row.global_batch))) {
    out.push_back(fmt::format("step time x sequences/s gives a batch of {:.4g}, but the row says {}", sequences,
                              row.global_batch));
  }
}

void check_mesh(const PublishedRow& row, std::vector<std::string>& out) {
  if (row.devices == 0 || (row.dp == 0 && row.fsdp == 0)) return;
  std::int64_t product = 1;
  for (const auto axis : {row.dp, row.fsdp, row.tp, row.pp}) product *= std::max<std::int64_t>(axis, 1);
  if (product != row.devices) {
    out.push_back(fmt::format("dp x fsdp x tp x pp is {}, but the row says {} devices", product, row.devices));
  }
}

// A smaller product means gradient accumulation; a larger one is a contradiction.
void check_batch_per_device(const PublishedRow& row, std::vector<std::string>& out) {
  if (row.batch_per_device <= 0 || row.devices == 0 || row.global_batch == 0) return;
  const double sequences = row.batch_per_device * real(row.devices);
  if (sequences > real(row.global_batch) * (1 + kRoundingFraction)) {
    out.push_back(fmt::format("{} sequences on each of {} devices are {:.6g}, but the row's global batch is {}",
                              row.batch_per_device, row.devices, sequences, row.global_batch));
  }
}

void check_stated_figures(const PublishedEntry& entry, std::vector<std::string>& out) {
  const PublishedRow& row = entry.row;
  const auto peak = peak_flops_per_s(entry);
  // The MFU of an fp8 row may refer to the fp8 peak.
  if (!peak || row.precision == spec::Precision::fp8) return;
  if (row.stated_flops_per_s_per_device <= 0 || row.stated_mfu_fraction <= 0) return;
  const double fraction = row.stated_flops_per_s_per_device / *peak;
  if (differs(fraction, row.stated_mfu_fraction)) {
    out.push_back(fmt::format("{:.4g} TFLOP/s is {:.1f} % of the peak, but the row says {:.1f} %",
                              row.stated_flops_per_s_per_device / 1e12, 100 * fraction, 100 * row.stated_mfu_fraction));
  }
}

void check_peak(const PublishedEntry& entry, std::vector<std::string>& out) {
  const auto mfu = mfu_fraction(entry, FlopDefinition::causal);
  if (mfu && *mfu > 1) {
    out.push_back(
        fmt::format("its throughput would need {:.0f} % of the peak of {}", 100 * *mfu, entry.hardware->title));
  }
}

}  // namespace

std::optional<double> tokens_per_s_per_device(const PublishedEntry& entry) {
  const PublishedRow& row = entry.row;
  if (row.task == spec::Task::eval) return std::nullopt;
  if (row.tokens_per_s_per_device > 0) return row.tokens_per_s_per_device;
  if (row.seq_len > 0 && row.devices > 0) {
    const double tokens_per_sequence_and_device = real(row.seq_len) / real(row.devices);
    if (row.sequences_per_s > 0) return row.sequences_per_s * tokens_per_sequence_and_device;
    if (row.step_time_s > 0 && row.global_batch > 0) {
      return real(row.global_batch) / row.step_time_s * tokens_per_sequence_and_device;
    }
  }
  return rate_from_stated_figures(entry);
}

std::optional<double> sequences_per_s(const PublishedEntry& entry) {
  const PublishedRow& row = entry.row;
  if (row.sequences_per_s > 0) return row.sequences_per_s;
  const auto tokens = tokens_per_s_per_device(entry);
  if (!tokens || row.seq_len == 0 || row.devices == 0) return std::nullopt;
  return *tokens * real(row.devices) / real(row.seq_len);
}

std::optional<double> step_time_s(const PublishedEntry& entry) {
  const PublishedRow& row = entry.row;
  if (row.step_time_s > 0) return row.step_time_s;
  const auto rate = sequences_per_s(entry);
  if (!rate || row.global_batch == 0) return std::nullopt;
  return real(row.global_batch) / *rate;
}

std::optional<double> mfu_fraction(const PublishedEntry& entry, FlopDefinition definition) {
  const PublishedRow& row = entry.row;
  const bool unknown_rank = row.task == spec::Task::lora && !row.lora.used();
  if (unknown_rank || row.task == spec::Task::eval) return std::nullopt;
  const auto tokens = tokens_per_s_per_device(entry);
  const auto peak = peak_flops_per_s(entry);
  if (!tokens || !peak || !entry.model || row.seq_len == 0) return std::nullopt;
  return spec::utilisation(*tokens, spec::flops_per_token(definition, *entry.model, row.seq_len, row.lora), *peak);
}

std::vector<std::string> contradictions(const PublishedEntry& entry) {
  std::vector<std::string> out;
  check_rate_against_batch(entry.row, out);
  check_mesh(entry.row, out);
  check_batch_per_device(entry.row, out);
  check_stated_figures(entry, out);
  check_peak(entry, out);
  return out;
}

namespace {

using spec::Json;
using spec::SpecError;

constexpr const char* kTableExtension = ".yaml";
constexpr std::string_view kPrefix = "published:";

// A file has the form {system, title, tables: [{source, shared: {...}, rows: [{...}, ...]}, ...]}. `shared` holds the
// values that all rows of a table have in common. The tables stay JSON until each row is put together.
struct PublishedFile {
  std::string system;
  std::string title;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{.name = "system", .help = "name of the file", .presence = spec::Presence::required}, self.system);
    f(Field{.name = "title", .help = "full name of the system", .presence = spec::Presence::required}, self.title);
  }
};

const Json& member(const Json& json, const char* key, const std::string& pointer) {
  if (!json.is_object()) throw SpecError(pointer, "found " + spec::shown(json) + " where a mapping is needed");
  const auto found = json.find(key);
  if (found == json.end()) throw SpecError(pointer, std::string("the key '") + key + "' is missing");
  return *found;
}

const Json& list(const Json& json, const char* key, const std::string& pointer) {
  const Json& value = member(json, key, pointer);
  if (!value.is_array()) throw SpecError(pointer + "/" + key, std::string("'") + key + "' must be a list");
  return value;
}

void allow_only(const Json& json, const std::vector<std::string>& keys, const std::string& pointer) {
  for (const auto& [key, value] : json.items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      throw SpecError(pointer + "/" + key, "unknown key '" + key + "'" + spec::suggestion(key, keys));
    }
  }
}

class FileReader {
 public:
  FileReader(const ModelCatalog& catalog, const Json& root) : catalog_(catalog), root_(root) {}

  std::vector<PublishedEntry> read() {
    const Json& tables = list(root_, "tables", "");
    Json head = root_;
    head.erase("tables");
    file_ = spec::fields_from_json<PublishedFile>(head, spec::Missing::takes_default);
    for (std::size_t i = 0; i < tables.size(); ++i) read_table(tables[i], "/tables/" + std::to_string(i));
    return std::move(entries_);
  }

 private:
  void read_table(const Json& table, const std::string& pointer) {
    const Json& source = member(table, "source", pointer);
    if (!source.is_string()) throw SpecError(pointer + "/source", "'source' must be text");
    allow_only(table, {"source", "shared", "rows"}, pointer);
    const Json shared = table.value("shared", Json::object());
    spec::fields_from_json<spec::PublishedRow>(shared, spec::Missing::takes_default, pointer + "/shared");
    const Json& rows = list(table, "rows", pointer);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      read_row(rows[i], shared, pointer + "/rows/" + std::to_string(i), source.get<std::string>());
    }
  }

  void read_row(const Json& row, const Json& shared, const std::string& pointer, const std::string& source) {
    if (!row.is_object()) throw SpecError(pointer, "found " + spec::shown(row) + " where a mapping is needed");
    Json whole = shared;
    whole.update(row, true);  // a row changes single fields of a shared setup
    PublishedEntry entry;
    entry.row = spec::fields_from_json<spec::PublishedRow>(whole, spec::Missing::takes_default, pointer);
    if (entry.row.id.empty()) throw SpecError(pointer, "a row needs an id");
    if (!ids_.insert(entry.row.id).second) throw SpecError(pointer, "the id '" + entry.row.id + "' is given twice");
    const auto& definition = entry.row.stated_definition;
    if (!definition.empty() && !spec::enum_value<spec::FlopDefinition>(definition)) {
      throw SpecError(pointer + "/stated_definition", "unknown FLOP definition '" + definition + "'");
    }
    entry.name = file_.system + "/" + entry.row.id;
    entry.system_title = file_.title;
    entry.source = source;
    look_up(entry, pointer);
    entries_.push_back(std::move(entry));
  }

  void look_up(PublishedEntry& entry, const std::string& pointer) {
    try {
      if (!entry.row.model.empty()) {
        const auto [found, fresh] = models_.try_emplace(entry.row.model);
        if (fresh) found->second = catalog_.model(entry.row.model).model;
        entry.model = found->second;
      }
      if (!entry.row.hardware.empty()) {
        const auto [found, fresh] = hardware_.try_emplace(entry.row.hardware);
        if (fresh) found->second = catalog_.hardware(entry.row.hardware);
        entry.hardware = found->second;
      }
    } catch (const SpecError& e) {
      throw SpecError(pointer, e.what());
    }
  }

  const ModelCatalog& catalog_;
  const Json& root_;
  PublishedFile file_;
  std::set<std::string> ids_;
  std::map<std::string, spec::ModelSpec> models_;
  std::map<std::string, spec::HardwareSpec> hardware_;
  std::vector<PublishedEntry> entries_;
};

std::string near_name(const std::string& word, const std::vector<std::string>& names) {
  const auto near = spec::nearest(word, names);
  return near ? " (did you mean '" + *near + "'?)" : "";
}

// As many names as a reader can take in.
std::string listed(std::vector<std::string> names) {
  constexpr std::size_t kShown = 30;
  const auto more = names.size() > kShown ? names.size() - kShown : 0;
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "), more == 0 ? "" : fmt::format(" and {} more", more));
}

}  // namespace

PublishedCatalog::PublishedCatalog(const std::filesystem::path& data_dir)
    : folder_(data_dir / "workloads" / "published"), models_(data_dir) {}

std::vector<std::string> PublishedCatalog::systems() const {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    if (entry.path().extension() == kTableExtension) names.push_back(entry.path().stem().string());
  }
  if (error) throw InputError("[published] " + folder_.string() + ": cannot be listed: " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<PublishedEntry> PublishedCatalog::rows(const std::string& system) const {
  const auto known = systems();
  if (!std::binary_search(known.begin(), known.end(), system)) {
    throw SpecError("", fmt::format("no rows are published by a system named '{}'{}; the systems are:\n  {}", system,
                                    near_name(system, known), fmt::join(known, ", ")));
  }
  const auto document = YamlDocument::load(folder_ / (system + kTableExtension), "published");
  try {
    return FileReader(models_, document.root()).read();
  } catch (const SpecError& e) {
    throw document.error(e);
  }
}

PublishedEntry PublishedCatalog::row(const std::string& name) const {
  const std::string plain = name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
  const auto system = plain.substr(0, plain.find('/'));
  std::vector<std::string> names;
  for (auto& entry : rows(system)) {
    if (entry.name == plain) return entry;
    names.push_back(entry.name);
  }
  const auto what = plain == system ? "names a system but no row: use published:SYSTEM/ID"
                                    : "there is no such row" + near_name(plain, names);
  if (plain != system) names = spec::nearest_first(plain, names);
  throw SpecError("", fmt::format("'{}': {}; {} has:\n  {}", name, what, system, listed(names)));
}

}  // namespace perfbench::harness
