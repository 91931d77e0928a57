#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/evidence/run_metrics.h"
#include "harness/judge/compare.h"
#include "harness/judge/compare_published.h"
#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/store/queries/query.h"
#include "reports/content/build_report.h"
#include "reports/content/report_document.h"
#include "reports/render/document/render.h"
#include "reports/render/format/number.h"
#include "tests/harness/example_run.h"
#include "tests/reports/golden_file.h"

namespace perfbench::reports {
namespace {

using harness::AttemptState;
using harness::ExampleRun;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

std::string to_markdown(const perfbench::reports::Report& report, TableStyle style) {
  return render_markdown(report_document({report}, style));
}
std::string to_csv(const perfbench::reports::Report& report, TableStyle style) {
  return render_csv(report_document({report}, style));
}
std::string to_json(const perfbench::reports::Report& report) {
  return render_json(report_document({report}, TableStyle::table));
}

// A sweep with one run of every kind that a report must distinguish.
class Report : public testing::Test {
 protected:
  harness::ScratchFolder scratch_;
  harness::Connection db_ = harness::open_database(scratch_ / "a.db");
  int written_ = 0;

  void add(ExampleRun example, const std::string& cell) {
    const auto probe_state = example.attempt.state;
    const auto reason = example.attempt.reason;
    example.attempt = harness::example_attempt(cell, ++written_);
    example.attempt.state = probe_state;
    example.attempt.reason = reason;
    harness::write_run_directory(scratch_ / "runs" / std::to_string(written_), example);
  }

  void add_every_kind() {
    add({.attempt = {}}, "plain");
    ExampleRun noisy{.attempt = {}};
    noisy.run.remat = "full";
    noisy.probe_s = {0.001, 0.001, 0.002, 0.001, 0.002, 0.001};
    add(noisy, "noisy");
    ExampleRun two{.attempt = {}};
    two.run.mesh.ici.fsdp = 2;
    two.run.attention = spec::AttentionKind::dot_product;
    two.run.scan = true;
    two.run.training_steps = 600000;
    add(two, "two ranks");
    ExampleRun gpu{.attempt = {}};
    gpu.run.device = spec::Device::cuda;
    gpu.run.hardware = "h100";
    gpu.run.precision = spec::Precision::bf16;
    add(gpu, "a|b");
    ExampleRun infeasible{.attempt = {}};
    infeasible.run.mesh.ici.tp = 2;
    infeasible.attempt.state = AttemptState::infeasible;
    infeasible.attempt.reason = "needs 80 GiB of 64 GiB";
    add(infeasible, "too large");
    ExampleRun crashed{.attempt = {}};
    crashed.run.seq_len = 64;
    crashed.attempt.state = AttemptState::crashed;
    crashed.attempt.reason = "rank 0 ended by signal 11";
    add(crashed, "crash");
    harness::ingest_tree(db_, scratch_ / "runs");
  }

  std::vector<harness::CellRuns> cells() {
    return harness::group_by_subject(load_attempts(db_, harness::parse_selection("latest")));
  }

  harness::StoredTable table() {
    spec::HardwareSpec h100;
    h100.title = "NVIDIA H100";
    h100.peak_flops_per_s.bf16 = 1e15;
    return {.title = "example", .cells = cells(), .hardware = {{"h100", h100}}};
  }

  perfbench::reports::Report build() { return build_report(table()); }

