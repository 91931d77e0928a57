#include "reports/content/prediction_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "harness/predict/score_gate.h"
#include "reports/render/format/number.h"

namespace perfbench::reports {
namespace {

using harness::PredictorScores;
using predict::Prediction;
using predict::Score;

constexpr double kPointsOfOne = 100;

Cell percent_cell(double fraction) {
  return {format_percent_number(fraction), fraction};
}

Cell percent_cell(const std::optional<double>& fraction) {
  return fraction ? percent_cell(*fraction) : Cell();
}

Cell signed_percent_cell(double fraction) {
  return {fmt::format("{:+.1f}", kPointsOfOne * fraction), fraction};
}

Cell count_of(std::size_t count) {
  return {std::to_string(count), static_cast<std::int64_t>(count)};
}

Column figure_column(const char* title, const char* key) {
  return {.title = title, .key = key, .align = Align::right};
}

const char* split_title(predict::ScoreSplit split) {
  switch (split) {
    case predict::ScoreSplit::zero_fit:
      return "zero_fit: nothing is fitted";
    case predict::ScoreSplit::leave_one_out:
      return "leave_one_out: fitted on the other reference rows, or on the other external rows";
    case predict::ScoreSplit::llm_foundry_folds:
      return "llm_foundry_folds: ten folds";
    case predict::ScoreSplit::leave_source_out:
      return "leave_source_out: fitted on the rows of other documents";
    case predict::ScoreSplit::leave_system_out:
      return "leave_system_out: fitted on the rows of other systems";
    case predict::ScoreSplit::extrapolation:
      return "extrapolation: fitted on one part of llm-foundry, tested on another";
  }
  return "";
}

// For people there is a table for each split.
Table score_table(Audience audience) {
  Table table{.key = "scores", .columns = {}, .rows = {}};
  if (audience == Audience::programs) table.columns.push_back({.title = "split", .key = "split"});
  table.columns.push_back({.title = "rows (errors in %)", .key = "rows"});
  for (const auto& [title, key] :
       {std::pair{"n", "count"}, std::pair{"MAPE", "mape_fraction"}, std::pair{"|ln|", "mean_log_error_fraction"},
        std::pair{"bias", "bias_fraction"}, std::pair{"p90", "p90_fraction"}, std::pair{"max", "max_fraction"},
        std::pair{"cover", "interval_coverage_fraction"}, std::pair{"half", "interval_half_width_fraction"},
        std::pair{"order", "pair_order_fraction"}, std::pair{"MFU", "constant_mfu_mape_fraction"},
        std::pair{"HFU", "constant_hfu_mape_fraction"}, std::pair{"fail", "unpredicted"}}) {
    table.columns.push_back(figure_column(title, key));
  }
  for (auto& column : table.columns) column.audience = audience;
  return table;
}

Row score_row(const Score& score, Audience audience) {
  const auto& accuracy = score.accuracy;
  Row row;
  if (audience == Audience::programs) row.cells.push_back(std::string(spec::enum_name(score.split)));
  for (const auto& cell :
       {Cell(score.rows), count_of(accuracy.rows), percent_cell(accuracy.mean_absolute_error),
        percent_cell(accuracy.mean_log_error), signed_percent_cell(accuracy.bias),
        percent_cell(accuracy.p90_absolute_error), percent_cell(accuracy.largest_absolute_error),
        percent_cell(accuracy.coverage), percent_cell(accuracy.mean_half_width), percent_cell(accuracy.pair_order),
        percent_cell(score.constant_mfu_error), percent_cell(score.constant_hfu_error), count_of(score.unpredicted)}) {
    row.cells.push_back(cell);
  }
  return row;
}

// The largest terms of a step: "matmul 61 %, attention 12 %, memory 11 %".
std::string largest_terms(const predict::StepTime& time) {
  constexpr std::size_t kShown = 3;
  std::array<std::size_t, predict::kStepTermNames.size()> order{};
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return time.terms_s[a] > time.terms_s[b]; });
  std::string out;
  for (std::size_t i = 0; i < kShown; ++i) {
    const auto share = kPointsOfOne * time.terms_s[order[i]] / time.total_s;
    out += fmt::format("{}{} {:.0f} %", i == 0 ? "" : ", ", predict::kStepTermNames[order[i]], share);
  }
  return out;
}

void add_term_columns(Table& table) {
  for (const auto name : predict::kStepTermNames) {
    const auto key = std::string(name) + "_s";
    table.columns.push_back({.title = key, .key = key, .align = Align::right, .audience = Audience::programs});
  }
}

Cell seconds_cell(double seconds) {
  return {fmt::format("{:.4g}", seconds), seconds};
}

Row predicted_row(const Score& score, const Prediction& p) {
  const auto& published = p.sample->published;
  Row row{.cells = {std::string(spec::enum_name(score.split)), published.name, seconds_cell(p.time.total_s),
                    seconds_cell(published.step_s), signed_percent_cell(p.relative_error()), seconds_cell(p.low_s()),
                    seconds_cell(p.high_s()), std::string(p.time.largest_term()),
                    Cell{largest_terms(p.time), Value()}}};
  for (const double term : p.time.terms_s) row.cells.push_back(seconds_cell(term));
  row.cells.push_back({"", published.unknown});
  if (!published.unknown.empty()) {
    row.notes.push_back(fmt::format("under-specified: {}", fmt::join(published.unknown, "; ")));
  }
  return row;
}

}  // namespace

