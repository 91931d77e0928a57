// nccl-tests: its text and the JSON of -J. Each line has one collective out of place and in place. Times are means over
// the iterations, in microseconds; bandwidths are stated in 1e9 bytes. "Avg bus bandwidth" mixes all sizes and is not
// read. With -I the JSON has the time of every iteration.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <functional>
#include <span>

#include "harness/readers/benchmarks/formats.h"
#include "harness/readers/benchmarks/json_values.h"

namespace perfbench::readers {
namespace {

using spec::Json;

constexpr double kMicrosecond = 1e-6;
constexpr double kBandwidth = 1e9;

struct Side {
  std::string place;  // "out_of_place" or "in_place"
  double time_us = 0;
  std::optional<double> alg_bw;
  std::optional<double> bus_bw;
  std::optional<double> wrong;   // nullopt: not checked
  std::vector<double> times_us;  // of each iteration, if recorded
  bool of_cpu = false;           // -C: processor time of the launch
};

BenchmarkRow side_row(const std::string& name, const std::map<std::string, std::string>& axes, const Side& side) {
  BenchmarkRow row{.name = name};
  row.axes = axes;
  row.axes["place"] = side.place;
  if (side.of_cpu) row.axes["time"] = "cpu";
  if (side.times_us.empty()) {
    row.statistic = "mean";
    row.averages["step_time_s"] = side.time_us * kMicrosecond;
  }
  for (const double time_us : side.times_us) row.samples["step_time_s"].push_back(time_us * kMicrosecond);
  if (side.alg_bw) row.averages["stated.algorithm_bytes_per_s"] = *side.alg_bw * kBandwidth;
  if (side.bus_bw) row.averages["stated.bus_bytes_per_s"] = *side.bus_bw * kBandwidth;
  if (side.wrong && *side.wrong != 0) {
    row.state = RowState::doubtful;
    row.reason = spec::json_line(Json(*side.wrong)) + " values of its result are wrong";
  } else if (!std::isfinite(side.time_us)) {
    row.state = RowState::failed;
    row.reason = "its time is not a number";
  }
  return row;
}

std::string without_spaces(const std::string& text) {
  const auto begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

// "NVIDIA H100 80GB HBM3" of "#  Rank  0 Group  0 Pid 1 on host device  0 [0000:07:00] NVIDIA H100 80GB HBM3".
std::string gpu_of(std::string_view line) {
  const auto bracket = line.find("] ");
  return bracket == std::string_view::npos ? "" : without_spaces(std::string(line.substr(bracket + 2)));
}

std::string program_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// nccl-tests writes nothing else; other bytes come from programs beside it.
std::string as_ascii(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char letter) { return letter < ' ' || letter > '~'; }, ' ');
  return text;
}

// Every line, also empty ones, so that their number is that of the file.
void read_lines(const spec::ByteReader& bytes, const std::function<void(std::string_view)>& take) {
  constexpr std::size_t kReadBytes = std::size_t{64} << 10;
  constexpr std::size_t kLongestLine = std::size_t{1} << 20;
  std::string held;
  std::string chunk(kReadBytes, '\0');
  while (const auto size = bytes(chunk.data(), chunk.size())) {
    std::string_view rest(chunk.data(), size);
    for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      held += rest.substr(0, end);
      take(as_ascii(held));
      held.clear();
      rest.remove_prefix(end + 1);
    }
    if (held.size() < kLongestLine) held += rest;
  }
  if (!held.empty()) take(as_ascii(held));
}

class NcclText {
 public:
  void take(std::string_view line) {
    ++line_number_;
    line = without_rank(line);
    if (line.starts_with('#')) return take_header(line);
    if (per_side_ > 0) take_row(words_of(line));
  }

  BenchmarkFile finish() {
    if (per_side_ == 0) throw BenchmarkError(1, "it has no header of nccl-tests, '#  size  count  type  redop  root'");
    const auto name = out_.facts.suite.empty() ? "collective" : out_.facts.suite;
    if (out_.facts.suite.empty()) out_.facts.suite = "nccl-tests";
    for (auto& row : out_.rows) row.name = name;
    if (ranks_ > 0) {
      for (auto& row : out_.rows) row.axes["ranks"] = std::to_string(ranks_);
    }
    return std::move(out_);
  }