  // Without the run ids, which change with every new field of RunSpec.
  perfbench::reports::Report build_for_golden() {
    auto report = build();
    for (auto& row : report.rows) row.run_id = "of " + row.cell;
    return report;
  }
};

TEST_F(Report, AsMarkdownIsAsApproved) {
  add_every_kind();
  expect_golden("table.md", to_markdown(build_for_golden(), TableStyle::table));
  expect_golden("pax.md", to_markdown(build_for_golden(), TableStyle::pax));
  expect_golden("pax_moe.md", to_markdown(build_for_golden(), TableStyle::pax_moe));
  expect_golden("pax_tuning.md", to_markdown(build_for_golden(), TableStyle::pax_tuning));
  expect_golden("maxtext.md", to_markdown(build_for_golden(), TableStyle::maxtext));
  expect_golden("axlearn.md", to_markdown(build_for_golden(), TableStyle::axlearn));
  expect_golden("torchprime.md", to_markdown(build_for_golden(), TableStyle::torchprime));
  expect_golden("seqax.md", to_markdown(build_for_golden(), TableStyle::seqax));
}

// One steady step in five takes 1.1 s instead of 0.1 s: 0.3 s a step, from which rates, MFU and days are computed.
TEST_F(Report, RatesFollowFromTheMeanStep) {
  ExampleRun example{.attempt = {}};
  example.step_s = {0.1, 0.1, 0.1, 0.1, 0.1, 1.1};
  example.run.training_steps = 86400;
  add(example, "cell");
  harness::ingest_tree(db_, scratch_ / "runs");
  const auto built = build();
  const auto& row = built.rows.at(0);
  const auto all = cells();
  const auto& run = all.at(0).run();
  EXPECT_DOUBLE_EQ(*row.step_time_s, 0.1);
  EXPECT_DOUBLE_EQ(*row.step_time_mean_s, 0.3);
  EXPECT_NEAR(*row.sequences_per_s, static_cast<double>(run.global_batch) / 0.3, 1e-9);
  EXPECT_NEAR(*row.estimated_days, 0.3, 1e-12);
  const auto& peak = example.environment.peak_flops_per_s;
  EXPECT_NEAR(*row.mfu_fraction, harness::mfu_fraction(run, 0.3, peak, built.definition), 1e-12);
  for (const auto style : {TableStyle::maxtext, TableStyle::axlearn, TableStyle::torchprime}) {
    EXPECT_THAT(to_markdown(built, style), HasSubstr("0.3000")) << "its only step time";
  }
}

// An attempt from before the mean was recorded has rates computed from its median.
TEST_F(Report, AnAttemptWithoutAMeanStepKeepsItsRates) {
  ExampleRun example{.attempt = {}};
  add(example, "cell");
  harness::ingest_tree(db_, scratch_ / "runs");
  db_.execute("DELETE FROM metrics WHERE name_key = (SELECT name_key FROM names WHERE name = 'step_time_mean_s')");
  const auto row = build().rows.at(0);
  EXPECT_EQ(row.step_time_mean_s, row.step_time_s);
  EXPECT_NEAR(*row.sequences_per_s * *row.step_time_s, 4, 1e-9);
}

// Steps of 0.1 and 0.3 s have a median rate of 6.7 per second, but their median time of 0.2 s gives a rate of 5.
TEST_F(Report, RatesFollowFromTheStepTimeThatTheRowShows) {
  for (const double step_s : {0.1, 0.3}) {
    ExampleRun example{.attempt = {}};
    example.step_s.assign(6, step_s);
    add(example, "cell");
  }
  harness::ingest_tree(db_, scratch_ / "runs");
  const auto row = build().rows.at(0);
  ASSERT_EQ(row.step_time_runs, 2);
  EXPECT_DOUBLE_EQ(*row.step_time_s, 0.2);
  const auto all = cells();
  const auto& run = all.at(0).run();
  EXPECT_NEAR(*row.sequences_per_s, static_cast<double>(run.global_batch) / 0.2, 1e-9);
  EXPECT_NEAR(*row.tokens_per_s, static_cast<double>(run.global_batch * run.seq_len) / 0.2, 1e-6);
}

TEST_F(Report, AsCsvIsAsApproved) {
  add_every_kind();
  expect_golden("table.csv", to_csv(build_for_golden(), TableStyle::table));
  expect_golden("seqax.csv", to_csv(build_for_golden(), TableStyle::seqax));
}

TEST_F(Report, AsJsonIsAsApproved) {
  add_every_kind();
  expect_golden("table.json", to_json(build_for_golden()));
}

TEST_F(Report, ShowsThatARunDivergedInPlaceOfItsSpeedAndNotesTheRest) {
  ExampleRun diverged{.attempt = {}};
  diverged.attempt.state = AttemptState::diverged;
  diverged.attempt.reason = "the loss became NaN at step 3";
  add(diverged, "high rate");
  ExampleRun remark{.attempt = {}};
  remark.run.remat = "full";
  remark.attempt.reason = "the gradient norm became infinite at step 2";
  add(remark, "remark");
  add(remark, "remark");
  ExampleRun no_peak{.attempt = {}};
  no_peak.run.attention = spec::AttentionKind::dot_product;
  no_peak.environment.peak_flops_per_s = 0;
  no_peak.environment.cpu_model = "Another CPU";  // no run knows its peak
  add(no_peak, "no peak");
  harness::ingest_tree(db_, scratch_ / "runs");
  const auto rows = build().rows;
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].state, "diverged");
  EXPECT_FALSE(rows[0].step_time_s || rows[0].mfu_fraction);
  EXPECT_THAT(rows[0].notes, testing::ElementsAre("diverged: the loss became NaN at step 3"));
  EXPECT_TRUE(rows[1].step_time_s.has_value());
  EXPECT_THAT(rows[1].notes, testing::ElementsAre("the gradient norm became infinite at step 2")) << "once";
  EXPECT_THAT(rows[2].notes, Contains("no MFU: the peak of " + rows[2].processor + " is unknown"));
}

