#include "harness/predict/published_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/predict/numbers.h"
#include "harness/system/input_error.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/suggest.h"

namespace perfbench::predict {
namespace {

using harness::InputError;
using harness::PublishedEntry;

template <class T>
const T& named(const std::map<std::string, T>& known, const std::string& name, const char* kind,
               const std::string& row) {
  const auto found = known.find(name);
  if (found != known.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [key, value] : known) names.push_back(key);
  throw InputError(
      fmt::format("[predict] published:{}: unknown {} '{}'{}", row, kind, name, spec::suggestion(name, names)));
}

// The row with the facts of its script, from which its speed can be computed.
PublishedEntry completed(PublishedEntry entry, const harness::ModelCatalog& models) {
  const auto& setup = entry.row.setup;
  if (!setup.model.empty()) {
    try {
      entry.model = models.model(setup.model).model;
    } catch (const spec::SpecError& e) {
      throw InputError(fmt::format("[predict] published:{}: {}", entry.name, e.what()));
    }
  }
  if (setup.seq_len > 0) entry.row.seq_len = setup.seq_len;
  if (!setup.stated_definition.empty()) entry.row.stated_definition = setup.stated_definition;
  return entry;
}

bool has_speed(const spec::PublishedRow& row) {
  return row.task != spec::Task::eval &&
         (row.step_time_s > 0 || row.sequences_per_s > 0 || row.tokens_per_s_per_device > 0 ||
          row.stated_flops_per_s_per_device > 0 || row.stated_mfu_fraction > 0);
}

std::optional<std::string> missing_fact(const PublishedEntry& entry) {
  const auto& row = entry.row;
  if (!row.setup.unpredictable.empty()) return row.setup.unpredictable;
  if (row.devices == 0) return "the source gives no number of devices";
  if (!entry.model) return "the source gives no shape of the model";
  if (row.seq_len == 0) return "the source gives no sequence length";
  if (row.global_batch == 0 && row.batch_per_device == 0 && row.setup.microbatch == 0) {
    return "the source gives no batch";
  }
  if (row.setup.stack.empty()) return "the row has no setup: its software stack is not described";
  if (entry.model->moe.n_experts > 0) return "models with experts are not predicted";
  return std::nullopt;
}

void check_attention(const TrainingSetup& setup, const std::string& row) {
  const auto& kernel = setup.attention_kernel;
  if (setup.device->materialised.contains(kernel)) return;
  named(setup.device->architecture.attention, kernel, "attention kernel", row);
}

// Sequences of a microbatch, and the microbatches of a step.
void set_batch(TrainingSetup& setup, const spec::PublishedRow& row) {
  const double ranks_of_replica = real(setup.tp * setup.pp * setup.cp);
  const double replicas = real(setup.data_parallel());
  const double whole = real(row.global_batch) / replicas;
  setup.microbatch = row.setup.microbatch > 0   ? row.setup.microbatch
                     : row.batch_per_device > 0 ? row.batch_per_device * ranks_of_replica
                                                : whole;
  constexpr double kRounding = 1e-9;
  if (row.global_batch > 0) {
    setup.microbatches = std::max<std::int64_t>(1, std::llround(std::ceil(whole / setup.microbatch - kRounding)));
  }
}

TrainingSetup resolved_setup(const PublishedEntry& entry, const PredictorData& data) {
  const auto& row = entry.row;
  const auto& facts = row.setup;
  const auto either = [](std::int64_t a, std::int64_t b) { return a > 0 ? a : std::max<std::int64_t>(1, b); };
  TrainingSetup setup;
  setup.device = &named(data.devices, facts.device.empty() ? row.hardware : facts.device, "device", entry.name);
  setup.stack = &named(data.stacks, facts.stack, "stack", entry.name);
  setup.model = *entry.model;
  if (facts.padded_vocab > 0) setup.model.vocab_size = facts.padded_vocab;
  setup.devices = row.devices;
  setup.seq_len = row.seq_len;
  setup.tp = either(facts.tp, row.tp);
  setup.pp = either(facts.pp, row.pp);
  setup.cp = facts.cp;
  setup.interleaving = facts.interleaving;
  setup.replicas = facts.replicas;
  setup.sharding = facts.sharding;
  setup.sequence_parallel = facts.sequence_parallel;
  setup.tp_overlap_fraction = facts.tp_overlap_fraction;
  setup.attention_kernel = facts.attention_kernel;
  setup.recompute = facts.recompute;
  setup.recomputes_last_product = facts.recomputes_last_product;
  setup.fp8 = row.precision == spec::Precision::fp8;
  setup.scan = facts.scan || row.scan == "on";
  setup.lora = row.task == spec::Task::lora;
  setup.gradient_bytes = facts.gradient_bytes > 0 ? facts.gradient_bytes : setup.stack->gradient_bytes;
  setup.node_network_bytes_per_s = facts.node_network_bytes_per_s > 0 ? facts.node_network_bytes_per_s
                                                                      : setup.device->figures.node_network_bytes_per_s;
  check_attention(setup, entry.name);
  if (setup.fp8 && setup.device->architecture.sustained_fraction_fp8 <= 0) {
    throw InputError(fmt::format("[predict] published:{}: the device '{}' has no sustained_fraction_fp8", entry.name,
                                 setup.device->figures.name));
  }
  set_batch(setup, row);
  return setup;
}

// As published; without a global batch, from the rate and the tokens of a device's step.
std::optional<double> published_step_s(const PublishedEntry& entry, const TrainingSetup& setup) {
  if (const auto step = harness::step_time_s(entry)) return step;
  const auto rate = harness::tokens_per_s_per_device(entry);
  if (!rate) return std::nullopt;
  const double sequences = setup.microbatch * real(setup.microbatches);
  return sequences * real(setup.seq_len) / real(setup.tp * setup.pp * setup.cp) / *rate;
}

}  // namespace

PublishedCases published_cases(const std::vector<PublishedEntry>& entries, const PredictorData& data,
                               const harness::ModelCatalog& models) {
  PublishedCases out;
  for (const auto& printed : entries) {
    if (!has_speed(printed.row)) continue;
    const auto entry = completed(printed, models);
    const auto& facts = entry.row.setup;
    const auto system = entry.name.substr(0, entry.name.find('/'));
    const auto family = facts.family.empty() ? system : facts.family;
    if (const auto reason = missing_fact(entry)) {
      out.unpredicted.push_back({entry.name, family, *reason});
      continue;
    }
    PublishedCase found{.name = entry.name,
                        .source = entry.source,
                        .family = family,
                        .group = {},
                        .role = facts.role,
                        .setup = resolved_setup(entry, data),
                        .step_s = 0,
                        .unknown = facts.unknown};
    const auto release = facts.release.empty() ? "" : "-" + facts.release;
    found.group = family + "/" + found.setup.device->figures.name + release;
    const auto step = published_step_s(entry, found.setup);
    if (!step) {
      out.unpredicted.push_back({entry.name, family, "the definition of its stated FLOP/s is not known"});
      continue;
    }
    found.step_s = *step;
    out.cases.push_back(std::move(found));
  }
  return out;
}

}  // namespace perfbench::predict