 private:
  static std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < line.size();) {
      const auto begin = line.find_first_not_of(" \t", at);
      if (begin == std::string_view::npos) break;
      at = std::min(line.find_first_of(" \t", begin), line.size());
      out.emplace_back(line.substr(begin, at - begin));
    }
    return out;
  }

  // Without the prefix of `srun -l`, "0: ".
  static std::string_view without_rank(std::string_view line) {
    const auto colon = line.find(": ");
    const bool has_rank = colon != std::string_view::npos && colon > 0 &&
                          line.substr(0, colon).find_first_not_of(" 0123456789") == std::string_view::npos;
    return has_rank ? line.substr(colon + 2) : line;
  }

  void take_header(std::string_view line) {
    constexpr std::string_view kStarting = "# Collective test starting: ";
    if (line.starts_with(kStarting)) out_.facts.suite = program_name(std::string(line.substr(kStarting.size())));
    if (line.find(" Rank ") != std::string_view::npos && line.find(" Pid ") != std::string_view::npos) {
      ++ranks_;
      if (out_.facts.gpu_model.empty()) out_.facts.gpu_model = gpu_of(line);
    }
    const auto words = words_of(line.substr(1));
    constexpr std::array<std::string_view, 5> kFirst{"size", "count", "type", "redop", "root"};
    if (words.size() < 5 || !std::equal(kFirst.begin(), kFirst.end(), words.begin())) return;
    per_side_ = std::ranges::find(words, "i_min") == words.end() ? 4 : 8;
    of_cpu_ = words.size() > 5 && words[5] == "cputime";
  }

  static std::optional<double> number(const std::string& word) {
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
    return value;
  }

  // Lines of NCCL_DEBUG come between the rows: a row begins with two whole numbers. A replayed trace has no results out
  // of place. -S adds a date and a time at the end.
  void take_row(const std::vector<std::string>& words) {
    constexpr std::size_t kFirst = 5;
    constexpr std::size_t kStamp = 2;
    const auto is_whole = [](const std::string& word) {
      return word.find_first_not_of("0123456789") == std::string::npos;
    };
    if (words.size() < kFirst || !is_whole(words[0]) || !is_whole(words[1])) return;
    const auto rest = words.size() - kFirst;
    const bool both = rest == 2 * per_side_ || rest == 2 * per_side_ + kStamp;
    if (!both && rest != per_side_ && rest != per_side_ + kStamp) {
      refuse_row("a row of " + std::to_string(words.size()) + " columns");
    }
    const std::map<std::string, std::string> axes{
        {"size", words[0]}, {"type", words[2]}, {"redop", words[3]}, {"root", words[4]}};
    if (both) take_side("out_of_place", axes, std::span(words).subspan(kFirst));
    take_side("in_place", axes, std::span(words).subspan(both ? kFirst + per_side_ : kFirst));
  }

  void take_side(const std::string& place, const std::map<std::string, std::string>& axes,
                 std::span<const std::string> words) {
    out_.rows.push_back(side_row("", axes,
                                 {.place = place,
                                  .time_us = wanted(words[0]),
                                  .alg_bw = wanted(words[1]),
                                  .bus_bw = wanted(words[2]),
                                  .wrong = number(words[3]),
                                  .times_us = {},
                                  .of_cpu = of_cpu_}));
  }

  double wanted(const std::string& word) const {
    const auto value = number(word);
    if (!value) refuse_row("found '" + word + "' where a number is needed");
    return *value;
  }

  [[noreturn]] void refuse_row(const std::string& found) const {
    throw BenchmarkError(line_number_, found + "; if another line was written into this one, set NCCL_DEBUG_FILE, so " +
                                           "that NCCL writes elsewhere");
  }

  BenchmarkFile out_;
  std::int64_t line_number_ = 0;
  std::size_t per_side_ = 0;  // columns; 0: before the header
  std::size_t ranks_ = 0;
  bool of_cpu_ = false;
};