// The example's model has 2 layers of width 64, with queries of 64 and keys and values of 32: an adapter of rank 4 has
// 4 * (64 + 64) parameters, or 4 * (64 + 32).
TEST_F(Report, ShowsTheModelsSizeAndItsTrainableParameters) {
  ExampleRun lora{.attempt = {}};
  lora.run.task = spec::Task::lora;
  lora.run.lora = {.rank = 4, .targets = spec::LoraTargets::attention};
  add({.attempt = {}}, "all weights");
  add(lora, "adapters");
  ExampleRun eval{.attempt = {}};
  eval.run.task = spec::Task::eval;
  add(eval, "none");
  harness::ingest_tree(db_, scratch_ / "runs");
  const auto rows = build().rows;
  ASSERT_EQ(rows.size(), 3U);
  for (const auto& row : rows) EXPECT_EQ(row.parameters, rows[0].parameters);
  EXPECT_EQ(rows[0].trainable_parameters, rows[0].parameters);
  EXPECT_EQ(rows[1].trainable_parameters, 2 * 2 * 4 * (64 + 64 + 64 + 32));
  EXPECT_EQ(rows[2].trainable_parameters, 0);
  EXPECT_THAT(rows[0].notes, Not(Contains(HasSubstr("train"))));
  EXPECT_THAT(rows[1].notes, Contains(HasSubstr("3.6K parameters train: adapters of rank 4 (attention) in addition")));
}

// 128 positions in half a second.
TEST_F(Report, ShowsTheRealTokensPerSecondOfPaddedAndPackedRows) {
  ExampleRun padded{.attempt = {}};
  padded.run.task = spec::Task::sft;
  padded.step.padding_tokens = 32;
  ExampleRun packed = padded;
  packed.run.data.packing = spec::Packing::documents;
  packed.step.padding_tokens = 8;
  add({.attempt = {}}, "no documents");
  add(padded, "padded");
  add(packed, "packed");
  harness::ingest_tree(db_, scratch_ / "runs");
  const auto rows = build().rows;
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_FALSE(rows[0].real_tokens_per_s);
  EXPECT_TRUE(rows[0].notes.empty());
  EXPECT_EQ(rows[1].real_tokens_per_s, 192);
  EXPECT_THAT(rows[1].notes, Contains("192.0 real tokens/s, 25.0 % of the positions are padding"));
  EXPECT_EQ(rows[2].real_tokens_per_s, 240);
  EXPECT_THAT(rows[2].notes, Contains("documents packed: 240.0 real tokens/s, 6.2 % of the positions are padding"));
}

