#include "reports/content/build_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "harness/evidence/run_metrics.h"
#include "harness/judge/cell_mfu.h"
#include "harness/stats/statistics.h"
#include "harness/stats/steady.h"
#include "harness/stats/trend.h"
#include "reports/render/format/number.h"
#include "workloads/spec/parameter_table.h"
#include "workloads/spec/run_json.h"
#include "workloads/spec/run_program.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::reports {
namespace {

using harness::AttemptState;
using harness::CellRuns;
using harness::StoredAttempt;
using Attempts = std::vector<const StoredAttempt*>;

std::optional<double> metric_of(const StoredAttempt& attempt, const std::string& metric) {
  const auto found = attempt.metrics.find(metric);
  if (found == attempt.metrics.end()) return std::nullopt;
  return found->second;
}

std::vector<double> values_of(const Attempts& attempts, const std::string& metric) {
  std::vector<double> out;
  for (const auto* attempt : attempts) {
    if (const auto value = metric_of(*attempt, metric)) out.push_back(*value);
  }
  return out;
}

std::optional<double> median_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return harness::median(values);
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (auto& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

std::string processor(const CellRuns& cell, const harness::HardwareByName& hardware) {
  if (auto other = harness::other_gpu(cell.run(), cell.environment(), hardware); !other.empty()) return other;
  const auto name = harness::hardware_name(cell.run(), cell.environment());
  const auto known = hardware.find(name);
  if (known != hardware.end()) return known->second.title;
  if (name != "host") return name;
  if (cell.run().device == spec::Device::cuda) return "this GPU";  // no run recorded its name
  const auto& facts = cell.environment();
  const auto model = facts.find("cpu_model");
  if (model == facts.end() || model->second.empty()) return "this CPU";
  const auto cores = facts.find("cores_allowed");
  return cores == facts.end() ? model->second : model->second + ", " + cores->second + " cores";
}

std::int64_t trainable_parameters(const spec::RunSpec& run) {
  if (!run.trains()) return 0;
  return run.lora.used() ? spec::count_adapters(run.model, run.lora) : spec::count_parameters(run.model).total;
}

void fill_configuration(ReportRow& row, const CellRuns& cell, const harness::HardwareByName& hardware) {
  const auto& run = cell.run();
  row.run_id = cell.run_id;
  row.matrix = cell.matrix;
  row.cell = cell.label;
  row.processor = processor(cell, hardware);
  // A run of a program has only the fields that its user declared.
  row.is_program = run.program != nullptr;
  const auto says = [&run](std::string_view field) { return spec::says(run, field); };
  if (says("model")) {
    row.model = run.model.name;
    row.parameters = spec::count_parameters(run.model).total;
    row.trainable_parameters = trainable_parameters(run);
  }
  if (says("precision")) row.precision = upper(spec::enum_name(run.precision));
  if (says("seq_len")) row.seq_len = run.seq_len;
  if (says("global_batch")) row.global_batch = run.global_batch;
  if (says("mesh")) {
    row.devices = run.mesh.devices();
    row.batch_per_device = static_cast<double>(row.global_batch) / static_cast<double>(row.devices);
    row.dp = run.mesh.dp();
    row.fsdp = run.mesh.fsdp();
    row.tp = run.mesh.tp();
  }
  if (says("attention")) row.attention = spec::enum_name(run.attention);
  if (says("remat")) row.remat = run.remat;
  if (says("scan")) row.scan = run.scan;
  if (run.training_steps > 0) row.total_sequences = run.training_steps * run.global_batch;
}

void fill_subjects(std::vector<ReportRow>& rows, const std::vector<CellRuns>& cells) {
  const auto subjects = harness::subjects_of(cells);
  const auto names = harness::distinct_names(subjects);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto found = std::find_if(subjects.begin(), subjects.end(), [&](const harness::Subject& subject) {
      return harness::same_subject(subject, cells[i].subject);
    });
    rows[i].subject = names[static_cast<std::size_t>(found - subjects.begin())];
  }
}

void fill_origin(ReportRow& row, const CellRuns& cell) {
  const auto& newest = cell.attempts.back();
  row.sweep_id = newest.sweep_id;
  row.started_utc = newest.started_utc;
  const auto commit = cell.environment().find("git_commit");
  if (commit != cell.environment().end()) row.commit = commit->second;
  row.engine_sha256 = cell.subject.engine_sha256;
  row.inject = cell.subject.inject;
  row.side = cell.subject.side;
}

// As its authors print it, with values that are computed from it (harness/matrix/published.h).
ReportRow published_row(const harness::PublishedEntry& entry, spec::FlopDefinition definition) {
  const auto& from = entry.row;
  ReportRow row{.is_published = true, .cell = "published:" + entry.name, .state = "published"};
  row.model = from.model.empty() ? from.model_name : from.model;
  if (entry.model) row.parameters = spec::count_parameters(*entry.model).total;
  row.processor = entry.hardware ? entry.hardware->title : from.device_name;
  row.precision = from.precision_name.empty() ? upper(spec::enum_name(from.precision)) : from.precision_name;
  row.seq_len = from.seq_len;
  row.devices = from.devices;
  row.batch_per_device = from.batch_per_device;
  row.dp = from.dp;
  row.fsdp = from.fsdp;
  row.tp = from.tp;
  row.global_batch = from.global_batch;
  row.attention = from.attention;
  row.remat = from.remat;
  if (!from.scan.empty()) row.scan = from.scan == "on";
  row.step_time_s = row.step_time_mean_s = harness::step_time_s(entry);
  row.sequences_per_s = harness::sequences_per_s(entry);
  if (from.estimated_days > 0) row.estimated_days = from.estimated_days;
  row.mfu_fraction = harness::mfu_fraction(entry, definition);
  row.notes.push_back("published:" + entry.name + ", " + entry.system_title + ": not measured here");
  return row;
}

void fill_state(ReportRow& row, const CellRuns& cell, const Attempts& finished) {
  row.runs = static_cast<std::int64_t>(finished.size());
  const auto& last = finished.empty() ? cell.attempts.back() : *finished.back();
  row.state = spec::enum_name(last.state);
  row.reason = last.reason;
  if (finished.empty()) {
    row.notes.push_back(row.state + (row.reason.empty() ? "" : ": " + row.reason));
    return;
  }
  for (const auto& attempt : cell.attempts) {
    if (attempt.state == AttemptState::ok) {
      const bool said = std::find(row.notes.begin(), row.notes.end(), attempt.reason) != row.notes.end();
      if (!attempt.reason.empty() && !said) row.notes.push_back(attempt.reason);
      continue;
    }
    row.notes.push_back(fmt::format("attempt {} {}{}", attempt.attempt, spec::enum_name(attempt.state),
                                    attempt.reason.empty() ? "" : ": " + attempt.reason));
  }
}

// The amount that a step processes, divided by the mean step time that the row shows. The median of the attempts' rates
// would belong to another step time.
std::optional<double> rate_of_step_time(const Attempts& used, const char* metric, std::optional<double> mean_s) {
  std::vector<double> amounts;
  for (const auto* attempt : used) {
    const auto rate = metric_of(*attempt, metric);
    const auto time_s = harness::mean_step_time_s(*attempt);
    if (rate && time_s) amounts.push_back(*rate * *time_s);
  }
  const auto amount = median_of(amounts);
  if (!amount || !mean_s) return std::nullopt;
  return *amount / *mean_s;
}

// Likewise, the power for each token, times the mean step time that the row shows.
std::optional<double> energy_at_step_time(const Attempts& used, std::optional<double> mean_s) {
  std::vector<double> powers;
  for (const auto* attempt : used) {
    const auto energy = metric_of(*attempt, "energy_per_token_j");
    const auto time_s = harness::mean_step_time_s(*attempt);
    if (energy && time_s && *time_s > 0) powers.push_back(*energy / *time_s);
  }
  const auto power = median_of(powers);
  if (!power || !mean_s) return std::nullopt;
  return *power * *mean_s;
}

void fill_measurement(ReportRow& row, const CellRuns& cell, const harness::StoredTable& table) {
  const auto used = cell.trusted();
  const auto step_s = values_of(used, "step_time_s");
  row.step_time_s = median_of(step_s);
  row.step_time_runs = static_cast<std::int64_t>(step_s.size());
  if (!step_s.empty()) {
    const auto [low, high] = std::minmax_element(step_s.begin(), step_s.end());
    row.step_time_min_s = *low;
    row.step_time_max_s = *high;
  }
  std::vector<double> means_s;
  for (const auto* attempt : used) {
    if (const auto mean_s = harness::mean_step_time_s(*attempt)) means_s.push_back(*mean_s);
  }
  row.step_time_mean_s = median_of(means_s);
  row.wall_time_s = median_of(values_of(used, "wall_time_s"));
  row.sequences_per_s = rate_of_step_time(used, "sequences_per_s", row.step_time_mean_s);
  row.tokens_per_s = rate_of_step_time(used, "tokens_per_s", row.step_time_mean_s);
  row.real_tokens_per_s = rate_of_step_time(used, "real_tokens_per_s", row.step_time_mean_s);
  row.energy_per_token_j = energy_at_step_time(used, row.step_time_mean_s);
  if (row.step_time_mean_s) row.estimated_days = harness::estimated_days(cell.run(), *row.step_time_mean_s);
  row.peak_memory_bytes = median_of(values_of(used, "peak_memory_bytes"));
  row.resident_bytes = median_of(values_of(used, "resident_bytes"));
  row.balance_loss = median_of(values_of(used, "balance_loss"));
  row.expert_load = median_of(values_of(used, "expert_load"));
  row.dropped_fraction = median_of(values_of(used, "dropped_fraction"));
  row.eval_accuracy = median_of(values_of(used, "eval_accuracy"));
  row.eval_perplexity = median_of(values_of(used, "eval_perplexity"));
  if (const auto& program = cell.run().program) {
    for (const auto& [name, metric] : program->spec.metrics) {
      const auto value = median_of(values_of(used, name));
      if (value) row.declared[name] = {*value, metric.better == spec::Better::higher};
    }
  }
  row.mfu_fraction = harness::mfu_fraction(cell, table.hardware, table.definition);
  row.hfu_fraction = harness::hfu_fraction(cell, table.hardware);
}

void note_trouble(ReportRow& row, const Attempts& finished) {
  const auto spreads = values_of(finished, "probe_spread_fraction");
  if (!spreads.empty()) row.probe_spread_fraction = *std::max_element(spreads.begin(), spreads.end());
  const auto moved =
      std::count_if(finished.begin(), finished.end(), [](const auto* a) { return harness::probe_moved(*a); });
  const auto all = static_cast<std::ptrdiff_t>(finished.size());
  row.is_noisy = moved == all && moved > 0;
  if (row.is_noisy) {
    row.notes.push_back("noisy: the machine's speed moved during " + std::string(all == 1 ? "the run" : "every run") +
                        " (noise probe spread above " +
                        format_percent(harness::most_probe_spread(finished.front()->run->device)) +
                        "); the step time, its rates and its MFU are not reliable");
  } else if (moved > 0) {
    row.notes.push_back(
        fmt::format("noisy: the machine's speed moved during {} of {} runs, which are left out", moved, all));
  }
  const auto any = [&](const auto& holds) { return std::any_of(finished.begin(), finished.end(), holds); };
  if (any([](const auto* a) { return metric_of(*a, "still_changing").value_or(0) > 0; })) {
    row.notes.emplace_back("the step time never became steady; use more steps");
  }
  const auto trend = harness::trend_text(values_of(finished, "step_time_trend_fraction"));
  if (!trend.empty()) row.notes.push_back(trend + "; a longer run has another step time");
  if (any([](const auto* a) { return a->emulated; })) {
    row.notes.push_back(row.precision + " is emulated by conversion");
  }
  if (any([](const auto* a) { return a->lost_step_lines > 0; })) {
    row.notes.emplace_back("the last step record of a rank was cut off");
  }
  if (row.step_time_s && !row.mfu_fraction && !row.is_program) {
    row.notes.push_back("no MFU: the peak of " + row.processor + " is unknown");
  }
  if (row.mfu_fraction && *row.mfu_fraction > 1) {
    row.notes.emplace_back(
        "MFU above 100 %: the measured peak is too low, or the definition counts work that was not done");
  }
}

// The engine measures too low a peak of a CPU when other programs run at the same time.
void note_uncertain_peak(ReportRow& row, const Attempts& finished, const harness::HardwareByName& hardware) {
  constexpr double kNear = 0.9;
  for (const auto* attempt : finished) {
    const auto* peak = harness::measured_peak(*attempt, hardware);
    if (!row.mfu_fraction || peak == nullptr || peak->median_flops_per_s >= kNear * peak->flops_per_s) continue;
    row.notes.push_back(fmt::format(
        "MFU is relative to {} a rank, the highest of {} measurements on this class of machine, whose median is {}",
        human_count(peak->flops_per_s, "FLOP/s"), peak->measurements, human_count(peak->median_flops_per_s, "FLOP/s")));
    return;
  }
}

// The matrix names another kind of GPU than the one that ran. The facts of the latter count.
void note_other_gpu(ReportRow& row, const CellRuns& cell, const harness::HardwareByName& hardware) {
  const auto other = harness::other_gpu(cell.run(), cell.environment(), hardware);
  if (other.empty()) return;
  const auto& named = hardware.at(cell.run().hardware).title;
  row.notes.push_back("ran on " + other + "; the matrix names " + named + ", whose peak is used for MFU");
}

// The table shows the size of the model without adapters, as the tables of the reference systems do.
void note_adapters(ReportRow& row, const CellRuns& cell) {
  const auto& lora = cell.run().lora;
  if (!lora.used()) return;
  row.notes.push_back(fmt::format("{} parameters train: adapters of rank {} ({}) in addition to the model's",
                                  format_parameters(row.trainable_parameters), lora.rank,
                                  spec::enum_name(lora.targets)));
}

void note_padding(ReportRow& row, const CellRuns& cell) {
  if (!row.real_tokens_per_s || !row.tokens_per_s) return;
  row.notes.push_back((cell.run().packs_documents() ? "documents packed: " : "") +
                      format_number(row.real_tokens_per_s) + " real tokens/s, " +
                      format_percent(1 - *row.real_tokens_per_s / *row.tokens_per_s) + " of the positions are padding");
}

void note_experts(ReportRow& row) {
  if (!row.dropped_fraction) return;
  row.notes.push_back("experts dropped " + format_percent(*row.dropped_fraction) + " of the choices; the busiest had " +
                      format_number(row.expert_load) + " times its share" +
                      (row.balance_loss ? "; balance loss " + format_number(*row.balance_loss) : ""));
}

void note_evaluation(ReportRow& row) {
  if (!row.eval_accuracy) return;
  row.notes.push_back("evaluation: accuracy " + format_percent(*row.eval_accuracy) +
                      (row.eval_perplexity ? ", perplexity " + format_number(*row.eval_perplexity) : ""));
}

// Which kernel computes attention in bf16 on a GPU, and why it is not the default one. Each reason appears once.
void note_attention(ReportRow& row, const CellRuns& cell, const Attempts& finished) {
  if (!spec::computes_in_bf16(cell.run().precision)) return;
  for (const auto* attempt : finished) {
    for (const auto& kernel : attempt->attention_kernels) {
      if (kernel.computed_by == spec::ComputedBy::cudnn) continue;
      const auto note = "attention not by cuDNN: " + kernel.reason;
      if (std::find(row.notes.begin(), row.notes.end(), note) == row.notes.end()) row.notes.push_back(note);
    }
  }
}

void fill_difference(ReportRow& row, const CellRuns& cell, const harness::StoredTable& table) {
  const auto found =
      std::find_if(table.comparisons.begin(), table.comparisons.end(), [&, machine = cell.machine()](const auto& c) {
        return c.run_id == cell.run_id && c.machine == machine && harness::same_subject(c.subject, cell.subject);
      });
  if (found == table.comparisons.end()) return;
  const auto& decision = found->decision;
  BaselineDifference difference;
  difference.verdict = spec::enum_name(decision.verdict);
  difference.reason = spec::enum_name(decision.reason);
  difference.detail = decision.detail;
  difference.ratio = decision.ratio;
  if (decision.ratio_95) {
    difference.ratio_low = decision.ratio_95->low;
    difference.ratio_high = decision.ratio_95->high;
  }
  row.difference = difference;
  // If sessions matter, the reader must know how many support the verdict, or what would make a verdict possible.
  const bool of_sessions = decision.sessions.has_value();
  if (decision.verdict == harness::Verdict::not_comparable || of_sessions) row.notes.push_back(decision.detail);
  // Another system's row may work differently in ways that none of our columns shows.
  if (table.baseline.starts_with("published:")) {
    row.notes.insert(row.notes.end(), found->notes.begin(), found->notes.end());
  }
}

// Whether both runs mean something by the field: a program declares a few fields, perfbench-engine has all of them.
bool both_say(const spec::RunSpec& a, const spec::RunSpec& b, const std::string& field) {
  return spec::says(a, field) && spec::says(b, field);
}

// Fills in the fields in which any row differs from the first. All rows have the same fields.
void fill_varied(std::vector<ReportRow>& rows, const std::vector<CellRuns>& cells) {
  if (cells.empty()) return;
  std::map<std::string, std::string> of_first;
  const auto first = spec::run_to_json(cells.front().run(), spec::Written::whole);
  for (std::size_t i = 1; i < cells.size(); ++i) {
    if (cells[i].run().program && cells[i].label != cells.front().label) {
      of_first["cell"] = cells.front().label;
      rows[i].varied["cell"] = cells[i].label;
    }
    const auto run = spec::run_to_json(cells[i].run(), spec::Written::whole);
    for (const auto& field : spec::difference(first, run)) {
      if (field.field.starts_with("program.")) continue;  // the cell's label is shorter
      if (!both_say(cells.front().run(), cells[i].run(), field.field)) continue;
      of_first[field.field] = spec::without_quotes(field.left);
      rows[i].varied[field.field] = spec::without_quotes(field.right);
    }
  }
  for (auto& row : rows) row.varied.insert(of_first.begin(), of_first.end());
}

}  // namespace

Report build_report(const harness::StoredTable& table) {
  Report report{.title = table.title,
                .definition = table.definition,
                .baseline = table.baseline,
                .rows = {},
                .left_out = table.left_out};
  for (const auto& cell : table.cells) {
    ReportRow row;
    const auto finished = cell.finished();
    fill_configuration(row, cell, table.hardware);
    fill_origin(row, cell);
    fill_state(row, cell, finished);
    fill_measurement(row, cell, table);
    note_trouble(row, finished);
    note_uncertain_peak(row, finished, table.hardware);
    note_other_gpu(row, cell, table.hardware);
    note_adapters(row, cell);
    note_padding(row, cell);
    note_experts(row);
    note_evaluation(row);
    note_attention(row, cell, finished);
    fill_difference(row, cell, table);
    report.rows.push_back(std::move(row));
  }
  fill_varied(report.rows, table.cells);
  fill_subjects(report.rows, table.cells);
  if (table.published) report.rows.push_back(published_row(*table.published, table.definition));
  return report;
}

}  // namespace perfbench::reports