class NcclJson {
 public:
  void take(const spec::JsonPiece& piece) {
    if (piece.pattern == 0) take_row(piece.value);
    if (piece.pattern == 1) take_device(piece.value);
    if (piece.pattern == 2 && out_.facts.suite.empty()) out_.facts.suite = program_name(parameter_text(piece.value));
    if (piece.pattern == 3) out_.facts.started_utc = utc_of(parameter_text(piece.value));
    if (piece.pattern == 4) take_version(piece.value);
  }

  BenchmarkFile finish() {
    if (out_.facts.suite.empty()) out_.facts.suite = "nccl-tests";
    for (auto& row : out_.rows) {
      if (row.name.empty()) row.name = out_.facts.suite;
      if (ranks_ > 0) row.axes["ranks"] = std::to_string(ranks_);
    }
    return std::move(out_);
  }

 private:
  static void take_version(const Json& version) {
    if (as_number(version) != 3.0) throw spec::SpecError("", "only version 3 of the format is known");
  }

  void take_device(const Json& device) {
    ++ranks_;
    if (!out_.facts.gpu_model.empty()) return;
    out_.facts.gpu_model = without_spaces(text_in(device, "device_info"));
    out_.facts.hostname = without_spaces(text_in(device, "hostname"));
  }

  // Numbers that are not finite are texts such as "nan".
  static std::optional<double> figure(const Json& side, std::string_view name) {
    const auto* value = member_of(side, name);
    if (value == nullptr) return std::nullopt;
    if (value->is_string()) return std::nan("");
    return as_number(*value);
  }

  void take_row(const Json& json) {
    wanted_number(json, "size");
    std::map<std::string, std::string> axes{{"size", std::to_string(count_in(json, "size"))},
                                            {"type", wanted_text(json, "type")},
                                            {"redop", wanted_text(json, "redop")},
                                            {"root", without_spaces(wanted_text(json, "root"))}};
    for (const auto* place : {"out_of_place", "in_place"}) {
      const auto* side = member_of(json, place);
      if (side != nullptr) take_side(json, *side, place, axes);  // a replayed trace has no results out of place
    }
  }

  void take_side(const Json& json, const Json& values, const std::string& place,
                 const std::map<std::string, std::string>& axes) {
    const bool of_cpu = member_of(values, "cpu_time") != nullptr;
    const auto time = figure(values, of_cpu ? "cpu_time" : "time");
    if (!time) refuse(place + "/time", "there is no such number");
    Side side{.place = place,
              .time_us = *time,
              .alg_bw = figure(values, "alg_bw"),
              .bus_bw = figure(values, "bus_bw"),
              .wrong = figure(values, "nwrong"),
              .times_us = {},
              .of_cpu = of_cpu};
    const auto* iterations = member_of(json, place + "_per_iter");
    const auto* times = iterations == nullptr ? nullptr : member_of(*iterations, "times_us");
    if (times != nullptr && times->is_array()) {
      const auto skipped = static_cast<std::size_t>(count_in(*iterations, "skipped_iterations"));
      for (auto i = skipped; i < times->size(); ++i) side.times_us.push_back(as_number((*times)[i]).value_or(NAN));
    }
    out_.rows.push_back(side_row(text_in(json, "experiment_name"), axes, side));
  }

  BenchmarkFile out_;
  std::size_t ranks_ = 0;
};

}  // namespace

BenchmarkFile read_nccl_tests(const BenchmarkSource& source) {
  std::array<char, 1> first{};
  const bool any = source.bytes(first.data(), 1) == 1;
  // The first byte, and then the rest.
  BenchmarkSource whole{.bytes =
                            [&source, &first, pending = any](char* data, std::size_t size) mutable {
                              if (!pending || size == 0) return source.bytes(data, size);
                              pending = false;
                              data[0] = first[0];
                              return std::size_t{1};
                            },
                        .side_files = source.side_files};
  if (any && first[0] == '{') {
    NcclJson file;
    read_pieces(whole, {"/results/*", "/devices/*", "/args/0", "/start_time", "/version"},
                [&file](const spec::JsonPiece& piece) { file.take(piece); });
    return file.finish();
  }
  NcclText file;
  read_lines(whole.bytes, [&file](std::string_view line) { file.take(line); });
  return file.finish();
}

}  // namespace perfbench::readers