TEST_F(Report, SaysWhyAttentionInBf16OnAGpuWasNotCudnns) {
  using spec::AttentionDirection;
  using spec::ComputedBy;
  ExampleRun gpu{.attempt = {}};
  gpu.run.device = spec::Device::cuda;
  gpu.run.precision = spec::Precision::bf16;
  gpu.attention_kernels = {
      {.direction = AttentionDirection::forward, .computed_by = ComputedBy::own, .reason = "no cuDNN"},
      {.direction = AttentionDirection::backward, .computed_by = ComputedBy::own, .reason = "no cuDNN"}};
  add(gpu, "without");
  add(gpu, "without");
  gpu.run.remat = "full";
  gpu.attention_kernels[0] = {.direction = AttentionDirection::forward, .computed_by = ComputedBy::cudnn, .reason = ""};
  gpu.attention_kernels[1].reason = "too long";
  add(gpu, "long");
  gpu.run.scan = true;
  gpu.attention_kernels[1] = {
      .direction = AttentionDirection::backward, .computed_by = ComputedBy::cudnn, .reason = ""};
  add(gpu, "all by cuDNN");
  gpu.run.precision = spec::Precision::fp32;  // not expected for this precision
  gpu.attention_kernels[1] = {
      .direction = AttentionDirection::backward, .computed_by = ComputedBy::own, .reason = "fp32"};
  add(gpu, "fp32");
  harness::ingest_tree(db_, scratch_ / "runs");
  const auto notes = [rows = build().rows](std::size_t row) {
    std::vector<std::string> out;
    for (const auto& note : rows.at(row).notes) {
      if (note.find("cuDNN") != std::string::npos) out.push_back(note);
    }
    return out;
  };
  EXPECT_THAT(notes(0), testing::ElementsAre("attention not by cuDNN: no cuDNN")) << "once";
  EXPECT_THAT(notes(1), testing::ElementsAre("attention not by cuDNN: too long"));
  EXPECT_THAT(notes(2), testing::IsEmpty());
  EXPECT_THAT(notes(3), testing::IsEmpty());
}

// 2 layers, 4 sequences of 32 tokens with two choices each: 512 choices a step.
TEST_F(Report, ShowsTheFateOfTheTokensOfExperts) {
  ExampleRun experts{.attempt = {}};
  experts.run.model.moe = {.n_experts = 4, .top_k = 2, .d_ff = 16, .capacity_factor = 1.25};
  experts.step.dropped_choices = 64;
  experts.step.balance_loss = 2.5;
  experts.step.expert_load = 1.5;
  add(experts, "experts");
  add({.attempt = {}}, "dense");
  harness::ingest_tree(db_, scratch_ / "runs");
  const auto rows = build().rows;
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].dropped_fraction, 0.125);
  EXPECT_EQ(rows[0].balance_loss, 2.5);
  EXPECT_EQ(rows[0].expert_load, 1.5);
  EXPECT_THAT(
      rows[0].notes,
      Contains("experts dropped 12.5 % of the choices; the busiest had 1.500 times its share; balance loss 2.500"));
  EXPECT_FALSE(rows[1].dropped_fraction || rows[1].balance_loss);
  EXPECT_THAT(rows[1].notes, testing::IsEmpty());
}

TEST_F(Report, ShowsTheResultsOfAnEvaluation) {
  ExampleRun evaluated{.attempt = {}};
  evaluated.run.evaluation.path = "/set";
  evaluated.evaluation = {.rows = 8, .tokens = 16, .nll_sum = 32, .perplexity = 7.389, .accuracy = 0.625};
  add(evaluated, "evaluated");
  add({.attempt = {}}, "plain");
  harness::ingest_tree(db_, scratch_ / "runs");
  const auto rows = build().rows;
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].eval_accuracy, 0.625);
  EXPECT_EQ(rows[0].eval_perplexity, 7.389);
  EXPECT_THAT(rows[0].notes, Contains("evaluation: accuracy 62.5 %, perplexity 7.389"));
  EXPECT_FALSE(rows[1].eval_accuracy || rows[1].eval_perplexity);
}

