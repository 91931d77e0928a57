#include "harness/app/runs/against.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "harness/app/runs/baseline_file.h"
#include "harness/judge/compare_published.h"
#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/store/queries/query.h"
#include "harness/system/input_error.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr const char* kNow = "2026-06-01T00:00:00Z";

struct OneSweep {
  ScratchFolder scratch;
  Connection db = open_database(scratch / "a.db");
  PublishedCatalog published{PERFBENCH_SOURCE_DIR};

  explicit OneSweep(int runs = 1, const spec::RunSpec& run = example_spec()) {
    for (int i = 1; i <= runs; ++i) {
      ExampleRun example{.attempt = example_attempt("c", i)};
      example.run = run;
      write_run_directory(scratch / "runs" / std::to_string(i), example);
    }
    ingest_tree(db, scratch / "runs");
  }
  std::vector<CellRuns> cells() { return group_by_subject(load_attempts(db, parse_selection("latest"))); }
  CellComparison against(const std::string& baseline) {
    return compare_against(db, published, cells(), {}, {.baseline = baseline, .now_utc = kNow}).comparisons.at(0);
  }
};

TEST(Against, APublishedRowListsEveryReasonWhyNot) {
  OneSweep sweep;
  const auto found = sweep.against("published:maxtext/llama2-7b-8xh100");
  EXPECT_EQ(found.decision.verdict, Verdict::not_comparable);
  EXPECT_THAT(found.decision.detail, HasSubstr("not comparable because: device CPU Example CPU 3000 vs H100 80G SXM"));
  for (const auto* reason : {"precision fp32 vs BF16", "model llama-tiny vs maxtext-llama2-7b", "seq_len 32 vs 4096",
                             "devices 1 vs 8", "global_batch 4 vs 16"}) {
    EXPECT_THAT(found.decision.detail, HasSubstr(reason));
  }
  EXPECT_FALSE(found.decision.ratio) << "numbers that are not comparable are not divided";
  // 22.19 sequences of 4096 tokens a second on 8 devices; 6 Nm + 6 L h e T = 6 * 6607077376 + 6 * 32 * 4096 * 4096 FLOP
  // a token; peak 989e12: 0.4924.
  EXPECT_THAT(found.notes, Contains(HasSubstr("MFU (causal, recomputed)")));
  EXPECT_THAT(found.notes, Contains(HasSubstr("49.2 % published")));
}

// A gate lists its metrics for all cells.
TEST(Against, AGateJudgesTheEvaluationOfRunsThatEvaluate) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  const auto add = [&](const std::string& folder, double accuracy) {
    for (int i = 1; i <= 12; ++i) {
      for (const bool evaluates : {false, true}) {
        ExampleRun example{.attempt = example_attempt(evaluates ? "evaluates" : "trains", i)};
        example.attempt.sweep_id = folder;
        if (evaluates) {
          example.run.evaluation.path = "/set";
          example.evaluation = {.rows = 100, .tokens = 200, .nll_sum = 400, .perplexity = 7.4, .accuracy = accuracy};
        }
        write_run_directory(scratch / folder / (std::to_string(i) + (evaluates ? "e" : "t")), example);
      }
    }
    ingest_tree(db, scratch / folder);
  };
  add("20260101T000000Z-before", 0.5);
  add("20260102T000000Z-after", 0.4);
  const PublishedCatalog published{PERFBENCH_SOURCE_DIR};
  const auto cells = group_by_subject(load_attempts(db, parse_selection("20260102T000000Z-after")));
  AgainstRequest request{
      .baseline = "20260101T000000Z-before", .metrics = {kGateMetrics.begin(), kGateMetrics.end()}, .now_utc = kNow};
  std::map<std::string, std::vector<Verdict>> verdicts;
  for (const auto& comparison : compare_against(db, published, cells, {}, request).comparisons) {
    verdicts[comparison.metric].push_back(comparison.decision.verdict);
  }
  EXPECT_THAT(verdicts.at("final_loss"), ElementsAre(Verdict::same, Verdict::same));
  EXPECT_THAT(verdicts.at("eval_accuracy"), ElementsAre(Verdict::regressed));
  EXPECT_THAT(verdicts.at("eval_perplexity"), ElementsAre(Verdict::same));
  EXPECT_FALSE(verdicts.contains("step_time_p90_s")) << "their runs have too few steps for it";
  // If only this metric is requested, each cell says why it has none.
  request.metrics = {"eval_accuracy"};
  EXPECT_THAT(compare_against(db, published, cells, {}, request).comparisons, SizeIs(2));
}

