#include "harness/judge/compare_published.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/cell_mfu.h"
#include "harness/judge/cell_runs.h"
#include "harness/stats/statistics.h"
#include "harness/stats/verdict.h"
#include "harness/system/input_error.h"
#include "reports/render/format/number.h"
#include "workloads/spec/mesh_spec.h"
#include "workloads/spec/remat_policy.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/run_spec_json.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {
namespace {

std::string device_kind(spec::Device device) {
  return device == spec::Device::cpu ? "CPU" : "GPU";
}

std::string device_of(const CellRuns& cell, const HardwareByName& hardware) {
  const auto& run = cell.run();
  if (auto other = other_gpu(run, cell.environment(), hardware); !other.empty()) return other;
  const auto named = hardware.find(run.hardware);
  if (named != hardware.end()) return named->second.title;
  const auto model = cell.environment().find("cpu_model");
  const bool known = run.device == spec::Device::cpu && model != cell.environment().end() && !model->second.empty();
  return device_kind(run.device) + (known ? " " + model->second : " of this machine");
}

bool same_architecture(spec::ModelSpec a, spec::ModelSpec b) {
  a.name = b.name;
  return spec::canonical_json(a) == spec::canonical_json(b);
}

std::string or_else(const std::string& text, const std::string& other) {
  return text.empty() ? other : text;
}

class Obstacles {
 public:
  void work(const std::string& text) { out_.push_back({VerdictReason::other_work, text}); }
  void machine(const std::string& text) { out_.push_back({VerdictReason::other_machine, text}); }
  // If `published` is 0, the row does not state it.
  void number(const char* what, std::int64_t mine, std::int64_t published) {
    if (published != 0 && mine != published) work(fmt::format("{} {} vs {}", what, mine, published));
  }
  std::vector<Obstacle> take() { return std::move(out_); }

 private:
  std::vector<Obstacle> out_;
};

void compare_devices(const CellRuns& cell, const PublishedEntry& entry, const HardwareByName& hardware,
                     Obstacles& out) {
  const bool named = !entry.row.hardware.empty() && cell.run().hardware == entry.row.hardware;
  if (named && other_gpu(cell.run(), cell.environment(), hardware).empty()) return;
  const auto theirs = or_else(entry.row.device_name, or_else(entry.row.hardware, "an unknown device"));
  out.machine("device " + device_of(cell, hardware) + " vs " + theirs);
}

void compare_models(const CellRuns& cell, const PublishedEntry& entry, Obstacles& out) {
  const auto& mine = cell.run().model;
  if (entry.model && same_architecture(mine, *entry.model)) return;
  out.work("model " + mine.name + " vs " + or_else(entry.row.model, or_else(entry.row.model_name, "unknown")));
}

std::optional<double> published_value(const PublishedEntry& entry, const std::string& metric) {
  if (metric == "step_time_s") return step_time_s(entry);
  if (metric == "sequences_per_s") return sequences_per_s(entry);
  if (metric == "tokens_per_s_per_device") return tokens_per_s_per_device(entry);
  throw InputError("[compare] published rows do not have the metric '" + metric + "'" +
                   spec::suggestion(metric, {"step_time_s", "sequences_per_s", "tokens_per_s_per_device"}));
}

std::string mfu_text(const std::optional<double>& fraction) {
  return fraction ? reports::format_percent(*fraction) : "unknown";
}

bool is_policy(const std::string& remat) {
  const auto names = spec::remat_policy_names();
  return remat != spec::kCustomRemat && std::find(names.begin(), names.end(), remat) != names.end();
}

// Compares the values that are kept and not the names, because a list may equal a policy.
bool same_remat(const spec::RunSpec& run, const std::string& remat) {
  if (remat.empty()) return true;  // the row does not state it
  if (!is_policy(remat)) return false;
  auto theirs = run;
  theirs.remat = remat;
  theirs.remat_custom.clear();
  return spec::resolve_remat(run) == spec::resolve_remat(theirs);
}

// An axis that is not stated is 1 if another one is stated.
std::string axis_text(const char* axis, std::int64_t size) {
  return fmt::format("{} {}", axis, std::max<std::int64_t>(size, 1));
}
std::string data_shards_text(std::int64_t dp, std::int64_t fsdp) {
  return axis_text("dp", dp) + " " + axis_text("fsdp", fsdp);
}
std::string model_shards_text(std::int64_t tp, std::int64_t pp) {
  return axis_text("tp", tp) + " " + axis_text("pp", pp);
}

class Differences {
 public:
  // If `theirs` is empty, the row does not state it.
  void compare(const std::string& what, const std::string& mine, const std::string& theirs) {
    if (theirs.empty()) {
      unsaid(what);
    } else if (mine != theirs) {
      out_.push_back(what + " " + mine + " vs " + theirs);
    }
  }
  void unsaid(const std::string& what) { silent_.push_back(what); }
  std::vector<std::string> take() {
    if (!silent_.empty()) {
      out_.push_back(fmt::format("the row does not state its {}; {} may differ", fmt::join(silent_, ", "),
                                 silent_.size() == 1 ? "it" : "they"));
    }
    return std::move(out_);
  }