TEST_F(Report, KeepsATableIntactForAnyName) {
  perfbench::reports::Report report;
  report.rows.resize(1);
  report.rows[0].processor = "a|b\nc";
  EXPECT_THAT(to_markdown(report, TableStyle::table), HasSubstr("| a\\|b c "));
  report.rows[0].processor = "say \"hi\", you";
  EXPECT_THAT(to_csv(report, TableStyle::table), HasSubstr(",\"say \"\"hi\"\", you\","));
}

TEST_F(Report, HasTheColumnsOfTheReferenceTables) {
  std::vector<std::string> titles;
  for (const auto& column : columns(TableStyle::table)) titles.emplace_back(column.title);
  EXPECT_THAT(titles, testing::ElementsAre("Size", "GPU or CPU", "Precision", "Sequence Length", "#devices",
                                           "BS/device", "DP", "FSDP", "TP", "GBS", "Attention", "Remat Policy", "Scan",
                                           "Step Time (s)", "MFU", "difference from baseline", "Sequences/Sec"));
}

std::vector<std::string> titles_of(const Document& document) {
  std::vector<std::string> titles;
  for (const auto& column : std::get<Table>(document.blocks.at(4)).columns) titles.push_back(column.title);
  return titles;
}

// The configuration of these rows is in columns; a training of known length has its days.
TEST_F(Report, HasRunsAndSpreadBesideTheStepTimeAndDaysIfTheLengthIsKnown) {
  add_every_kind();
  const auto titles = titles_of(report_document({build()}, TableStyle::table));
  EXPECT_THAT(titles, testing::ElementsAre("Size", "GPU or CPU", "Precision", "Sequence Length", "#devices",
                                           "BS/device", "DP", "FSDP", "TP", "GBS", "Attention", "Remat Policy", "Scan",
                                           "Step Time (s)", "n", "Spread", "Tokens/s/device", "MFU", "Memory",
                                           "Mean Step (s)", "Sequences/Sec", "Est. Walltime (days)", "Run"));
  auto report = build();
  for (auto& row : report.rows) row.total_sequences.reset();
  EXPECT_THAT(titles_of(report_document({report}, TableStyle::table)), Not(Contains("Est. Walltime (days)")));
}

TEST_F(Report, ShowsTheSpreadOfRunsRelativeToTheMedian) {
  for (const double step_s : {0.5, 0.52, 0.51}) {
    ExampleRun example{.attempt = {}};
    example.step_s.assign(6, step_s);
    add(example, "c");
  }
  harness::ingest_tree(db_, scratch_ / "runs");
  const auto document = report_document({build()}, TableStyle::table);
  EXPECT_THAT(render_markdown(document), HasSubstr("| 3   | \u00b12.0 % |"));
  EXPECT_NEAR(nlohmann::json::parse(render_json(document))["rows"][0]["step_time_spread_fraction"], 0.01 / 0.51, 1e-12);
}

TEST_F(Report, ShowsNoSpreadForASingleTrustedRun) {
  ExampleRun noisy{.attempt = {}};
  noisy.step_s.assign(6, 0.9);
  noisy.probe_s = {0.001, 0.001, 0.002, 0.001, 0.002, 0.001};
  add({.attempt = {}}, "c");
  add(noisy, "c");
  harness::ingest_tree(db_, scratch_ / "runs");
  const auto json = nlohmann::json::parse(to_json(build()))["rows"][0];
  EXPECT_EQ(json["runs"], 2);
  EXPECT_TRUE(json["step_time_spread_fraction"].is_null());
}