// No run records it: it follows from the step time and the machine's peak.
TEST(Against, MfuIsComputedOnBothSides) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  for (const double step_s : {0.5, 0.6}) {
    ExampleRun example{.attempt = example_attempt("c", 1)};
    example.attempt.sweep_id = step_s == 0.5 ? "20260101T000000Z-before" : "20260102T000000Z-after";
    example.step_s.assign(6, step_s);
    write_run_directory(scratch / example.attempt.sweep_id, example);
    ingest_run_directory(db, scratch / example.attempt.sweep_id);
  }
  const auto cells = group_by_subject(load_attempts(db, parse_selection("20260102T000000Z-after")));
  const AgainstRequest request{.baseline = "20260101T000000Z-before", .metrics = {"mfu_fraction"}, .now_utc = kNow};
  const auto found = compare_against(db, PublishedCatalog(PERFBENCH_SOURCE_DIR), cells, {}, request).comparisons.at(0);
  ASSERT_TRUE(found.decision.ratio) << found.decision.detail;
  EXPECT_NEAR(*found.decision.ratio, 0.5 / 0.6, 1e-12);
}

TEST(Against, APublishedRowOfTheSameWorkIsCompared) {
  PublishedEntry entry;
  entry.name = "x/y";
  entry.row.hardware = "h100";
  entry.row.precision = spec::Precision::bf16;
  entry.row.seq_len = 32;
  entry.row.devices = 1;
  entry.row.global_batch = 4;
  entry.row.step_time_s = 0.4;
  entry.model = example_spec().model;
  entry.model->name = "the same under another name";
  auto run = example_spec();
  run.device = spec::Device::cuda;
  run.hardware = "h100";
  run.precision = spec::Precision::bf16;
  OneSweep sweep(8, run);
  spec::HardwareSpec h100;
  h100.title = "NVIDIA H100";
  h100.peak_flops_per_s.bf16 = 989e12;
  const HardwareByName hardware{{"h100", h100}};
  const PublishedComparison comparison{.entry = entry, .hardware = hardware, .metric = "step_time_s"};
  EXPECT_THAT(obstacles(sweep.cells().at(0), entry, hardware), SizeIs(0));
  const auto found = compare_with_published(sweep.cells(), comparison).at(0);
  EXPECT_EQ(found.decision.verdict, Verdict::regressed);
  EXPECT_NEAR(*found.decision.ratio, 0.5 / 0.4, 1e-9);
}

TEST(Against, APublishedRowOfAnotherTaskIsNotCompared) {
  auto tuned = example_spec();
  tuned.task = spec::Task::sft;
  tuned.data.kind = spec::DataKind::instruction;
  tuned.data.path = "answers";
  const auto texts = [](const spec::RunSpec& run, spec::Task task) {
    OneSweep sweep(1, run);
    PublishedEntry entry;
    entry.row.task = task;
    std::vector<std::string> out;
    for (const auto& obstacle : obstacles(sweep.cells().at(0), entry, {})) out.push_back(obstacle.text);
    return out;
  };
  EXPECT_THAT(texts(example_spec(), spec::Task::sft), Contains("task pretrain vs sft"));
  EXPECT_THAT(texts(tuned, spec::Task::pretrain), Contains("task sft vs pretrain"));
  EXPECT_THAT(texts(tuned, spec::Task::sft), Not(Contains(HasSubstr("task"))));
}

