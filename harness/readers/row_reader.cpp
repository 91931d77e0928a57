#include "harness/readers/row_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "harness/readers/json_row.h"

namespace perfbench::readers {
namespace {

constexpr std::size_t kMostWaiting = 64;
bool is_stated(const Figure& figure) {
  return figure.metric.starts_with(spec::kStatedPrefix);
}

}  // namespace

// The steps since the previous record, if its step is smaller. Unknown for the first record after a start or a restart,
// unless it is the first step.
std::int64_t RowReader::covered(std::int64_t step, Stream& stream) const {
  std::int64_t covers = 1;
  if (program_.covers != Covers::one) {
    const auto last = std::exchange(stream.timed_step, step);
    if (last && *last == step) return stream.covers;  // a bar prints its last record again
    covers = last && *last < step ? step - *last : step == program_.first_step ? 1 : 0;
    const bool after_first = last && *last == program_.first_step && covers > 0;
    if (program_.covers == Covers::since_last_reset && after_first) ++covers;
  }
  stream.covers = covers;
  return covers;
}

std::optional<RowReader::StepTime> RowReader::time_of_elapsed(const Row& row, Stream& stream) const {
  const auto* elapsed = row.find(Role::elapsed);
  if (elapsed == nullptr) return std::nullopt;
  const auto before = std::exchange(stream.elapsed_s, elapsed->number.value);
  const auto step_before = std::exchange(stream.elapsed_step, row.step);
  if (!before || !step_before || *step_before >= *row.step || *before > elapsed->number.value) return std::nullopt;
  const auto steps = *row.step - *step_before;
  const auto resolution = std::max(elapsed->number.resolution, program_.elapsed_resolution_s);
  const auto count = static_cast<double>(steps);
  return StepTime{{(elapsed->number.value - *before) / count, 2 * resolution / count},
                  steps,
                  steps == 1 ? spec::SampleKind::per_step : spec::SampleKind::window_mean};
}

// The work of a step over the rate. A rate of 0 or infinity belongs to a window without a step.
std::optional<RowReader::StepTime> RowReader::time_of_rate(const Row& row, Stream& stream) const {
  const bool by_tokens = program_.time_from == TimeFrom::tokens_per_device;
  const double work = by_tokens ? work_.tokens_per_device : work_.samples;
  const std::string_view metric = by_tokens ? "stated.tokens_per_s_per_device" : "stated.samples_per_s";
  if (program_.time_from == TimeFrom::record || work <= 0) return std::nullopt;
  const auto rate = std::ranges::find_if(row.entries, [&](const auto& entry) { return entry.figure.metric == metric; });
  if (rate == row.entries.end() || !(rate->number.value > 0) || !std::isfinite(rate->number.value)) return std::nullopt;
  const double seconds = work / rate->number.value;
  return StepTime{
      {seconds, seconds * rate->number.resolution / rate->number.value}, covered(*row.step, stream), row.time_kind};
}

std::optional<RowReader::StepTime> RowReader::step_time(const Row& row, Stream& stream) const {
  const auto printed =
      std::ranges::find_if(row.entries, [](const auto& entry) { return entry.figure.metric == "step_time_s"; });
  if (printed != row.entries.end()) {
    const bool is_mean = row.time_kind == spec::SampleKind::since_start_mean;
    return StepTime{printed->number, is_mean ? 0 : covered(*row.step, stream), row.time_kind};
  }
  if (const auto* rate = row.find(Role::steps_rate); rate != nullptr && rate->number.value > 0) {
    return StepTime{{1 / rate->number.value, 0}, 0, spec::SampleKind::since_start_mean};
  }
  if (const auto* window = row.find(Role::window_time); window != nullptr) {
    const auto* steps = row.find(Role::window_steps);
    const auto count = steps == nullptr ? std::nullopt : as_count(steps->number);
    if (!count || *count == 0) return std::nullopt;
    const auto divisor = static_cast<double>(*count);
    return StepTime{{window->number.value / divisor, window->number.resolution / divisor}, *count, row.time_kind};
  }
  if (row.find(Role::part) != nullptr) {
    Number sum;
    for (const auto& entry : row.entries) {
      if (entry.figure.role != Role::part) continue;
      sum.value += entry.number.value;
      sum.resolution += entry.number.resolution;
    }
    return StepTime{sum, covered(*row.step, stream), row.time_kind};
  }
  if (const auto* micro = row.find(Role::micro); micro != nullptr) {
    stream.micro_s += micro->number.value;
    if (!row.is_last_micro) return std::nullopt;
    return StepTime{{std::exchange(stream.micro_s, 0.0), micro->number.resolution}, 1, row.time_kind};
  }
  if (auto time = time_of_elapsed(row, stream)) return time;
  return time_of_rate(row, stream);
}

void RowReader::emit_time(const Row& row, const StepTime& time, Stream& stream) {
  if (time.kind != spec::SampleKind::since_start_mean && std::exchange(stream.evaluated, false)) {
    ++evaluations_;
    return;
  }
  emit({.metric = "step_time_s",
        .step = *row.step,
        .covers = time.covers,
        .value = time.number.value,
        .kind = time.kind,
        .rank = row.rank,
        .resolution = time.number.resolution,
        .at_ns = row.at_ns});
}

void RowReader::take_numbered(const Row& row, Stream& stream) {
  if (stream.step && *row.step < *stream.step) {  // a restart: the time before it is unknown
    stream.timed_step.reset();
    stream.micro_s = 0;
    stream.evaluated = false;
  }
  stream.step = row.step;
  if (const auto time = step_time(row, stream)) emit_time(row, *time, stream);
  if (row.find(Role::micro) != nullptr && !row.is_last_micro) return;  // its step is not finished yet
  for (const auto& [figure, number] : row.entries) {
    double value = number.value;
    std::string_view metric = figure.metric;
    if (figure.role == Role::nan_count && value > 0) {
      metric = "loss";
      value = std::numeric_limits<double>::quiet_NaN();
    } else if (figure.role != Role::metric || metric == "step_time_s") {
      continue;
    }
    if (is_stated(figure) && !(value >= 0)) continue;  // -100 % stands for an unknown device
    emit({.metric = std::string(metric),
          .step = *row.step,
          .value = value,
          .kind = is_stated(figure) ? row.claim_kind : spec::SampleKind::per_step,
          .rank = row.rank,
          .resolution = number.resolution,
          .at_ns = row.at_ns});
  }
}

// Returns whether the row has a step now; otherwise it has to wait for one.
bool RowReader::number_row(Row& row, Stream& stream) {
  if (row.step) return true;
  switch (program_.unnumbered) {
    case Unnumbered::last:
      row.step = stream.step.value_or(program_.first_step);
      return true;
    case Unnumbered::counted:
      ++stream.counted;
      row.step = position_ > 0 ? position_ : stream.counted * std::max<std::int64_t>(1, work_.log_interval);
      return true;
    case Unnumbered::next:
      if (stream.waiting.size() < kMostWaiting) stream.waiting.push_back(row);
      return false;
  }
  return false;
}

void RowReader::take(Row row) {
  // The rank that prints the step may differ from the rank that printed the waiting rows.
  auto& stream = streams_[program_.unnumbered == Unnumbered::next ? 0 : row.rank];
  if (!number_row(row, stream)) return;
  for (const auto& waiting : std::exchange(stream.waiting, {})) {
    for (const auto& entry : waiting.entries) {
      const auto same = [&entry](const auto& own) { return own.figure.metric == entry.figure.metric; };
      if (std::ranges::none_of(row.entries, same)) row.entries.push_back(entry);
    }
  }
  take_numbered(row, stream);
}

void RowReader::evaluated() {
  for (auto& [rank, stream] : streams_) stream.evaluated = true;
}

// A bar of another length belongs to an evaluation.
void RowReader::progressed(std::int64_t position, std::int64_t end) {
  if (position_end_ == 0) position_end_ = end;
  if (end == position_end_) position_ = position;
}

void RowReader::finish() {
  for (auto& [rank, stream] : streams_) {
    // No record gave their step, so they are counted.
    for (auto& row : std::exchange(stream.waiting, {})) {
      row.step = ++stream.counted * std::max<std::int64_t>(1, work_.log_interval);
      take_numbered(row, stream);
    }
  }
  if (evaluations_ > 0) {
    note(std::to_string(evaluations_) + " step times contain an evaluation and were left out");
  }
}

FormReader::FormReader(const Program& program, const Settings& settings, SampleSink sink)
    : RowReader(program, settings, std::move(sink)), keys_(keyed_figures(program.keys)) {
  for (const auto& form : program.forms) {
    auto& compiled = forms_.emplace_back(Compiled{&form, std::nullopt, {}});
    if (form.pattern.empty()) continue;
    compiled.pattern.emplace(form.pattern);
    for (const auto& name : compiled.pattern->names()) {
      compiled.figures.push_back(name.empty() ? nullptr : &figure(name));
    }
  }
}

void FormReader::feed(std::string_view bytes, ArrivalTime at_ns) {
  lines_.feed(bytes, at_ns, [this](std::string_view line, ArrivalTime at) { take_line(line, at); });
}

void FormReader::finish() {
  RowReader::finish();
  if (lines_.has_partial_line()) note("the last line has no end and was left out");
}

void FormReader::take_line(std::string_view line, ArrivalTime at_ns) {
  for (auto& compiled : forms_) {
    const auto& form = *compiled.form;
    if (line.find(form.literal) == std::string_view::npos) continue;
    if (compiled.pattern && !compiled.pattern->search(line)) continue;
    take_match(compiled, line, at_ns);
    if (form.effect != Effect::progress) return;  // a progress bar of Lightning ends with a record
  }
}

void FormReader::take_match(Compiled& compiled, std::string_view line, ArrivalTime at_ns) {
  const auto& form = *compiled.form;
  if (form.effect == Effect::skip) return;
  if (form.effect == Effect::evaluation) return evaluated();
  Row row{.at_ns = at_ns, .time_kind = form.time_kind, .claim_kind = form.claim_kind};
  std::string_view rest = line;
  if (compiled.pattern) {
    row.rank = rank_of_prefix(compiled.pattern->before());
    rest = compiled.pattern->after();
    for (std::size_t i = 0; i < compiled.figures.size(); ++i) {
      if (compiled.figures[i] != nullptr) row.add(*compiled.figures[i], compiled.pattern->groups()[i]);
    }
  }
  if (form.effect == Effect::progress) {
    const auto* position = row.find(Role::position);
    const auto* end = row.find(Role::position_end);
    if (position != nullptr && end != nullptr) {
      progressed(as_count(position->number).value_or(0), as_count(end->number).value_or(0));
    }
    return;
  }
  if (form.pairs.between != 0) add_pairs(rest, form.pairs, keys_, row);
  if (form.is_json) {
    const auto brace = line.find('{');
    if (brace == std::string_view::npos) return;
    row.rank = std::max(row.rank, rank_of_prefix(line.substr(0, brace)));
    if (!add_json(line.substr(brace), keys_, row)) return;
  }
  if (!row.entries.empty()) take(std::move(row));
}

}  // namespace perfbench::readers