// Rows that would look the same differ in an axis that has no column among the reference systems'.
TEST_F(Report, HasAColumnForFieldsThatAloneDistinguishRows) {
  ExampleRun warm{.attempt = {}};
  warm.run.optimizer.beta2 = 0.5;
  add({.attempt = {}}, "beta2=0.95");
  add(warm, "beta2=0.5");
  ExampleRun full{.attempt = {}};
  full.run.remat = "full";
  full.run.optimizer.eps = 0.25;
  add(full, "remat=full");
  harness::ingest_tree(db_, scratch_ / "runs");
  const auto document = report_document({build()}, TableStyle::table);
  const auto titles = titles_of(document);
  EXPECT_THAT(titles, Contains("optimizer.beta2"));
  EXPECT_THAT(titles, Not(Contains("optimizer.eps"))) << "the policy tells that row apart";
  EXPECT_THAT(render_text(document, {.width = 0}), HasSubstr("  0.5  "));
  const auto json = nlohmann::json::parse(render_json(document));
  EXPECT_EQ(json["rows"][1]["optimizer.beta2"], "0.5");
  EXPECT_THAT(render_csv(document), HasSubstr(",step_time_spread_fraction,started_utc,commit,sweep_id,subject,engine_"
                                              "sha256,inject,side,optimizer.beta2\r\n"));
}

TEST_F(Report, FitsATerminalAndPrintsSharedValuesOnce) {
  add_every_kind();
  for (const std::size_t width : {80U, 120U, 200U}) {
    const auto text = render_text(report_document({build()}, TableStyle::table), {.width = width});
    EXPECT_THAT(text, HasSubstr("Size: llama-tiny (107K); "));
    for (std::size_t at = 0; at < text.size();) {
      const auto end = text.find('\n', at);
      EXPECT_LE(end - at, width + 8) << "two bytes of each plus-minus sign are one column";
      at = end + 1;
    }
  }
}

TEST_F(Report, ComputesMfuAgainstTheRightPeak) {
  add_every_kind();
  const auto rows = build().rows;
  const auto run = harness::example_spec();
  // The example environment states 1e11 FLOP/s for a rank; the step time is 0.5 s.
  EXPECT_DOUBLE_EQ(*rows[0].mfu_fraction, harness::mfu_fraction(run, 0.5, 1e11, spec::FlopDefinition::causal));
  EXPECT_NEAR(*rows[2].mfu_fraction, *rows[0].mfu_fraction / 2, 1e-12) << "two ranks have twice the peak";
  EXPECT_DOUBLE_EQ(*rows[3].mfu_fraction, *rows[0].mfu_fraction * 1e11 / 1e15) << "the named hardware's peak";
  EXPECT_FALSE(rows[4].mfu_fraction);
}

TEST_F(Report, ComputesHfuFromWhatTheEngineExecuted) {
  add_every_kind();
  const auto rows = build().rows;
  // A rank's step of 0.5 s executes 1e6 FLOP and repeats 2.5e5; the peak is 1e11 FLOP/s.
  EXPECT_DOUBLE_EQ(*rows[0].hfu_fraction, 1.25e6 / 0.5 / 1e11);
  EXPECT_DOUBLE_EQ(*rows[2].hfu_fraction, *rows[0].hfu_fraction) << "counted, relative to one rank's peak";
  EXPECT_DOUBLE_EQ(*rows[3].hfu_fraction, 1.25e6 / 0.5 / 1e15) << "the named hardware's peak";
  EXPECT_FALSE(rows[4].hfu_fraction);
}

TEST_F(Report, EstimatesTheDaysOfATrainingOfKnownLength) {
  add_every_kind();
  const auto rows = build().rows;
  EXPECT_DOUBLE_EQ(*rows[2].estimated_days, 600000 * 0.5 / (24 * 3600));
  EXPECT_FALSE(rows[0].estimated_days);
}

TEST_F(Report, SaysThatARunIsNoisyOrDidNotEndWell) {
  add_every_kind();
  const auto rows = build().rows;
  EXPECT_TRUE(rows[0].notes.empty() && !rows[0].is_noisy && rows[1].is_noisy);
  EXPECT_THAT(rows[1].notes, Contains(HasSubstr("noisy: the machine's speed moved during the run")));
  EXPECT_THAT(rows[4].notes, Contains("infeasible: needs 80 GiB of 64 GiB"));
  EXPECT_THAT(rows[5].notes, Contains("crashed: rank 0 ended by signal 11"));
}

