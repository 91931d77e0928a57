#include "reports/columns.h"

#include <array>

#include "reports/format/number.h"

namespace perfbench::reports {
namespace {

template <class T>
RawValue raw(const std::optional<T>& value) {
  return value ? RawValue(*value) : RawValue();
}

std::string on_off(bool value) {
  return value ? "On" : "Off";
}

// The step time's place tells how a run ended that has none.
std::string step_time_text(const ReportRow& row) {
  return row.step_time_s ? format_number(*row.step_time_s) : row.state;
}

std::string difference_text(const ReportRow& row) {
  if (!row.difference) return kNothing;
  const auto& difference = *row.difference;
  if (difference.verdict == "NOT_COMPARABLE" || !difference.ratio) return difference.verdict;
  return format_percent_change(*difference.ratio) + " " + difference.verdict;
}

RawValue difference_fraction(const ReportRow& row) {
  if (!row.difference || !row.difference->ratio) return {};
  return *row.difference->ratio - 1;
}

constexpr Column kSize{"Size", "size",
                       [](const ReportRow& r) { return r.model + " (" + format_parameters(r.parameters) + ")"; },
                       [](const ReportRow& r) { return RawValue(r.model); }};
constexpr Column kProcessor{"GPU or CPU", "processor", [](const ReportRow& r) { return r.processor; },
                            [](const ReportRow& r) { return RawValue(r.processor); }};
constexpr Column kPrecision{"Precision", "precision", [](const ReportRow& r) { return r.precision; },
                            [](const ReportRow& r) { return RawValue(r.precision); }};
constexpr Column kSequenceLength{"Sequence Length", "seq_len",
                                 [](const ReportRow& r) { return std::to_string(r.seq_len); },
                                 [](const ReportRow& r) { return RawValue(r.seq_len); }};
constexpr Column kDevices{"#devices", "devices", [](const ReportRow& r) { return std::to_string(r.devices); },
                          [](const ReportRow& r) { return RawValue(r.devices); }};
constexpr Column kBatchPerDevice{"BS/device", "batch_per_device",
                                 [](const ReportRow& r) { return format_ratio(r.batch_per_device); },
                                 [](const ReportRow& r) { return RawValue(r.batch_per_device); }};
constexpr Column kDp{"DP", "dp", [](const ReportRow& r) { return std::to_string(r.dp); },
                     [](const ReportRow& r) { return RawValue(r.dp); }};
constexpr Column kFsdp{"FSDP", "fsdp", [](const ReportRow& r) { return std::to_string(r.fsdp); },
                       [](const ReportRow& r) { return RawValue(r.fsdp); }};
constexpr Column kTp{"TP", "tp", [](const ReportRow& r) { return std::to_string(r.tp); },
                     [](const ReportRow& r) { return RawValue(r.tp); }};
constexpr Column kGlobalBatch{"GBS", "global_batch", [](const ReportRow& r) { return std::to_string(r.global_batch); },
                              [](const ReportRow& r) { return RawValue(r.global_batch); }};
constexpr Column kAttention{"Attention", "attention", [](const ReportRow& r) { return r.attention; },
                            [](const ReportRow& r) { return RawValue(r.attention); }};
constexpr Column kRemat{"Remat Policy", "remat", [](const ReportRow& r) { return r.remat; },
                        [](const ReportRow& r) { return RawValue(r.remat); }};
constexpr Column kScan{"Scan", "scan", [](const ReportRow& r) { return on_off(r.scan); },
                       [](const ReportRow& r) { return RawValue(r.scan); }};
constexpr Column kStepTime{"Step Time (s)", "step_time_s", step_time_text,
                           [](const ReportRow& r) { return raw(r.step_time_s); }};
constexpr Column kSequencesPerSecond{"Sequences/Sec", "sequences_per_s",
                                     [](const ReportRow& r) { return format_number(r.sequences_per_s); },
                                     [](const ReportRow& r) { return raw(r.sequences_per_s); }};
// Where a table has no step time, this is the place that tells how a run ended that has none.
constexpr Column kSequencesPerSecondOrState{
    kSequencesPerSecond.title, kSequencesPerSecond.key,
    [](const ReportRow& r) { return r.sequences_per_s ? format_number(*r.sequences_per_s) : r.state; },
    kSequencesPerSecond.value};
constexpr Column kEstimatedDays{"Est. Walltime (days)", "estimated_days",
                                [](const ReportRow& r) { return format_number(r.estimated_days); },
                                [](const ReportRow& r) { return raw(r.estimated_days); }};
constexpr Column kMfu{"MFU", "mfu_fraction",
                      [](const ReportRow& r) { return r.mfu_fraction ? format_percent(*r.mfu_fraction) : kNothing; },
                      [](const ReportRow& r) { return raw(r.mfu_fraction); }};

constexpr Column kAccuracy{
    "Accuracy", "eval_accuracy",
    [](const ReportRow& r) { return r.eval_accuracy ? format_percent(*r.eval_accuracy) : kNothing; },
    [](const ReportRow& r) { return raw(r.eval_accuracy); }};
// The same for a table without any speed.
constexpr Column kAccuracyOrState{kAccuracy.title, kAccuracy.key,
                                  [](const ReportRow& r) { return r.runs > 0 ? kAccuracy.text(r) : r.state; },
                                  kAccuracy.value};
constexpr Column kTotalSequences{
    "Total Sequences", "total_sequences",
    [](const ReportRow& r) { return r.total_sequences ? std::to_string(*r.total_sequences) : kNothing; },
    [](const ReportRow& r) { return raw(r.total_sequences); }};

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
    kSequencesPerSecond,
    kMfu,
    Column{"difference from baseline", "baseline_difference_fraction", difference_text, difference_fraction},
};

constexpr std::array kPax{
    kSize,          kProcessor, kPrecision, kDevices, kDp, kFsdp, kTp, kBatchPerDevice, kSequencesPerSecondOrState,
    kEstimatedDays, kAccuracy,
};

constexpr std::array kPaxMoe{
    Column{"Model", "model", [](const ReportRow& r) { return r.model; },
           [](const ReportRow& r) { return RawValue(r.model); }},
    Column{"Num. params", "parameters", [](const ReportRow& r) { return format_parameters(r.parameters); },
           [](const ReportRow& r) { return RawValue(r.parameters); }},
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

constexpr std::array kSeqax{
    Column{"Model Size", "model_size", [](const ReportRow& r) { return r.model; },
           [](const ReportRow& r) { return RawValue(r.model); }},
    Column{"MFU", "mfu_percent",
           [](const ReportRow& r) { return r.mfu_fraction ? format_percent_number(*r.mfu_fraction) : r.state; },
           [](const ReportRow& r) { return r.mfu_fraction ? RawValue(100 * *r.mfu_fraction) : RawValue(); }},
};

std::string no_text(const ReportRow&) {
  return {};
}

template <auto Member>
RawValue plain(const ReportRow& row) {
  return row.*Member;
}
template <auto Member>
RawValue optional_number(const ReportRow& row) {
  return raw(row.*Member);
}
template <auto Member>
RawValue of_difference(const ReportRow& row) {
  if (!row.difference) return {};
  using Type = std::remove_cvref_t<decltype(*row.difference.*Member)>;
  if constexpr (std::is_same_v<Type, std::string>) {
    return *row.difference.*Member;
  } else {
    return raw(*row.difference.*Member);
  }
}

constexpr std::array kDetails{
    Column{"Parameters", "parameters", no_text, plain<&ReportRow::parameters>},
    Column{"Trainable", "trainable_parameters", no_text, plain<&ReportRow::trainable_parameters>},
    Column{"State", "state", no_text, plain<&ReportRow::state>},
    Column{"Reason", "reason", no_text, plain<&ReportRow::reason>},
    Column{"Runs", "runs", no_text, plain<&ReportRow::runs>},
    Column{"Fastest run (s)", "step_time_min_s", no_text, optional_number<&ReportRow::step_time_min_s>},
    Column{"Slowest run (s)", "step_time_max_s", no_text, optional_number<&ReportRow::step_time_max_s>},
    Column{"HFU", "hfu_fraction", no_text, optional_number<&ReportRow::hfu_fraction>},
    Column{"Tokens/Sec", "tokens_per_s", no_text, optional_number<&ReportRow::tokens_per_s>},
    Column{"Real tokens/Sec", "real_tokens_per_s", no_text, optional_number<&ReportRow::real_tokens_per_s>},
    Column{"Estimated days", "estimated_days", no_text, optional_number<&ReportRow::estimated_days>},
    Column{"Peak memory", "peak_memory_bytes", no_text, optional_number<&ReportRow::peak_memory_bytes>},
    Column{"Probe spread", "probe_spread_fraction", no_text, optional_number<&ReportRow::probe_spread_fraction>},
    Column{"Balance loss", "balance_loss", no_text, optional_number<&ReportRow::balance_loss>},
    Column{"Expert load", "expert_load", no_text, optional_number<&ReportRow::expert_load>},
    Column{"Dropped", "dropped_fraction", no_text, optional_number<&ReportRow::dropped_fraction>},
    Column{"Accuracy", "eval_accuracy", no_text, optional_number<&ReportRow::eval_accuracy>},
    Column{"Perplexity", "eval_perplexity", no_text, optional_number<&ReportRow::eval_perplexity>},
    Column{"Verdict", "verdict", no_text, of_difference<&BaselineDifference::verdict>},
    Column{"Verdict reason", "verdict_reason", no_text, of_difference<&BaselineDifference::reason>},
    Column{"Verdict detail", "verdict_detail", no_text, of_difference<&BaselineDifference::detail>},
    Column{"Ratio", "baseline_ratio", no_text, of_difference<&BaselineDifference::ratio>},
    Column{"Ratio from", "baseline_ratio_low", no_text, of_difference<&BaselineDifference::ratio_low>},
    Column{"Ratio to", "baseline_ratio_high", no_text, of_difference<&BaselineDifference::ratio_high>},
    Column{"Matrix", "matrix", no_text, plain<&ReportRow::matrix>},
    Column{"Cell", "cell", no_text, plain<&ReportRow::cell>},
    Column{"Run", "run_id", no_text, plain<&ReportRow::run_id>},
    Column{"Notes", "notes", no_text, plain<&ReportRow::notes>},
};

}  // namespace

std::span<const Column> columns(TableStyle style) {
  switch (style) {
    case TableStyle::table:
      break;
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

std::span<const Column> detail_columns() {
  return kDetails;
}

}  // namespace perfbench::reports
