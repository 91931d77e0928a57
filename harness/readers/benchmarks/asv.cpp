// airspeed velocity, result files of version 2: results/MACHINE/COMMIT-ENVIRONMENT.json. A row of `results` is zipped
// with `result_columns`, and nulls at its end are left out. `date` is when the commit was made, in milliseconds: a
// series of asv is one of commits, and so is ours. Units are in benchmarks.json beside the machine's folder.
#include <algorithm>
#include <cmath>

#include "harness/readers/benchmarks/formats.h"
#include "harness/readers/benchmarks/json_values.h"

namespace perfbench::readers {
namespace {

using spec::Json;

constexpr std::string_view kCatalog = "../benchmarks.json";
constexpr const char* kTracked = "tracked";

// The unit of a benchmark and the names of its parameters.
struct Described {
  std::string unit;
  std::vector<std::string> parameters;
};

std::map<std::string, Described> read_catalog(const SideFiles& side_files) {
  std::map<std::string, Described> out;
  const auto text = side_files(std::string(kCatalog));
  if (!text) return out;
  const auto take = [&out](const spec::JsonPiece& piece) {
    if (!piece.value.is_object()) return;
    auto& described = out[piece.names.front()];
    described.unit = text_in(piece.value, "unit");
    const auto* names = member_of(piece.value, "param_names");
    if (names == nullptr || !names->is_array()) return;
    for (const auto& name : *names) described.parameters.push_back(parameter_text(name));
  };
  try {
    spec::read_json_pieces(spec::bytes_of(*text), {"/*"}, take);
  } catch (const spec::PieceError& e) {
    throw BenchmarkError(e.line(), "in " + std::string(kCatalog) + ": " + e.text());
  }
  return out;
}

// By the rule of asv: the first word of the function's name says what it measures.
std::string unit_by_name(const std::string& name) {
  const auto dot = name.rfind('.');
  const auto function = dot == std::string::npos ? name : name.substr(dot + 1);
  if (function.starts_with("time")) return "seconds";
  return function.starts_with("mem_") || function.starts_with("peakmem_") ? "bytes" : "unit";
}

class AsvFile {
 public:
  explicit AsvFile(std::map<std::string, Described> catalog) : catalog_(std::move(catalog)) {}

  void take(const spec::JsonPiece& piece) {
    const auto& value = piece.value;
    auto& facts = out_.facts;
    switch (piece.pattern) {
      case 0:
        return take_columns(value);
      case 1:
        return take_benchmark(piece.names.at(1), value);
      case 2:
        if (value.is_string() && is_commit(value.get<std::string>())) facts.git_commit = value.get<std::string>();
        return;
      case 3:
        if (const auto ms = as_number(value); ms && std::abs(*ms) < 1e16) {
          facts.started_utc = utc_of_seconds(static_cast<std::int64_t>(std::floor(*ms / 1000)));
        }
        return;
      case 4:
        return take_machine(value);
      case 5:
        environment_ = value.is_string() ? value.get<std::string>() : "";
        return;
      default:
        has_version_ = as_number(value) == 2.0;
        if (!has_version_) throw spec::SpecError("", "only version 2 of the format is known; run `asv update`");
    }
  }

  BenchmarkFile finish() {
    if (!has_version_) throw BenchmarkError(1, "it has no 'version': it is not a result file of asv");
    if (!environment_.empty()) {
      for (auto& row : out_.rows) row.axes["env"] = environment_;
    }
    return std::move(out_);
  }

 private:
  void take_columns(const Json& columns) {
    if (!columns.is_array()) throw spec::SpecError("", "a list is needed");
    for (const auto& column : columns) columns_.push_back(parameter_text(column));
  }

  void take_machine(const Json& machine) {
    constexpr std::int64_t kKi = 1024;  // asv writes the memory in KiB, as /proc/meminfo does
    constexpr std::int64_t kMostKi = std::int64_t{1} << 50;
    auto& facts = out_.facts;
    facts.hostname = text_in(machine, "machine");
    facts.os = text_in(machine, "os");
    facts.cpu_model = text_in(machine, "cpu");
    facts.cpus = count_in(machine, "num_cpu");
    facts.memory_bytes = kKi * std::min(count_in(machine, "ram"), kMostKi);
    if (const auto python = text_in(machine, "python"); !python.empty()) facts.libraries["python"] = python;
  }

  // nullptr where the row ends before the column, or has null in it.
  const Json* column(const Json& row, std::string_view name) const {
    const auto found = std::ranges::find(columns_, name);
    const auto index = static_cast<std::size_t>(found - columns_.begin());
    if (found == columns_.end() || index >= row.size() || row[index].is_null()) return nullptr;
    return &row[index];
  }