TEST(Against, NotesHowAPublishedRowDoesTheSameWorkDifferently) {
  spec::PublishedRow row;
  row.fsdp = 8;
  row.dp = 2;
  row.attention = "flash";
  row.remat = "minimal_flash";
  row.scan = "off";
  auto run = example_spec();
  run.attention = spec::AttentionKind::dot_product;
  run.remat = "full";
  run.scan = true;
  run.mesh = {.ici = {.dp = 2, .fsdp = 4, .tp = 2}, .dcn = {}};
  EXPECT_THAT(differences(run, row),
              ElementsAre("attention dot_product vs flash", "remat full vs minimal_flash", "scan on vs off",
                          "mesh dp 2 fsdp 4 tp 2 pp 1 vs dp 2 fsdp 8 tp 1 pp 1"));
  run.attention = spec::AttentionKind::flash;
  run.scan = false;
  run.mesh = {.ici = {.fsdp = 8}, .dcn = {.dp = 2}};
  // The list of the policy minimal_flash (remat_policy.h).
  run.remat = "custom";
  using enum spec::SavePlace;
  run.remat_custom = {{"query_proj", device}, {"key_proj", device}, {"value_proj", device}, {"context", device},
                      {"out_proj", device},   {"mlpwi_0", device},  {"mlpwi_1", device},    {"mlpwo", device}};
  EXPECT_THAT(differences(run, row), SizeIs(0));
  row.remat = "llama-scan-offload";
  EXPECT_THAT(differences(run, row), ElementsAre("remat custom vs llama-scan-offload (a name of its system)"));
  row.remat = "minimal_flash";
  row.dropout.layer_input = 0.1;
  EXPECT_THAT(differences(run, row), ElementsAre("dropout none vs layer_input 0.1"));
  run.dropout = {.input = 0.1, .residual = 0.25};
  EXPECT_THAT(differences(run, row), ElementsAre("dropout input 0.1 residual 0.25 vs layer_input 0.1"));
  auto silent = row;
  silent.dropout = {};
  EXPECT_THAT(differences(run, silent), ElementsAre("the row does not state its dropout; it may differ"));
  run.dropout = row.dropout;
  EXPECT_THAT(differences(run, row), SizeIs(0));
}

TEST(Against, NotesWhatAPublishedRowDoesNotState) {
  OneSweep sweep;
  const PublishedEntry silent;
  const auto run = sweep.cells().at(0).run();
  EXPECT_THAT(differences(run, silent.row),
              ElementsAre("the row does not state its attention, remat, scan, mesh; they may differ"));
  spec::PublishedRow table;
  table.attention = "dot_product";
  table.remat = run.remat;
  table.scan = "off";
  EXPECT_THAT(differences(run, table),
              ElementsAre("attention flash vs dot_product", "the row does not state its mesh; it may differ"));
  table.attention = "flash";
  table.tp = 8;
  EXPECT_THAT(differences(run, table),
              ElementsAre("mesh tp 1 pp 1 vs tp 8 pp 1", "the row does not state its dp, fsdp; they may differ"));
  const auto found = sweep.against("published:maxtext/llama2-7b-8xh100");
  EXPECT_THAT(found.notes, Contains("remat none vs minimal_flash"));
}

TEST(Against, ARowThatContradictsItselfIsNotCompared) {
  OneSweep sweep;
  PublishedEntry entry;
  entry.row.step_time_s = 1;
  entry.row.sequences_per_s = 100;
  entry.row.global_batch = 4;
  const auto found = obstacles(sweep.cells().at(0), entry, {});
  EXPECT_THAT(found.back().text, HasSubstr("contradicts itself"));
}

TEST(Against, ABaselineOfTheLedgerIsFoundByName) {
  OneSweep sweep;
  add_baseline(sweep.db, {.name = "v1",
                          .author = "ada",
                          .reason = "r",
                          .created_utc = "2026-01-01T00:00:00Z",
                          .source = "import",
                          .values = {{"c", "step_time_s", 0.4}}});
  const auto found = sweep.against("v1");
  EXPECT_EQ(found.decision.reason, VerdictReason::too_few_runs);
  EXPECT_NEAR(*found.decision.ratio, 0.5 / 0.4, 1e-9);
}

TEST(Against, APublishedBaselineOfTheLedgerLeadsToItsRow) {
  OneSweep sweep;
  add_baseline(sweep.db, {.name = "goal",
                          .kind = BaselineKind::published,
                          .author = "ada",
                          .reason = "r",
                          .created_utc = "2026-01-01T00:00:00Z",
                          .source = "published:maxtext/llama2-7b-8xh100",
                          .values = {{"published:maxtext/llama2-7b-8xh100", "step_time_s", 0.721}}});
  EXPECT_THAT(sweep.against("goal").decision.detail, HasSubstr("H100 80G SXM"));
}

TEST(Against, ARunIsFoundByTheStartOfItsId) {
  OneSweep sweep;
  const auto id = sweep.cells().at(0).run_id;
  EXPECT_EQ(sweep.against(id.substr(0, 10)).decision.reason, VerdictReason::same_runs);
  EXPECT_EQ(sweep.against("run:" + id).decision.reason, VerdictReason::same_runs);
}

