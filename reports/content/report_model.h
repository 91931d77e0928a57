// The content of a report as plain structs: build_report.h fills them, report_document.h makes a document of them.
// Numbers are raw, in the units of their names; reports/render/format chooses digits and units.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workloads/spec/flops.h"

namespace perfbench::reports {

struct BaselineDifference {
  std::string verdict;              // REGRESSED, IMPROVED, SAME, INCONCLUSIVE, NOT_COMPARABLE
  std::string reason;               // reason code
  std::string detail;               // a sentence
  std::optional<double> ratio;      // this row / baseline
  std::optional<double> ratio_low;  // 95 % interval
  std::optional<double> ratio_high;
};

// One run by one subject, with all its attempts of the selection.
struct ReportRow {
  bool is_published = false;  // a row of another system's table: 0 and empty stand for values that it does not state
  std::string run_id;
  std::string sweep_id;     // of the newest attempt; likewise the next two
  std::string started_utc;  // its beginning
  std::string commit;       // commit of its engine; empty: unknown
  // The subject (harness/records/subject.h); empty for a published row.
  std::string subject;  // its name, distinct among the rows
  std::string engine_sha256;
  std::vector<std::string> inject;
  std::string side;
  bool is_program =
      false;  // a program other than perfbench-engine: empty and 0 stand for fields that its user did not declare
  std::string matrix;
  std::string cell;
  std::string model;
  std::int64_t parameters = 0;            // of the model, without adapters
  std::int64_t trainable_parameters = 0;  // all of the model, only its adapters, or none
  std::string processor;                  // "Example CPU 3000, 2 cores", "NVIDIA H100 SXM5 80GB"
  std::string precision;
  std::int64_t seq_len = 0;  // tokens
  std::int64_t devices = 0;
  double batch_per_device = 0;  // sequences of a step
  std::int64_t dp = 0;
  std::int64_t fsdp = 0;
  std::int64_t tp = 0;
  std::int64_t global_batch = 0;  // sequences of a step
  std::string attention;
  std::string remat;
  std::optional<bool> scan;

  std::string state;      // "ok" if an attempt finished, otherwise how the last one ended
  std::string reason;     // for that state; for ok, a note for the reader
  std::int64_t runs = 0;  // finished runs
  bool is_noisy = false;  // the noise probe moved in each of them, so that the values below are not reliable
  // Medians over the finished runs with a steady noise probe or, if no run has one, over all finished runs.
  std::optional<double> step_time_s;       // of a run: its median step
  std::optional<double> step_time_mean_s;  // its mean step, from which rates, MFU and days are computed
  std::int64_t step_time_runs = 0;         // number of runs behind the median
  std::optional<double> step_time_min_s;
  std::optional<double> step_time_max_s;
  std::optional<double> wall_time_s;  // for a program, from its start to its end
  std::optional<double> sequences_per_s;
  std::optional<double> tokens_per_s;
  std::optional<double> real_tokens_per_s;  // without padding, if a row may contain any
  // For the whole training, if the run says how long it is.
  std::optional<double> estimated_days;
  std::optional<std::int64_t> total_sequences;
  std::optional<double> energy_per_token_j;
  std::optional<double> cost_per_million_tokens;  // in the currency of the price that the user gives
  std::optional<double> mfu_fraction;
  std::optional<double> hfu_fraction;
  std::optional<double> peak_memory_bytes;
  std::optional<double> resident_bytes;
  std::optional<double> probe_spread_fraction;  // the largest of the finished runs
  // For models with experts.
  std::optional<double> balance_loss;
  std::optional<double> expert_load;
  std::optional<double> dropped_fraction;
  std::optional<double> eval_accuracy;
  std::optional<double> eval_perplexity;
  // Metrics that the program's user declares; their names end in their units.
  struct Declared {
    double value = 0;
    bool higher_is_better = false;
  };
  std::map<std::string, Declared> declared;
  std::optional<BaselineDifference> difference;
  // Fields of the RunSpec ("optimizer.beta2") that differ between rows, as text.
  std::map<std::string, std::string> varied;
  std::vector<std::string> notes;  // facts that the reader of the row must know: noise, failures, emulation, obstacles
};

// tokens_per_s of one device; nullopt without the rate or the number of devices.
inline std::optional<double> tokens_per_s_per_device(const ReportRow& row) {
  if (!row.tokens_per_s || row.devices < 1) return std::nullopt;
  return *row.tokens_per_s / static_cast<double>(row.devices);
}

// The peak of a device's tensors or, of a program, the resident set.
inline std::optional<double> memory_bytes(const ReportRow& row) {
  return row.peak_memory_bytes ? row.peak_memory_bytes : row.resident_bytes;
}

struct Report {
  std::string title;
  spec::FlopDefinition definition = spec::FlopDefinition::causal;
  std::string baseline;  // its name; empty: not compared
  std::vector<ReportRow> rows;
  std::string left_out;  // attempts that are in no row and how to see them, and cells of the baseline; empty: none
};

}  // namespace perfbench::reports