TEST_F(Report, TakesTheMedianOfQuietRunsAndNamesTheRest) {
  for (const double step_s : {0.5, 0.52, 0.51}) {
    ExampleRun example{.attempt = {}};
    example.step_s.assign(6, step_s);
    add(example, "c");
  }
  ExampleRun noisy{.attempt = {}};
  noisy.step_s.assign(6, 0.9);
  noisy.probe_s = {0.001, 0.001, 0.002, 0.001, 0.002, 0.001};
  add(noisy, "c");
  ExampleRun crashed{.attempt = {}};
  crashed.attempt.state = AttemptState::crashed;
  crashed.attempt.reason = "signal 9";
  add(crashed, "c");
  harness::ingest_tree(db_, scratch_ / "runs");
  const auto rows = build().rows;
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].state, "ok");
  EXPECT_EQ(rows[0].runs, 4);
  EXPECT_DOUBLE_EQ(*rows[0].step_time_s, 0.51);
  EXPECT_DOUBLE_EQ(*rows[0].step_time_max_s, 0.52);
  EXPECT_THAT(rows[0].notes, Contains(HasSubstr("1 of 4 runs, which are left out")));
  EXPECT_THAT(rows[0].notes, Contains("attempt 5 crashed: signal 9"));
}

TEST_F(Report, NamesTheGpuThatARunRanOnWhereTheMatrixNamesAnother) {
  ExampleRun gpu{.attempt = {}};
  gpu.run.device = spec::Device::cuda;
  gpu.run.hardware = "h100";
  gpu.environment.gpus = 1;
  gpu.environment.gpu_model = "NVIDIA H200";
  add(gpu, "c");
  harness::ingest_tree(db_, scratch_ / "runs");
  const auto row = build().rows.at(0);
  EXPECT_EQ(row.processor, "NVIDIA H200");
  EXPECT_THAT(row.notes, Contains("ran on NVIDIA H200; the matrix names NVIDIA H100, whose peak is used for MFU"));
  harness::PublishedEntry entry;
  entry.row.hardware = "h100";
  entry.row.device_name = "H100";
  EXPECT_THAT(harness::obstacles(cells().at(0), entry, table().hardware),
              Contains(Field(&harness::Obstacle::text, "device NVIDIA H200 vs H100")));
}

// A run beside another program measures too low a peak: equal step times have equal MFU all the same.
TEST_F(Report, UsesThePeakOfTheClassOfMachineAndStatesItsUncertainty) {
  for (const double peak : {1e11, 3e10, 2e10}) {
    ExampleRun example{.attempt = {}};
    example.run.global_batch = peak == 1e11 ? 4 : 2;
    example.environment.peak_flops_per_s = peak;
    add(example, peak == 1e11 ? "quiet" : "beside another");
  }
  harness::ingest_tree(db_, scratch_ / "runs");
  const auto rows = build().rows;
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_DOUBLE_EQ(*rows[0].mfu_fraction, 2 * *rows[1].mfu_fraction) << "twice the tokens in the same time";
  for (const auto& row : rows) {
    EXPECT_THAT(row.notes, Contains(HasSubstr("MFU is relative to 100 GFLOP/s a rank, the highest of 3 measurements")));
    EXPECT_THAT(row.notes, Contains(HasSubstr("class of machine, whose median is 30.0 GFLOP/s")));
  }
}