  void take_benchmark(const std::string& name, const Json& json) {
    if (columns_.empty()) throw spec::SpecError("", "'result_columns' does not come before it");
    if (!json.is_array()) throw spec::SpecError("", "a list is needed");
    Benchmark benchmark{.name = name,
                        .described = {},
                        .results = column(json, "result"),
                        .samples = column(json, "samples"),
                        .parameters = column(json, "params"),
                        .version = {}};
    if (const auto known = catalog_.find(name); known != catalog_.end()) benchmark.described = known->second;
    if (benchmark.described.unit.empty()) benchmark.described.unit = unit_by_name(name);
    if (const auto* version = column(json, "version")) benchmark.version = parameter_text(*version);
    const auto combinations = number_of_combinations(benchmark);
    for (std::size_t i = 0; i < combinations; ++i) out_.rows.push_back(row_of(benchmark, i));
  }

  struct Benchmark {
    std::string name;
    Described described;
    const Json* results = nullptr;
    const Json* samples = nullptr;
    const Json* parameters = nullptr;  // a list of values for each parameter
    std::string version;               // of its code
  };

  static std::size_t number_of_combinations(const Benchmark& benchmark) {
    constexpr std::size_t kMost = 1'000'000;
    std::size_t count = 1;
    if (benchmark.parameters == nullptr) return count;
    if (!benchmark.parameters->is_array()) throw spec::SpecError("", "its 'params' are no list of lists");
    for (const auto& values : *benchmark.parameters) {
      if (!values.is_array()) throw spec::SpecError("", "its 'params' are no list of lists");
      count *= values.size();
      if (count > kMost) throw spec::SpecError("", "more than a million combinations of parameters");
    }
    return count;
  }

  // Results come in the order of the product of the parameters: the last one changes fastest.
  static void add_parameters(const Benchmark& benchmark, std::size_t index, BenchmarkRow& row) {
    if (benchmark.parameters == nullptr) return;
    for (auto i = benchmark.parameters->size(); i-- > 0;) {
      const auto& values = (*benchmark.parameters)[i];
      const auto& names = benchmark.described.parameters;
      const auto name = i < names.size() ? names[i] : "param" + std::to_string(i + 1);
      row.axes[name] = parameter_text(values[index % values.size()]);
      index /= values.size();
    }
  }

  static const Json* element(const Json* list, std::size_t index) {
    return list != nullptr && list->is_array() && index < list->size() ? &(*list)[index] : nullptr;
  }

  static BenchmarkRow row_of(const Benchmark& benchmark, std::size_t index) {
    BenchmarkRow row{.name = benchmark.name};
    add_parameters(benchmark, index, row);
    if (!benchmark.version.empty()) row.identity.push_back("version " + benchmark.version);
    const auto* result = element(benchmark.results, index);
    const auto value = result == nullptr ? std::nullopt : as_number(*result);
    if (!value) {
      row.state = RowState::failed;
      row.reason = "its result is null, which asv writes for a benchmark that failed";
      return row;
    }
    if (std::isnan(*value)) {
      row.state = RowState::skipped;
      row.reason = "its result is NaN, which asv writes for parameters that the benchmark skips";
      return row;
    }
    take_values(benchmark, *value, element(benchmark.samples, index), row);
    return row;
  }

  static void take_values(const Benchmark& benchmark, double value, const Json* samples, BenchmarkRow& row) {
    const auto& unit = benchmark.described.unit;
    if (unit == "bytes") {
      row.averages["resident_bytes"] = value;
    } else if (unit != "seconds") {
      row.averages[kTracked] = value;
      row.declared[kTracked] = {.key = "result", .unit = unit, .better = spec::Better::lower};
    } else if (auto times = times_of(samples); !times.empty()) {
      row.samples["step_time_s"] = std::move(times);
    } else {
      row.statistic = "median";
      row.averages["step_time_s"] = value;
    }
  }

  static std::vector<double> times_of(const Json* samples) {
    std::vector<double> out;
    if (samples == nullptr || !samples->is_array()) return out;
    for (const auto& sample : *samples) {
      if (const auto time = as_number(sample)) out.push_back(*time);
    }
    return out;
  }

  std::map<std::string, Described> catalog_;
  std::vector<std::string> columns_;
  std::string environment_;
  bool has_version_ = false;
  BenchmarkFile out_{.facts = {.suite = "asv"}, .rows = {}, .notes = {}};
};

}  // namespace

BenchmarkFile read_asv(const BenchmarkSource& source) {
  AsvFile file(read_catalog(source.side_files));
  read_pieces(source, {"/result_columns", "/results/*", "/commit_hash", "/date", "/params", "/env_name", "/version"},
              [&file](const spec::JsonPiece& piece) { file.take(piece); });
  return file.finish();
}

}  // namespace perfbench::readers
