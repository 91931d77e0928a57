// nvbench. Numbers are texts, and durations are seconds. --jsonbin writes the samples into files beside the JSON:
// little-endian float32. No summary is certain to be there.
#include <array>
#include <bit>

#include "harness/readers/benchmarks/formats.h"
#include "harness/readers/benchmarks/json_values.h"

namespace perfbench::readers {
namespace {

using spec::Json;

// The averages that stand for a state without samples, the best one first.
struct Average {
  std::string_view tag;
  std::string_view statistic;
};
constexpr std::array kAverages{
    Average{"nv/cold/time/gpu/median", "median"},     Average{"nv/cold/time/gpu/mean", "mean"},
    Average{"nv/batch/time/gpu/mean", "batch_mean"},  Average{"nv/cpu_only/time/cpu/median", "cpu_median"},
    Average{"nv/cpu_only/time/cpu/mean", "cpu_mean"},
};
// Beside the time, under names with perfbench's units. nvbench computes them itself.
constexpr std::array kStated{
    std::pair<std::string_view, std::string_view>{"nv/cold/bw/global/bytes_per_second", "stated.bytes_per_s"},
    std::pair<std::string_view, std::string_view>{"nv/cold/bw/item_rate", "stated.items_per_s"},
    std::pair<std::string_view, std::string_view>{"nv/cold/time/gpu/stdev/relative", "stated.deviation_fraction"},
};
constexpr std::string_view kSamplesTag = "nv/json/bin:";

// The value `name` of a summary or of another list of named values; null if there is none.
const Json* named_value(const Json& owner, std::string_view list, std::string_view name) {
  const auto* values = member_of(owner, list);
  if (values == nullptr || !values->is_array()) return nullptr;
  for (const auto& value : *values) {
    if (text_in(value, "name") == name) return member_of(value, "value");
  }
  return nullptr;
}

const Json* summary(const Json& state, std::string_view tag) {
  const auto* summaries = member_of(state, "summaries");
  if (summaries == nullptr || !summaries->is_array()) return nullptr;
  for (const auto& each : *summaries) {
    if (text_in(each, "tag") == tag) return &each;
  }
  return nullptr;
}

std::optional<double> value_of(const Json& state, std::string_view tag) {
  const auto* found = summary(state, tag);
  if (found == nullptr) return std::nullopt;
  const auto* value = named_value(*found, "data", "value");
  if (value == nullptr) return std::nullopt;
  const auto number = number_of_text(*value);
  if (!number) refuse("summaries", "the value of " + std::string(tag) + " is not a number");
  return number;
}

std::vector<double> floats_of(const std::string& bytes) {
  std::vector<double> out;
  for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
    std::uint32_t bits = 0;
    for (std::size_t byte = 0; byte < 4; ++byte) {
      bits |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + byte])) << (8 * byte);
    }
    out.push_back(static_cast<double>(std::bit_cast<float>(bits)));
  }
  return out;
}

class NvbenchFile {
 public:
  explicit NvbenchFile(const SideFiles& side_files) : side_files_(side_files) {}

  void take(const spec::JsonPiece& piece) {
    if (piece.pattern == 0) take_version(piece.value);
    if (piece.pattern == 1) take_device(piece.value);
    if (piece.pattern == 2) take_name(piece);
    if (piece.pattern == 3) out_.rows.push_back(row_of(piece.value, name_of(piece)));
  }

  BenchmarkFile finish() { return std::move(out_); }

 private:
  static void take_version(const Json& version) {
    if (number_in(version, "major").value_or(1) != 1) refuse("major", "only version 1 of the format is known");
  }

  void take_device(const Json& device) {
    wanted_number(device, "id");
    devices_[count_in(device, "id")] = text_in(device, "name");
  }

  void take_name(const spec::JsonPiece& piece) {
    if (!piece.value.is_string()) throw spec::SpecError("", "a text is needed");
    names_[piece.names.at(1)] = piece.value.get<std::string>();
  }

  std::string name_of(const spec::JsonPiece& piece) const {
    const auto found = names_.find(piece.names.at(1));
    if (found == names_.end()) throw spec::SpecError("", "the name of its benchmark does not come before it");
    return found->second;
  }

  BenchmarkRow row_of(const Json& state, const std::string& name) const {
    BenchmarkRow row{.name = name};
    if (const auto* axes = member_of(state, "axis_values"); axes != nullptr && axes->is_array()) {
      for (const auto& axis : *axes) {
        const auto* value = member_of(axis, "value");
        row.axes[wanted_text(axis, "name")] = value == nullptr ? "" : parameter_text(*value);
      }
    }
    const auto device = devices_.find(count_in(state, "device"));
    if (member_of(state, "device") != nullptr && device != devices_.end()) row.gpu_model = device->second;
    if (flag_in(state, "is_skipped")) {
      row.state = RowState::skipped;
      row.reason = text_in(state, "skip_reason");
      return row;
    }
    take_times(state, row);
    return row;
  }

  void take_times(const Json& state, BenchmarkRow& row) const {
    if (auto times = samples_of_state(state); !times.empty()) {
      row.samples["step_time_s"] = std::move(times);
    } else {
      for (const auto& [tag, statistic] : kAverages) {
        const auto time = value_of(state, tag);
        if (!time) continue;
        row.statistic = statistic;
        row.averages["step_time_s"] = *time;
        break;
      }
    }
    for (const auto& [tag, metric] : kStated) {
      if (const auto value = value_of(state, tag)) row.averages[std::string(metric)] = *value;
    }
    if (!row.samples.empty() || row.averages.contains("step_time_s")) return;
    row.state = RowState::failed;
    row.reason = "it has no summary of a time";
  }

  // A file that could not be written has no name.
  std::vector<double> samples_of_state(const Json& state) const {
    const auto* summaries = member_of(state, "summaries");
    if (summaries == nullptr || !summaries->is_array()) return {};
    for (const auto& each : *summaries) {
      if (!text_in(each, "tag").starts_with(kSamplesTag)) continue;
      const auto* file = named_value(each, "data", "filename");
      if (file == nullptr || !file->is_string()) return {};
      const auto* size = named_value(each, "data", "size");
      return read_samples(file->get<std::string>(), size == nullptr ? std::nullopt : number_of_text(*size));
    }
    return {};
  }

  std::vector<double> read_samples(const std::string& path, std::optional<double> count) const {
    const auto bytes = side_files_(path);
    if (!bytes) refuse("summaries", "its samples, " + path + ", are missing; copy the folder with the JSON file");
    auto times = floats_of(*bytes);
    if (bytes->size() % 4 != 0 || (count && *count != static_cast<double>(times.size()))) {
      refuse("summaries", path + " is damaged: it has " + std::to_string(bytes->size()) + " bytes");
    }
    return times;
  }

  const SideFiles& side_files_;
  std::map<std::int64_t, std::string> devices_;
  std::map<std::string, std::string> names_;  // of benchmarks, by their index
  BenchmarkFile out_{.facts = {.suite = "nvbench"}, .rows = {}, .notes = {}};
};

}  // namespace

BenchmarkFile read_nvbench(const BenchmarkSource& source) {
  NvbenchFile file(source.side_files);
  read_pieces(source, {"/meta/version/json", "/devices/*", "/benchmarks/*/name", "/benchmarks/*/states/*"},
              [&file](const spec::JsonPiece& piece) { file.take(piece); });
  return file.finish();
}

}  // namespace perfbench::readers
