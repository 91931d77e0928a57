#include "harness/published/published.h"

#include <fmt/format.h>

#include <cmath>

namespace perfbench::harness {
namespace {

using spec::FlopDefinition;
using spec::PublishedRow;

// Published figures carry three digits or more; a rounding of both factors of a product stays below this.
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

// Model FLOP/s of one device that the row states, and the definition they are counted by.
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
    out.push_back(
        fmt::format("step time x sequences/s gives a batch of {:.4g}, the row says {}", sequences, row.global_batch));
  }
}

void check_mesh(const PublishedRow& row, std::vector<std::string>& out) {
  if (row.devices == 0 || (row.dp == 0 && row.fsdp == 0)) return;
  std::int64_t product = 1;
  for (const auto axis : {row.dp, row.fsdp, row.tp, row.pp}) product *= std::max<std::int64_t>(axis, 1);
  if (product != row.devices) {
    out.push_back(fmt::format("dp x fsdp x tp x pp is {}, the row says {} devices", product, row.devices));
  }
}

// A smaller product is gradient accumulation; a larger one cannot be.
void check_batch_per_device(const PublishedRow& row, std::vector<std::string>& out) {
  if (row.batch_per_device <= 0 || row.devices == 0 || row.global_batch == 0) return;
  const double sequences = row.batch_per_device * real(row.devices);
  if (sequences > real(row.global_batch) * (1 + kRoundingFraction)) {
    out.push_back(fmt::format("{} sequences on each of {} devices are {:.6g}, the row's global batch is {}",
                              row.batch_per_device, row.devices, sequences, row.global_batch));
  }
}

void check_stated_figures(const PublishedEntry& entry, std::vector<std::string>& out) {
  const PublishedRow& row = entry.row;
  const auto peak = peak_flops_per_s(entry);
  // An fp8 row's MFU may be stated against the fp8 peak.
  if (!peak || row.precision == spec::Precision::fp8) return;
  if (row.stated_flops_per_s_per_device <= 0 || row.stated_mfu_fraction <= 0) return;
  const double fraction = row.stated_flops_per_s_per_device / *peak;
  if (differs(fraction, row.stated_mfu_fraction)) {
    out.push_back(fmt::format("{:.4g} TFLOP/s is {:.1f} % of the peak, the row says {:.1f} %",
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

}  // namespace perfbench::harness