// The column of the report and the note of `compare --baseline published:...` use the same attempts.
TEST_F(Report, PrintsTheMfuThatAComparisonWithAPublishedRowPrints) {
  for (const double step_s : {0.5, 0.52, 0.51, 0.9, 0.95}) {
    ExampleRun example{.attempt = {}};
    example.environment.peak_flops_per_s = 2e8;
    example.step_s.assign(6, step_s);
    if (step_s > 0.6) example.probe_s = {0.001, 0.001, 0.002, 0.001, 0.002, 0.001};
    add(example, "c");
  }
  harness::ingest_tree(db_, scratch_ / "runs");
  const auto row = build().rows.at(0);
  ASSERT_TRUE(row.mfu_fraction);
  EXPECT_EQ(*row.mfu_fraction, harness::mfu_fraction(harness::example_spec(), 0.51, 2e8, spec::FlopDefinition::causal));
  const harness::PublishedEntry entry;
  const harness::HardwareByName hardware;
  const harness::PublishedComparison with{
      .entry = entry, .hardware = hardware, .metric = "step_time_s", .definition = spec::FlopDefinition::causal};
  const auto compared = harness::compare_with_published(cells(), with);
  ASSERT_EQ(compared.size(), 1U);
  EXPECT_THAT(compared[0].notes, Contains(HasSubstr(" " + format_percent(*row.mfu_fraction) + " here")));
}

TEST_F(Report, SaysWhatAPublishedRowDoesDifferently) {
  add_every_kind();
  harness::PublishedEntry entry;
  entry.row.remat = "full";
  const harness::HardwareByName hardware;
  auto with = table();
  with.baseline = "published:x/y";
  with.comparisons =
      harness::compare_with_published(cells(), {.entry = entry, .hardware = hardware, .metric = "step_time_s"});
  const auto rows = build_report(with).rows;
  EXPECT_THAT(rows[0].notes, Contains("remat none vs full"));
  EXPECT_THAT(rows[0].notes, Contains("the row does not state its attention, scan, mesh; they may differ"));
}

TEST_F(Report, HasThePublishedRowAsALineBesideOurs) {
  add_every_kind();
  harness::PublishedEntry entry{.name = "maxtext/x", .system_title = "MaxText"};
  entry.row.model_name = "Llama 2 7B";
  entry.row.device_name = "H100";
  entry.row.precision_name = "TE FP8";
  entry.row.seq_len = 2048;
  entry.row.devices = 8;
  entry.row.global_batch = 16;
  entry.row.step_time_s = 1.5;
  auto with = table();
  with.baseline = "published:maxtext/x";
  with.published = entry;
  const auto report = build_report(with);
  const auto& line = report.rows.back();
  EXPECT_EQ(report.rows.size(), with.cells.size() + 1);
  EXPECT_EQ(line.step_time_s, 1.5);
  EXPECT_DOUBLE_EQ(*line.sequences_per_s, 16 / 1.5);
  const auto text = render_markdown(report_document({report}, TableStyle::table));
  EXPECT_THAT(text, HasSubstr("| Llama 2 7B "));
  EXPECT_THAT(text, HasSubstr("published:maxtext/x, MaxText: not measured here"));
  EXPECT_THAT(text,
              testing::ContainsRegex(
                  "\\| TE FP8 +\\| 2048 +\\| 8 +\\| - +\\| - +\\| - +\\| - +\\| 16 +\\| - +\\| - +\\| - +\\| 1.500"))
      << "a value that it does not state is not a number";
}

TEST_F(Report, ShowsTheDifferenceFromABaseline) {
  add_every_kind();
  const auto all = cells();
  // The same runs as if from another store.
  auto baseline = std::vector{all[0], all[1]};
  for (auto& cell : baseline) cell.attempts[0].key += 1000;
  auto with = table();
  with.baseline = "v1";
  with.comparisons = harness::compare_with_runs(all, {.scope = "baseline 'v1'", .cells = baseline}, "step_time_s");
  const auto report = build_report(with);
  ASSERT_TRUE(report.rows[0].difference);
  EXPECT_EQ(report.rows[0].difference->verdict, "INCONCLUSIVE");
  EXPECT_EQ(report.rows[0].difference->reason, "too_few_runs");
  EXPECT_THAT(report.rows[2].notes, Contains(HasSubstr("not comparable because")));
  EXPECT_THAT(to_markdown(report, TableStyle::table), HasSubstr("| +0.0 % INCONCLUSIVE"));
  const auto json = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(json["rows"][0]["baseline_ratio"], 1.0);
  EXPECT_TRUE(json["rows"][4]["step_time_s"].is_null());
}

}  // namespace
}  // namespace perfbench::reports
