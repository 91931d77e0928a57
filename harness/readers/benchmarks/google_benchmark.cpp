// Google Benchmark. A repetition is a sample: the mean of its iterations. Rows of one benchmark need not be neighbours
// (--benchmark_enable_random_interleaving). Aggregates count only where no repetition was written, and cv, a ratio in
// the place of a time, never does.
#include <algorithm>
#include <array>
#include <filesystem>

#include "harness/readers/benchmarks/formats.h"
#include "harness/readers/benchmarks/json_values.h"

namespace perfbench::readers {
namespace {

using spec::Json;

constexpr std::array<std::string_view, 26> kOwnKeys{"name",
                                                    "run_name",
                                                    "family_index",
                                                    "per_family_instance_index",
                                                    "run_type",
                                                    "repetitions",
                                                    "threads",
                                                    "repetition_index",
                                                    "iterations",
                                                    "real_time",
                                                    "cpu_time",
                                                    "time_unit",
                                                    "label",
                                                    "aggregate_name",
                                                    "aggregate_unit",
                                                    "error_occurred",
                                                    "skipped",
                                                    "error_message",
                                                    "big_o",
                                                    "cpu_coefficient",
                                                    "skip_message",
                                                    "real_coefficient",
                                                    "rms",
                                                    "benchmark_name",
                                                    "user_label",
                                                    "p_value"};

// bytes_per_second and items_per_second end in perfbench's unit.
std::string counter_metric(std::string name) {
  constexpr std::string_view kPerSecond = "_per_second";
  if (name.ends_with(kPerSecond)) name.replace(name.size() - kPerSecond.size(), kPerSecond.size(), "_per_s");
  return std::string(spec::kStatedPrefix) + name;
}

// A benchmark while its rows come.
struct Gathered {
  BenchmarkRow row;
  std::map<std::string, std::map<std::string, double>> aggregates;  // by their name: values by metric
};

class GoogleBenchmarkFile {
 public:
  void take(const spec::JsonPiece& piece) { piece.pattern == 0 ? take_context(piece.value) : take_row(piece.value); }

  BenchmarkFile finish() {
    if (!has_context_) throw BenchmarkError(1, "it has no 'context': Google Benchmark writes one with the JSON format");
    for (auto& name : order_) {
      auto& gathered = benchmarks_.at(name);
      if (gathered.row.state == RowState::ok && gathered.row.samples.empty() && !take_aggregates(gathered)) continue;
      out_.rows.push_back(std::move(gathered.row));
    }
    return std::move(out_);
  }

 private:
  void take_context(const Json& context) {
    has_context_ = true;
    if (text_in(context, "library_build_type") == "debug") {
      refuse("library_build_type",
             "the Google Benchmark library is a debug build, whose own work is in every time; build it as Release");
    }
    const auto version = number_in(context, "json_schema_version");
    if (version && *version != 1) refuse("json_schema_version", "only version 1 is known");
    auto& facts = out_.facts;
    facts.suite = std::filesystem::path(text_in(context, "executable")).filename().string();
    facts.started_utc = utc_of(text_in(context, "date"));
    facts.hostname = text_in(context, "host_name");
    facts.build_type = text_in(context, "library_build_type");
    facts.cpus = count_in(context, "num_cpus");
    const auto* load = member_of(context, "load_avg");
    if (load != nullptr && load->is_array() && !load->empty()) facts.load_1m = as_number(load->front()).value_or(0);
    if (const auto version_text = text_in(context, "library_version"); !version_text.empty()) {
      facts.libraries["benchmark"] = version_text;
    }
    for (const auto* key : {"git_commit", "commit", "git_hash"}) {  // of --benchmark_context=git_commit=...
      if (const auto commit = text_in(context, key); is_commit(commit)) facts.git_commit = commit;
    }
    if (flag_in(context, "cpu_scaling_enabled")) {
      out_.notes.emplace_back("CPU frequency scaling was on, which makes times vary");
    }
  }

  void take_row(const Json& json) {
    const auto type = text_in(json, "run_type");
    if (type != "iteration" && type != "aggregate") {
      refuse("run_type", type.empty() ? "it is missing, so that samples cannot be told from aggregates; write the file "
                                        "with Google Benchmark 1.5 or newer"
                                      : "unknown kind of row '" + type + "'");
    }
    const auto name =
        member_of(json, "run_name") != nullptr ? wanted_text(json, "run_name") : wanted_text(json, "name");
    auto [at, is_new] = benchmarks_.try_emplace(name);
    if (is_new) {
      order_.push_back(name);
      at->second.row.name = name;
    }
    auto& gathered = at->second;
    if (flag_in(json, "error_occurred")) return end(gathered, RowState::failed, text_in(json, "error_message"));
    if (flag_in(json, "skipped")) return end(gathered, RowState::skipped, text_in(json, "skip_message"));
    if (type == "aggregate") {
      take_aggregate(json, gathered);
    } else {
      for (const auto& [metric, value] : values_of(json)) gathered.row.samples[metric].push_back(value);
    }
  }

  static void end(Gathered& gathered, RowState state, std::string reason) {
    if (gathered.row.state == RowState::failed) return;
    gathered.row.state = state;
    gathered.row.reason = std::move(reason);
  }

  static std::map<std::string, double> values_of(const Json& json) {
    const auto factor = seconds_of(wanted_text(json, "time_unit"), "time_unit");
    std::map<std::string, double> values{{"step_time_s", factor * wanted_number(json, "real_time")},
                                         {"cpu_time_s", factor * wanted_number(json, "cpu_time")}};
    for (const auto& [key, value] : json.items()) {
      if (std::ranges::find(kOwnKeys, key) != kOwnKeys.end()) continue;
      if (const auto number = as_number(value)) values[counter_metric(key)] = *number;
    }
    return values;
  }

  static void take_aggregate(const Json& json, Gathered& gathered) {
    const auto name = text_in(json, "aggregate_name");
    if (name != "mean" && name != "median") return;  // cv is a ratio, big_o and rms have no time
    gathered.aggregates[name] = values_of(json);
  }

  // Returns whether there is one that says how long the benchmark takes.
  static bool take_aggregates(Gathered& gathered) {
    for (const auto* name : {"median", "mean"}) {
      const auto found = gathered.aggregates.find(name);
      if (found == gathered.aggregates.end()) continue;
      gathered.row.statistic = name;
      gathered.row.averages = found->second;
      return true;
    }
    return false;
  }

  BenchmarkFile out_;
  bool has_context_ = false;
  std::map<std::string, Gathered> benchmarks_;
  std::vector<std::string> order_;
};

}  // namespace

BenchmarkFile read_google_benchmark(const BenchmarkSource& source) {
  GoogleBenchmarkFile file;
  read_pieces(source, {"/context", "/benchmarks/*"}, [&file](const spec::JsonPiece& piece) { file.take(piece); });
  return file.finish();
}

}  // namespace perfbench::readers