void add_scores(Document& out, const PredictorScores& scores) {
  const auto flagged = std::count_if(scores.samples.begin(), scores.samples.end(),
                                     [](const predict::Sample& sample) { return !sample.published.well_specified(); });
  out.add(Paragraph{.text = fmt::format("{} published rows are predicted. {} of them are under-specified: facts had to "
                                        "be assumed. {} rows have a published speed and cannot be predicted.",
                                        scores.samples.size(), flagged, scores.unpredicted.size())});
  for (const auto& [split, name] : spec::EnumNames<predict::ScoreSplit>::kNames) {
    auto table = score_table(Audience::people);
    for (const auto& score : scores.scores) {
      if (score.split == split) table.rows.push_back(score_row(score, Audience::people));
    }
    if (table.rows.empty()) continue;
    out.add(Heading{.level = 3, .text = split_title(split)});
    out.add(std::move(table));
  }
  auto all = score_table(Audience::programs);
  for (const auto& score : scores.scores) all.rows.push_back(score_row(score, Audience::programs));
  out.add(std::move(all));
  out.add(Note{.text = "MFU and HFU are the MAPE of predictions by one utilisation, taken from the training "
                       "rows. In zero_fit, the baselines of all external rows are taken from those rows themselves."});
  if (scores.unpredicted.empty()) return;
  Table failures{.key = "unpredicted",
                 .columns = {{.title = "cannot be predicted", .key = "row"}, {.title = "reason", .key = "reason"}},
                 .rows = {}};
  for (const auto& row : scores.unpredicted) failures.rows.push_back({.cells = {row.name, row.reason}});
  out.add(std::move(failures));
}

void add_predicted_rows(Document& out, const PredictorScores& scores) {
  Table table{.key = "predictions",
              .columns = {{.title = "split", .key = "split", .is_setting = true},
                          {.title = "row", .key = "row"},
                          figure_column("predicted (s)", "predicted_step_s"),
                          figure_column("published (s)", "published_step_s"),
                          figure_column("error %", "error_fraction"),
                          figure_column("80 % from (s)", "interval_low_s"),
                          figure_column("to (s)", "interval_high_s"),
                          {.title = "binding term", .key = "binding_term", .audience = Audience::programs},
                          {.title = "largest terms", .key = "largest_terms", .audience = Audience::people}},
              .rows = {}};
  add_term_columns(table);
  table.columns.push_back({.title = "unknown", .key = "unknown", .audience = Audience::programs});
  std::set<std::pair<predict::ScoreSplit, std::string>> shown;
  for (const auto& score : scores.scores) {
    for (const auto& p : score.predictions) {
      if (!shown.emplace(score.split, p.sample->published.name).second) continue;
      table.rows.push_back(predicted_row(score, p));
    }
  }
  out.add(std::move(table));
}

// Its column in the table of cells.
constexpr std::size_t kLargestTerms = 8;

void add_predicted_cells(Document& out, const harness::PredictedCells& cells) {
  Table table{.key = "predictions",
              .columns = {{.title = "cell", .key = "cell"},
                          figure_column("devices", "devices"),
                          figure_column("step (s)", "predicted_step_s"),
                          figure_column("80 % from", "interval_low_s"),
                          figure_column("to", "interval_high_s"),
                          figure_column("tok/s/device", "tokens_per_s_per_device"),
                          figure_column("MFU %", "mfu_fraction"),
                          {.title = "binding term", .key = "binding_term", .audience = Audience::programs},
                          {.title = "largest terms", .key = "largest_terms", .audience = Audience::people}},
              .rows = {}};
  add_term_columns(table);
  table.columns.push_back({.title = "reason", .key = "reason", .audience = Audience::programs});
  for (const auto& cell : cells.cells) {
    Row row{.cells = {cell.label, {std::to_string(cell.devices), cell.devices}}};
    if (cell.prediction) {
      const auto& p = *cell.prediction;
      for (const auto& figure :
           {seconds_cell(p.time.total_s), seconds_cell(p.low_s()), seconds_cell(p.high_s()),
            Cell{fmt::format("{:.0f}", cell.tokens_per_s_per_device), cell.tokens_per_s_per_device},
            percent_cell(cell.mfu_fraction), Cell(std::string(p.time.largest_term())),
            Cell{largest_terms(p.time), Value()}}) {
        row.cells.push_back(figure);
      }
      for (const double term : p.time.terms_s) row.cells.push_back(seconds_cell(term));
    } else {
      row.cells.resize(table.columns.size() - 1);
      row.cells[kLargestTerms] = {"not predicted", Value()};
      row.notes.push_back(cell.reason);
    }
    row.cells.push_back({"", cell.reason});
    table.rows.push_back(std::move(row));
  }
  out.add(std::move(table));
  out.add(
      Note{.text = fmt::format("{}, trained by the stack {}. Nothing is fitted and nothing was measured. MFU counts "
                               "attention as if it were not causal. Memory is not looked at: see `perfbench plan`.",
                               cells.matrix, cells.stack)});
}

void add_gate(Document& out, const std::vector<std::string>& missed) {
  if (missed.empty()) {
    out.add(Paragraph{.text = fmt::format("No score is worse than expected by more than {:.1f} points.",
                                          kPointsOfOne * predict::kGateMargin),
                      .tone = Tone::good});
    return;
  }
  out.add(Paragraph{.text = "Scores are worse than expected:", .tone = Tone::bad});
  out.add(List{.items = missed});
}

}  // namespace perfbench::reports
