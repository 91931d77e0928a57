#include "reports/content/columns.h"

#include <fmt/core.h>

#include "harness/evidence/attempt.h"
#include "reports/content/cells.h"
#include "reports/content/headline.h"
#include "reports/render/format/number.h"

namespace perfbench::reports {
namespace {

using CellOf = Cell (*)(const ReportRow&);

constexpr ReportColumn configuration(const char* title, const char* key, CellOf cell, Align align = Align::left) {
  return {title, key, cell, align, ColumnOf::configuration};
}
constexpr ReportColumn number(const char* title, const char* key, CellOf cell) {
  return {title, key, cell, Align::right, ColumnOf::result};
}
// Shows a value that a published row may lack.
Cell or_unsaid(bool said, std::string text, Value value) {
  return said ? Cell(std::move(text), std::move(value)) : Cell(kNothing, Value());
}

// An integer of the configuration.
template <auto Member>
constexpr ReportColumn count(const char* title, const char* key) {
  return configuration(
      title, key, [](const ReportRow& r) { return or_unsaid(r.*Member != 0, std::to_string(r.*Member), r.*Member); },
      Align::right);
}
template <auto Member>
constexpr ReportColumn word(const char* title, const char* key) {
  return configuration(title, key,
                       [](const ReportRow& r) { return or_unsaid(!(r.*Member).empty(), r.*Member, r.*Member); });
}

Tone tone_of_state(const ReportRow& row) {
  if (row.runs > 0) return Tone::plain;
  const auto state = spec::enum_value<harness::AttemptState>(row.state);
  return state == harness::AttemptState::infeasible || state == harness::AttemptState::excluded ? Tone::doubtful
                                                                                                : Tone::bad;
}

// A measured number. If there is none, its cell shows how the run ended.
Cell or_state(const ReportRow& row, const std::optional<double>& value) {
  return value ? Cell(format_number(*value), *value) : Cell(row.state, Value(), tone_of_state(row));
}

Cell percent(const std::optional<double>& fraction) {
  return {fraction ? format_percent(*fraction) : kNothing, value_of(fraction)};
}

Cell difference(const ReportRow& row) {
  if (!row.difference) return {kNothing, Value()};
  const auto& found = *row.difference;
  const auto verdict = spec::enum_value<harness::Verdict>(found.verdict);
  const auto tone = verdict ? tone_of(*verdict) : Tone::plain;
  if (!found.ratio) return {found.verdict, Value(), tone};
  const bool compared = verdict != harness::Verdict::not_comparable;
  return {compared ? change_texts(found.ratio, found.ratio_low, found.ratio_high).change + " " + found.verdict
                   : found.verdict,
          *found.ratio - 1, tone};
}

constexpr auto kModel =
    configuration("Model", "model", [](const ReportRow& r) { return or_unsaid(!r.model.empty(), r.model, r.model); });
constexpr auto kSize = configuration("Size", "size", [](const ReportRow& r) {
  return or_unsaid(!r.model.empty(),
                   r.parameters > 0 ? r.model + " (" + format_parameters(r.parameters) + ")" : r.model, r.model);
});
constexpr auto kProcessor =
    configuration("GPU or CPU", "processor", [](const ReportRow& r) { return Cell(r.processor); });
constexpr auto kPrecision = configuration("Precision", "precision", [](const ReportRow& r) {
  return or_unsaid(!r.precision.empty(), r.precision, r.precision);
});
constexpr auto kSequenceLength = count<&ReportRow::seq_len>("Sequence Length", "seq_len");
constexpr auto kDevices = count<&ReportRow::devices>("#devices", "devices");
constexpr auto kBatchPerDevice = configuration(
    "BS/device", "batch_per_device",
    [](const ReportRow& r) {
      return or_unsaid(r.batch_per_device > 0, format_ratio(r.batch_per_device), r.batch_per_device);
    },
    Align::right);
constexpr auto kDp = count<&ReportRow::dp>("DP", "dp");
constexpr auto kFsdp = count<&ReportRow::fsdp>("FSDP", "fsdp");
constexpr auto kTp = count<&ReportRow::tp>("TP", "tp");
constexpr auto kGlobalBatch = count<&ReportRow::global_batch>("GBS", "global_batch");
constexpr auto kAttention = word<&ReportRow::attention>("Attention", "attention");
constexpr auto kRemat = word<&ReportRow::remat>("Remat Policy", "remat");
constexpr auto kScan = configuration("Scan", "scan", [](const ReportRow& r) {
  return or_unsaid(r.scan.has_value(), r.scan.value_or(false) ? "On" : "Off", value_of(r.scan));
});
constexpr auto kStepTime =
    number("Step Time (s)", "step_time_s", [](const ReportRow& r) { return or_state(r, r.step_time_s); });
constexpr auto kMeanStep = number("Mean Step (s)", "step_time_mean_s", [](const ReportRow& r) {
  return Cell(format_number(r.step_time_mean_s), value_of(r.step_time_mean_s));
});
// Tables of other systems have one step time, and next to it rates that are computed from it.
constexpr auto kOnlyStepTime =
    number("Step Time (s)", kMeanStep.key, [](const ReportRow& r) { return or_state(r, r.step_time_mean_s); });
constexpr auto kSequencesPerSecond = number("Sequences/Sec", "sequences_per_s", [](const ReportRow& r) {
  return Cell(format_number(r.sequences_per_s), value_of(r.sequences_per_s));
});
// In a table without step times, this column shows how a run ended that has no number.
constexpr auto kSequencesPerSecondOrState = number(kSequencesPerSecond.title, kSequencesPerSecond.key,
                                                   [](const ReportRow& r) { return or_state(r, r.sequences_per_s); });
constexpr auto kTokensPerDevice = number("Tokens/s/device", "tokens_per_s_per_device", [](const ReportRow& r) {
  const auto rate = tokens_per_s_per_device(r);
  return Cell(format_number(rate), value_of(rate));
});
constexpr auto kMfu = number("MFU", "mfu_fraction", [](const ReportRow& r) { return percent(r.mfu_fraction); });
constexpr auto kAccuracy =
    number("Accuracy", "eval_accuracy", [](const ReportRow& r) { return percent(r.eval_accuracy); });
// The same for a table without any speed.
constexpr auto kAccuracyOrState = number(kAccuracy.title, kAccuracy.key, [](const ReportRow& r) {
  return r.runs > 0 ? kAccuracy.cell(r) : Cell(r.state, value_of(r.eval_accuracy), tone_of_state(r));
});
constexpr auto kTotalSequences = number("Total Sequences", "total_sequences", [](const ReportRow& r) {
  return Cell(r.total_sequences ? std::to_string(*r.total_sequences) : kNothing, value_of(r.total_sequences));
});
constexpr auto kDays = number("Est. Walltime (days)", "estimated_days", [](const ReportRow& r) {
  return Cell(format_number(r.estimated_days), value_of(r.estimated_days));
});

// Half of the range from the fastest run to the slowest, divided by the median.
std::optional<double> spread_fraction(const ReportRow& row) {
  if (row.step_time_runs < 2 || !row.step_time_s || !row.step_time_min_s || !row.step_time_max_s) return std::nullopt;
  return (*row.step_time_max_s - *row.step_time_min_s) / 2 / *row.step_time_s;
}

constexpr auto kSubject = word<&ReportRow::subject>("Subject", "subject");
constexpr auto kRuns =
    number("n", "runs", [](const ReportRow& r) { return or_unsaid(!r.is_published, std::to_string(r.runs), r.runs); });
constexpr auto kSpread = number("Spread", "step_time_spread_fraction", [](const ReportRow& r) {
  const auto spread = spread_fraction(r);
  return Cell(spread ? "\u00b1" + format_percent(*spread) : kNothing, value_of(spread));
});

constexpr std::array kTable{
    kSize,
    kProcessor,
    kPrecision,
    kSequenceLength,
    kDevices,
    kBatchPerDevice,
    kDp,
    kFsdp,
    kTp,
    kGlobalBatch,
    kAttention,
    kRemat,
    kScan,
    kStepTime,
    kMfu,
    ReportColumn{"difference from baseline", "baseline_difference_fraction", difference},
    kSequencesPerSecond,
};

constexpr std::array kMaxtext{
    kSize,        kProcessor, kPrecision, kSequenceLength, kDevices,      kBatchPerDevice,     kDp, kFsdp, kTp,
    kGlobalBatch, kAttention, kRemat,     kScan,           kOnlyStepTime, kSequencesPerSecond,
};

constexpr std::array kPax{
    kSize, kProcessor, kPrecision, kDevices, kDp, kFsdp, kTp, kBatchPerDevice, kSequencesPerSecondOrState,
    kDays, kAccuracy,
};

constexpr std::array kPaxMoe{
    kModel,
    configuration("Num. params", "parameters",
                  [](const ReportRow& r) { return Cell(format_parameters(r.parameters), r.parameters); }),
    kPrecision,
    kDevices,
    kDp,
    kFsdp,
    kTp,
    kBatchPerDevice,
    kSequenceLength,
    kAccuracyOrState,
};

constexpr std::array kPaxTuning{
    kSize,
    kProcessor,
    kPrecision,
    kDevices,
    kDp,
    kFsdp,
    kTp,
    kBatchPerDevice,
    kSequenceLength,
    kTotalSequences,
    kSequencesPerSecondOrState,
    kAccuracy,
};

constexpr std::array kAxlearn{
    kModel,          configuration("Instance", "processor", kProcessor.cell),
    kDevices,        kGlobalBatch,
    kSequenceLength, kRemat,
    kOnlyStepTime,   kMfu,
};

// "Scan, fsdp + tp, minimal_offloaded"
std::string torchprime_notes(const ReportRow& row) {
  std::string mesh;
  for (const auto& [axis, size] : {std::pair{"dp", row.dp}, std::pair{"fsdp", row.fsdp}, std::pair{"tp", row.tp}}) {
    if (size > 1) mesh += (mesh.empty() ? "" : " + ") + std::string(axis);
  }
  std::string out = row.scan.value_or(false) ? "Scan" : "";
  for (const auto& word : {mesh, row.remat}) {
    if (!word.empty()) out += (out.empty() ? "" : ", ") + word;
  }
  return out;
}

constexpr std::array kTorchprime{
    configuration("device", "device",
                  [](const ReportRow& r) {
                    return Cell(r.devices > 0 ? fmt::format("{} x {}", r.processor, r.devices) : r.processor);
                  }),
    configuration("Model size", "model", kModel.cell),
    configuration("Batch size", "global_batch", kGlobalBatch.cell, Align::right),
    configuration("seq length", "seq_len", kSequenceLength.cell, Align::right),
    number("step time", kMeanStep.key,
           [](const ReportRow& r) {
             return r.step_time_mean_s ? Cell(format_number(r.step_time_mean_s) + "s", *r.step_time_mean_s)
                                       : kOnlyStepTime.cell(r);
           }),
    kMfu,
    configuration("NOTEs", "how", [](const ReportRow& r) { return Cell(torchprime_notes(r)); }),
};

constexpr std::array kSeqax{
    configuration("Model Size", "model_size", [](const ReportRow& r) { return Cell(r.model); }),
    number("MFU", "mfu_percent",
           [](const ReportRow& r) {
             if (!r.mfu_fraction) return Cell(r.state, Value(), tone_of_state(r));
             return Cell(format_percent_number(*r.mfu_fraction), 100 * *r.mfu_fraction);
           }),
};

template <auto Member>
Cell plain(const ReportRow& row) {
  return {"", row.*Member};
}
template <auto Member>
Cell optional_number(const ReportRow& row) {
  return {"", value_of(row.*Member)};
}
template <auto Member>
Cell of_difference(const ReportRow& row) {
  if (!row.difference) return {};
  using Type = std::remove_cvref_t<decltype(*row.difference.*Member)>;
  if constexpr (std::is_same_v<Type, std::string>) {
    return {"", *row.difference.*Member};
  } else {
    return {"", value_of(*row.difference.*Member)};
  }
}

constexpr std::array kDetails{
    ReportColumn{"Parameters", "parameters", plain<&ReportRow::parameters>},
    ReportColumn{"Trainable", "trainable_parameters", plain<&ReportRow::trainable_parameters>},
    ReportColumn{"State", "state", plain<&ReportRow::state>},
    ReportColumn{"Reason", "reason", plain<&ReportRow::reason>},
    kRuns,
    ReportColumn{"Fastest run (s)", "step_time_min_s", optional_number<&ReportRow::step_time_min_s>},
    ReportColumn{"Slowest run (s)", "step_time_max_s", optional_number<&ReportRow::step_time_max_s>},
    kMeanStep,
    ReportColumn{"Wall time", "wall_time_s", optional_number<&ReportRow::wall_time_s>},
    ReportColumn{"HFU", "hfu_fraction", optional_number<&ReportRow::hfu_fraction>},
    ReportColumn{"Tokens/Sec", "tokens_per_s", optional_number<&ReportRow::tokens_per_s>},
    kTokensPerDevice,
    ReportColumn{"Real tokens/Sec", "real_tokens_per_s", optional_number<&ReportRow::real_tokens_per_s>},
    ReportColumn{"Energy per token", "energy_per_token_j", optional_number<&ReportRow::energy_per_token_j>},
    ReportColumn{"Cost", "cost_per_million_tokens", optional_number<&ReportRow::cost_per_million_tokens>},
    ReportColumn{"Estimated days", "estimated_days", optional_number<&ReportRow::estimated_days>},
    ReportColumn{"Peak memory", "peak_memory_bytes", optional_number<&ReportRow::peak_memory_bytes>},
    ReportColumn{"Resident set", "resident_bytes", optional_number<&ReportRow::resident_bytes>},
    ReportColumn{"Probe spread", "probe_spread_fraction", optional_number<&ReportRow::probe_spread_fraction>},
    ReportColumn{"Balance loss", "balance_loss", optional_number<&ReportRow::balance_loss>},
    ReportColumn{"Expert load", "expert_load", optional_number<&ReportRow::expert_load>},
    ReportColumn{"Dropped", "dropped_fraction", optional_number<&ReportRow::dropped_fraction>},
    ReportColumn{"Accuracy", "eval_accuracy", optional_number<&ReportRow::eval_accuracy>},
    ReportColumn{"Perplexity", "eval_perplexity", optional_number<&ReportRow::eval_perplexity>},
    ReportColumn{"Verdict", "verdict", of_difference<&BaselineDifference::verdict>},
    ReportColumn{"Verdict reason", "verdict_reason", of_difference<&BaselineDifference::reason>},
    ReportColumn{"Verdict detail", "verdict_detail", of_difference<&BaselineDifference::detail>},
    ReportColumn{"Ratio", "baseline_ratio", of_difference<&BaselineDifference::ratio>},
    ReportColumn{"Ratio from", "baseline_ratio_low", of_difference<&BaselineDifference::ratio_low>},
    ReportColumn{"Ratio to", "baseline_ratio_high", of_difference<&BaselineDifference::ratio_high>},
    ReportColumn{"Matrix", "matrix", plain<&ReportRow::matrix>},
    ReportColumn{"Cell", "cell", plain<&ReportRow::cell>},
    ReportColumn{"Run", "run_id", plain<&ReportRow::run_id>},
    ReportColumn{"Notes", "notes", plain<&ReportRow::notes>},
    kSpread,
    ReportColumn{"Date", "started_utc", plain<&ReportRow::started_utc>},
    ReportColumn{"Commit", "commit", plain<&ReportRow::commit>},
    ReportColumn{"Sweep", "sweep_id", plain<&ReportRow::sweep_id>},
    kSubject,
    ReportColumn{"Engine", "engine_sha256", plain<&ReportRow::engine_sha256>},
    ReportColumn{"Injected", "inject", plain<&ReportRow::inject>},
    ReportColumn{"Side", "side", plain<&ReportRow::side>},
};

}  // namespace

const ReportColumn kSubjectColumn = kSubject;
const ReportColumn kModelColumn = kModel;
const ReportColumn kCellColumn = word<&ReportRow::cell>("Cell", "cell");
const ReportColumn kWallTimeColumn = number("Wall Time (s)", "wall_time_s", [](const ReportRow& r) {
  return Cell(format_number(r.wall_time_s), value_of(r.wall_time_s));
});
const ReportColumn kRunsColumn = kRuns;
const ReportColumn kSpreadColumn = kSpread;
const ReportColumn kMeanStepColumn = kMeanStep;
const ReportColumn kEstimatedDaysColumn = kDays;
const ReportColumn kTokensPerDeviceColumn = kTokensPerDevice;
const ReportColumn kEnergyColumn = number("J/token", "energy_per_token_j", [](const ReportRow& r) {
  return Cell(format_number(r.energy_per_token_j), value_of(r.energy_per_token_j));
});
const ReportColumn kCostColumn = number("Cost/1M tokens", "cost_per_million_tokens", [](const ReportRow& r) {
  return Cell(format_number(r.cost_per_million_tokens), value_of(r.cost_per_million_tokens));
});
const ReportColumn kMemoryColumn = number("Memory", "memory_bytes", [](const ReportRow& r) {
  const auto bytes = memory_bytes(r);
  return bytes ? Cell(human_bytes(static_cast<std::int64_t>(*bytes)), *bytes) : Cell(kNothing, Value());
});

std::span<const ReportColumn> columns(TableStyle style) {
  switch (style) {
    case TableStyle::table:
      break;
    case TableStyle::maxtext:
      return kMaxtext;
    case TableStyle::axlearn:
      return kAxlearn;
    case TableStyle::torchprime:
      return kTorchprime;
    case TableStyle::pax:
      return kPax;
    case TableStyle::pax_moe:
      return kPaxMoe;
    case TableStyle::pax_tuning:
      return kPaxTuning;
    case TableStyle::seqax:
      return kSeqax;
  }
  return kTable;
}

std::span<const ReportColumn> detail_columns() {
  return kDetails;
}

}  // namespace perfbench::reports