TEST(Against, AnUnknownNameGivesTheClosestOnes) {
  OneSweep sweep;
  add_baseline(sweep.db, {.name = "release-1",
                          .author = "ada",
                          .reason = "r",
                          .created_utc = "2026-01-01T00:00:00Z",
                          .expires_utc = "2026-02-01T00:00:00Z",
                          .source = "s",
                          .values = {{"c", "step_time_s", 0.4}}});
  for (const auto& [name, part] : {std::pair{"release-2", "did you mean 'release-1'"},
                                   {"release-1", "no baseline 'release-1' in force"},
                                   {"published:maxtext/llama2-7b-8xh10", "did you mean"},
                                   {"published:nobody/x", "nobody"}}) {
    try {
      sweep.against(name);
      ADD_FAILURE() << name;
    } catch (const InputError& e) {
      EXPECT_THAT(e.what(), HasSubstr(part));
    }
  }
}

std::vector<BaselineValue> read(const std::string& name, const std::string& text) {
  ScratchFolder scratch;
  write_text(scratch / name, text);
  return read_baseline_file(scratch / name);
}

std::string error_of(const std::string& name, const std::string& text) {
  try {
    read(name, text);
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

TEST(BaselineFile, IsReadFromYamlJsonAndCsvAlike) {
  const auto yaml = read("b.yaml",
                         "values:\n"
                         "  - {cell: 'model=a, x', metric: step_time_s, value: [0.5, 0.6]}\n"
                         "  - {run: abc, metric: tokens_per_s, value: 100}\n");
  const auto json =
      read("b.json", R"({"values": [{"cell": "model=a, x", "metric": "step_time_s", "value": [0.5, 0.6]},)"
                     R"({"run": "abc", "metric": "tokens_per_s", "value": 100}]})");
  const auto csv =
      read("b.csv", "metric,cell,value\r\nstep_time_s,\"model=a, x\",0.5\r\nstep_time_s,\"model=a, x\",0.6\r\n");
  // In the format of a spreadsheet.
  const auto exported = read(
      "B.CSV", "\xEF\xBB\xBFmetric,cell,value\r\nstep_time_s,\"model=a, x\",0.5\r\nstep_time_s,\"model=a, x\",0.6\r\n");
  for (const auto& values : {yaml, json, csv, exported}) {
    ASSERT_GE(values.size(), 2U);
    EXPECT_EQ(values[0].subject, "model=a, x");
    EXPECT_EQ(values[0].metric, "step_time_s");
    EXPECT_DOUBLE_EQ(values[0].value, 0.5);
    EXPECT_DOUBLE_EQ(values[1].value, 0.6);
  }
  EXPECT_EQ(yaml[2].subject, "abc");
  EXPECT_THAT(json, SizeIs(3));
}

TEST(BaselineFile, ErrorsNameTheirPlace) {
  EXPECT_THAT(error_of("b.yaml", "values:\n  - {cell: a, metric: step_time, value: 1}\n"),
              testing::AllOf(HasSubstr("b.yaml:2:"), HasSubstr("did you mean 'step_time_s'")));
  EXPECT_THAT(error_of("b.yaml", "values:\n  - {cel: a, metric: step_time_s, value: 1}\n"),
              HasSubstr("did you mean 'cell'"));
  EXPECT_THAT(error_of("b.yaml", "values:\n  - {cell: a, run: b, metric: step_time_s, value: 1}\n"),
              HasSubstr("either"));
  EXPECT_THAT(error_of("b.yaml", "values:\n  - {cell: a, metric: step_time_s, value: -1}\n"), HasSubstr("positive"));
  EXPECT_THAT(error_of("b.yaml", "value: []\n"), HasSubstr("one list, 'values'"));
  EXPECT_THAT(error_of("b.csv", "cell,metric,value\na,step_time_s,fast\n"), HasSubstr("b.csv:2 "));
  EXPECT_THAT(error_of("b.csv", "cell,metric,value\na,step_time_s\n"), HasSubstr("has 2 fields"));
  EXPECT_THAT(error_of("b.csv", "cell,metric,valu\n"), HasSubstr("did you mean 'value'"));
  EXPECT_THAT(error_of("b.csv", ""), HasSubstr("is empty"));
}

}  // namespace
}  // namespace perfbench::harness