 private:
  std::vector<std::string> out_;
  std::vector<std::string> silent_;
};

std::string dropout_text(const spec::DropoutSpec& dropout) {
  std::string out;
  spec::DropoutSpec::fields(dropout, [&](const spec::Field& place, double rate) {
    if (rate > 0) out += fmt::format("{}{} {}", out.empty() ? "" : " ", place.name, rate);
  });
  return or_else(out, "none");
}

void compare_meshes(const spec::MeshSpec& mesh, const spec::PublishedRow& row, Differences& out) {
  const auto mine = model_shards_text(mesh.tp(), mesh.pp());
  const auto theirs = model_shards_text(row.tp, row.pp);
  if (row.dp != 0 || row.fsdp != 0) {
    out.compare("mesh", data_shards_text(mesh.dp(), mesh.fsdp()) + " " + mine,
                data_shards_text(row.dp, row.fsdp) + " " + theirs);
  } else if (row.tp != 0 || row.pp != 0) {
    // A table of model parallelism often does not say how the devices share the batch.
    out.compare("mesh", mine, theirs);
    out.unsaid("dp");
    out.unsaid("fsdp");
  } else {
    out.unsaid("mesh");
  }
}

}  // namespace

std::vector<std::string> differences(const spec::RunSpec& run, const spec::PublishedRow& row) {
  Differences out;
  out.compare("attention", std::string(spec::enum_name(run.attention)), row.attention);
  if (same_remat(run, row.remat)) {
    out.compare("remat", row.remat, row.remat);
  } else {
    out.compare("remat", run.remat, row.remat + (is_policy(row.remat) ? "" : " (a name of its system)"));
  }
  out.compare("scan", run.scan ? "on" : "off", row.scan);
  if (run.dropout.used() || row.dropout.used()) {  // a row without dropout may just not state it
    out.compare("dropout", dropout_text(run.dropout), row.dropout.used() ? dropout_text(row.dropout) : "");
  }
  compare_meshes(run.mesh, row, out);
  return out.take();
}

std::vector<Obstacle> obstacles(const CellRuns& cell, const PublishedEntry& entry, const HardwareByName& hardware) {
  const auto& run = cell.run();
  const auto& row = entry.row;
  Obstacles out;
  compare_devices(cell, entry, hardware, out);
  if (run.precision != row.precision) {
    out.work("precision " + std::string(spec::enum_name(run.precision)) + " vs " +
             or_else(row.precision_name, std::string(spec::enum_name(row.precision))));
  }
  compare_models(cell, entry, out);
  out.number("seq_len", run.seq_len, row.seq_len);
  out.number("devices", run.mesh.devices(), row.devices);
  out.number("global_batch", run.global_batch, row.global_batch);
  if (run.task != row.task) {
    out.work("task " + std::string(spec::enum_name(run.task)) + " vs " + std::string(spec::enum_name(row.task)));
  }
  if (run.lora.used() && row.lora.used()) {
    out.number("lora.rank", run.lora.rank, row.lora.rank);
    if (run.lora.targets != row.lora.targets) {
      out.work("lora.targets " + std::string(spec::enum_name(run.lora.targets)) + " vs " +
               std::string(spec::enum_name(row.lora.targets)));
    }
  }
  for (const auto& contradiction : contradictions(entry)) {
    out.work("the published row contradicts itself: " + contradiction);
  }
  return out.take();
}

std::vector<CellComparison> compare_with_published(const std::vector<CellRuns>& current,
                                                   const PublishedComparison& comparison) {
  const auto& entry = comparison.entry;
  const auto theirs = published_value(entry, comparison.metric);
  std::vector<CellComparison> out;
  for (const auto& cell : current) {
    CellComparison result;
    result.run_id = cell.run_id;
    result.label = cell.label;
    result.subject = cell.subject;
    result.machine = cell.machine();
    result.metric = comparison.metric;
    const auto mine = sample_of(cell, comparison.metric);
    if (!shown_values(mine).empty()) result.current = median(shown_values(mine));
    result.baseline = theirs;
    auto found = obstacles(cell, entry, comparison.hardware);
    if (!theirs) found.push_back({VerdictReason::no_baseline, "the row does not state its " + comparison.metric});
    if (!found.empty()) {
      result.decision.verdict = Verdict::not_comparable;
      result.decision.reason = found.front().reason;
      result.decision.detail = not_comparable_text(found);
    } else {
      const auto rule = metric_rule(comparison.metric);
      result.margin_fraction = rule.margin_fraction;
      result.decision = decide_against_constant(mine, *theirs, decision_rule(rule));
      if (auto lost = diverged_now(cell)) result.decision = *std::move(lost);
    }
    result.notes = differences(cell.run(), entry.row);
    if (const auto note = constant_note(cell, comparison.metric); note && found.empty()) result.notes.push_back(*note);
    result.notes.push_back(fmt::format("MFU ({}, recomputed): {} here, {} published",
                                       spec::enum_name(comparison.definition),
                                       mfu_text(mfu_fraction(cell, comparison.hardware, comparison.definition)),
                                       mfu_text(mfu_fraction(entry, comparison.definition))));
    out.push_back(std::move(result));
  }
  return out;
}

}  // namespace perfbench::harness
