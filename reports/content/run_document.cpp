#include "reports/content/run_document.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "harness/app/execution.h"
#include "harness/evidence/environment_rows.h"
#include "harness/matrix/matrix.h"
#include "reports/content/cells.h"
#include "reports/content/listed_table.h"
#include "reports/content/peak_blocks.h"
#include "reports/content/run_charts.h"
#include "reports/render/format/escape.h"
#include "reports/render/format/number.h"

namespace perfbench::reports {
namespace {

using harness::AttemptState;
using harness::RunView;
using harness::ViewedAttempt;

std::string short_id(const RunView& view) {
  return view.named.run_id.substr(0, 12);
}

// "3f09ac12d4e5", or "3f09ac12d4e5/2" for one attempt.
std::string shown_name(const RunView& view) {
  if (view.named.means == harness::NameMeans::run) return short_id(view);
  return short_id(view) + "/" + std::to_string(view.named.attempts.front().attempt);
}

// With one subject, the commit and the engine say all that the column would.
Audience subject_audience(const RunView& view) {
  return view.subjects.size() > 1 ? Audience::everyone : Audience::programs;
}

// A column of empty cells tells people nothing.
Audience origin_audience(const RunView& view) {
  const bool any = std::any_of(view.attempts.begin(), view.attempts.end(),
                               [](const ViewedAttempt& one) { return !one.origin.empty(); });
  return any ? Audience::everyone : Audience::programs;
}

// The name that `perfbench trace` accepts; nothing if attempts of several machines have the same number.
Cell trace_cell(const RunView& view, const ViewedAttempt& one) {
  if (!one.traced) return {kNothing, Value()};
  const auto namesakes = std::count_if(view.attempts.begin(), view.attempts.end(), [&one](const auto& other) {
    return other.attempt.attempt == one.attempt.attempt;
  });
  if (namesakes > 1) return {kNothing, Value()};
  return short_id(view) + "/" + std::to_string(one.attempt.attempt);
}

Cell newest_trace(const RunView& view, std::size_t subject) {
  const auto found = std::find_if(view.attempts.rbegin(), view.attempts.rend(),
                                  [subject](const auto& one) { return one.traced && one.subject == subject; });
  return found == view.attempts.rend() ? Cell(kNothing, Value()) : trace_cell(view, *found);
}

std::vector<Column> run_columns() {
  return {{.title = "run", .key = "run_id"},
          {.title = "matrix", .key = "matrix"},
          {.title = "cell", .key = "cell"},
          {.title = "subject", .key = "subject"},
          {.title = "attempts", .key = "attempts", .align = Align::right},
          {.title = "ok", .key = "finished", .align = Align::right},
          {.title = "newest", .key = "started_utc"},
          {.title = "commit", .key = "git_commit"}};
}

Row run_row(const RunView& view, const harness::ViewedSubject& subject) {
  const auto& newest = view.attempts.back().attempt;
  return {.cells = {Cell(shown_name(view), Value(view.named.run_id)), newest.matrix, newest.cell, subject.name,
                    count_cell(subject.attempts), count_cell(subject.finished), subject.started_utc,
                    id_cell(subject.subject.git_commit)}};
}

Table run_table(const RunView& view) {
  Table out{.key = "run", .columns = run_columns(), .rows = {}};
  for (const auto& subject : view.subjects) out.rows.push_back(run_row(view, subject));
  return out;
}

Table attempts_table(const RunView& view) {
  Table out{.key = "attempts",
            .columns = {{.title = "attempt", .key = "attempt", .align = Align::right},
                        {.title = "date", .key = "started_utc"},
                        {.title = "state", .key = "state"},
                        {.title = "reason", .key = "reason"},
                        {.title = "sweep", .key = "sweep_id"},
                        {.title = "kind", .key = "kind"},
                        {.title = "subject", .key = "subject", .audience = subject_audience(view)},
                        {.title = "engine", .key = "engine_sha256"},
                        {.title = "origin", .key = "origin", .audience = origin_audience(view)},
                        {.title = "trace", .key = "trace"},
                        {.title = "evidence", .key = "evidence"}},
            .rows = {}};
  for (const auto& one : view.attempts) {
    const auto& attempt = one.attempt;
    const auto tone = attempt.state == AttemptState::ok ? Tone::plain : Tone::bad;
    const std::string state(spec::enum_name(attempt.state));
    out.rows.push_back(
        {.cells = {count_cell(attempt.attempt), attempt.started_utc, Cell(state, Value(state), tone), attempt.reason,
                   attempt.sweep_id, one.sweep_kind, view.subjects[one.subject].name,
                   id_cell(attempt.subject.engine_sha256), one.origin, trace_cell(view, one),
                   one.evidence ? Cell(one.evidence->string()) : Cell("not in " + view.runs.string(), Value())}});
  }
  return out;
}

Table metrics_table(const RunView& view) {
  Table out{.key = "metrics",
            .columns = {{.title = "metric", .key = "metric"},
                        {.title = "value", .key = "value", .align = Align::right},
                        {.title = "unit", .key = "unit", .audience = Audience::programs},
                        {.title = "attempts", .key = "attempts", .align = Align::right},
                        {.title = "subject", .key = "subject", .audience = subject_audience(view)}},
            .rows = {}};
  for (const auto& subject : view.subjects) {
    for (const auto& metric : subject.metrics) {
      out.rows.push_back({.cells = {metric.name,
                                    {format_amount(metric.value, metric.unit), metric.value},
                                    metric.unit,
                                    count_cell(metric.count),
                                    subject.name}});
    }
  }
  return out;
}

// The numbers of the newest subject that a reader looks for first.
Cards run_cards(const RunView& view) {
  static constexpr std::pair<const char*, const char*> kShown[] = {
      {"step_time_s", "step time, median"}, {"step_time_p90_s", "step time, 90 % below"},
      {"tokens_per_s", "tokens/s"},         {"mfu_fraction", "MFU"},
      {"peak_memory_bytes", "peak memory"}, {"final_loss", "final loss"}};
  Cards out;
  for (const auto& [name, title] : kShown) {
    for (const auto& metric : view.subjects.back().metrics) {
      if (metric.name != name) continue;
      out.cards.push_back({.title = title,
                           .value = format_amount(metric.value, metric.unit),
                           .detail = metric.count == 1 ? "one attempt" : fmt::format("{} attempts", metric.count)});
    }
  }
  return out;
}

void add_run_origin(Document& out, const RunView& view) {
  const auto& newest = view.subjects.back();
  out.add_origin("Date", newest.started_utc);
  out.add_origin("Machine", harness::device_model(view.environment));
  out.add_origin("Commit", first_digits(newest.subject.git_commit));
  out.add_origin("Cell", harness::shown_label(view.attempts.back().attempt.cell));
}

template <class Pairs>
Table pairs_table(const std::string& key, const std::string& name, const Pairs& pairs) {
  Table out{.key = key, .columns = {{.title = name, .key = name}, {.title = "value", .key = "value"}}, .rows = {}};
  for (const auto& [field, value] : pairs) out.rows.push_back({.cells = {field, value}});
  return out;
}

Cell attempt_cell(const RunView& view, const std::optional<std::int64_t>& key) {
  for (const auto& one : view.attempts) {
    if (key && one.attempt.key == *key) return count_cell(one.attempt.attempt);
  }
  return {"all", Value()};
}

Table tags_table(const RunView& view) {
  Table out{.key = "tags",
            .columns = {{.title = "tag", .key = "tag"},
                        {.title = "attempt", .key = "attempt", .align = Align::right},
                        {.title = "author", .key = "author"},
                        {.title = "date", .key = "created_utc"}},
            .rows = {}};
  for (const auto& tag : view.tags) {
    out.rows.push_back({.cells = {tag.name, attempt_cell(view, tag.attempt_key), tag.author, tag.created_utc}});
  }
  return out;
}

Table notes_table(const RunView& view) {
  Table out{.key = "notes",
            .columns = {{.title = "note", .key = "text"},
                        {.title = "attempt", .key = "attempt", .align = Align::right},
                        {.title = "author", .key = "author"},
                        {.title = "date", .key = "created_utc"}},
            .rows = {}};
  for (const auto& note : view.notes) {
    out.rows.push_back({.cells = {note.text, attempt_cell(view, note.attempt_key), note.author, note.created_utc}});
  }
  return out;
}

void add_section(Document& out, const std::string& title, Table table) {
  out.add(Heading{.level = 2, .text = title});
  out.add(std::move(table));
}

void add_folded(Document& out, const std::string& title, Table table) {
  out.add(Heading{.level = 2, .text = title, .folded = true});
  out.add(std::move(table));
}

// A table of two sides, with column names for people and for programs.
Table differences_table(const std::string& key, const std::string& name, const Column& left, const Column& right,
                        const std::vector<spec::FieldDifference>& fields) {
  Table out{.key = key, .columns = {{.title = name, .key = name}, left, right}, .rows = {}};
  for (const auto& field : fields) out.rows.push_back({.cells = {field.field, field.left, field.right}});
  return out;
}

void add_baseline(Document& out, const harness::AgainstBaseline& baseline) {
  if (baseline.environment.empty()) {
    out.add(Paragraph{"The environment is that of baseline " + baseline.name + "."});
    return;
  }
  add_section(out, "Environment that differs from that of baseline " + baseline.name,
              differences_table("baseline_environment", "fact", {.title = baseline.name, .key = "baseline"},
                                {.title = "this run", .key = "run"}, baseline.environment));
}

// Records have the memory of the run in total and by scope. Tensors are counted, and the table says where the counts
// differ.
void add_memory(Document& out, const RunView& view) {
  constexpr std::size_t kTensorsShown = 12;
  const auto& [counts, failure] = *view.memory;
  if (!failure.empty() || counts.peak.total_bytes == 0) {
    const auto& why = failure.empty() ? counts.reason : failure;
    out.add(Note{"Tensors at the peak of memory are unknown, because the engine did not count them: " + why});
    return;
  }
  if (auto course = course_chart(counts); !course.series[0].points.empty()) out.add(std::move(course));
  out.add(Heading{.level = 2, .text = "Tensors in use at the peak of memory, as counted"});
  out.add(largest_tensors_table(counts, kTensorsShown));
  out.add(tensors_table(counts, Audience::programs));
  out.add(Note{fmt::format("Rank {}, {} in all{}.", counts.rank, human_bytes(counts.peak.total_bytes),
                           moment_text(counts.peak_at))});
  std::int64_t recorded = 0;
  for (const auto& step : view.steps) {
    if (step.rank == counts.rank) recorded = std::max(recorded, step.peak.total_bytes);
  }
  if (recorded > 0 && recorded != counts.peak.total_bytes) {
    out.add(Paragraph{.text = fmt::format("The run recorded {} at its peak, which differs from this engine's count.",
                                          human_bytes(recorded)),
                      .tone = Tone::doubtful});
  }
}

// The command in the form in which a user types it. nullopt for a run that was never executed, or whose evidence is not
// on this machine.
std::optional<std::string> reproducing_command(const RunView& view) {
  const auto can_be = std::find_if(view.attempts.rbegin(), view.attempts.rend(), [](const auto& one) {
    const auto state = one.attempt.state;
    return one.evidence && state != AttemptState::infeasible && state != AttemptState::excluded;
  });
  if (can_be == view.attempts.rend()) return std::nullopt;
  const bool is_found = view.runs == harness::runs_folder({}, view.db);  // whether the run can be found by its name
  return "perfbench reproduce " + (is_found ? shown_name(view) : shell_word(can_be->evidence->string())) + " --db " +
         shell_word(view.db.string());
}

// If several engines executed the run, a difference shows only one of them.
void note_other_subjects(Document& out, const RunView& view, std::size_t shown) {
  std::string others;
  for (std::size_t i = 0; i < view.subjects.size(); ++i) {
    if (i != shown) others += (others.empty() ? "" : "; ") + view.subjects[i].name;
  }
  if (!others.empty()) out.add(Note{shown_name(view) + "@SUBJECT shows another subject of that run: " + others + "."});
  if (!view.named.left_out.empty()) out.add(Note{view.named.left_out + "."});
}

}  // namespace

Document run_document(const RunView& view) {
  Document out;
  out.add(Heading{.level = 1, .text = "Run " + shown_name(view)});
  add_run_origin(out, view);
  out.add(run_cards(view));
  out.add(run_table(view));
  if (!view.named.left_out.empty()) out.add(Note{view.named.left_out + "."});
  if (view.subjects.size() > 1 && !view.steps.empty()) {
    out.add(Paragraph{"Charts of steps show the newest attempt that is ok."});
  }
  for (auto& chart : run_charts(view.steps)) out.add(std::move(chart));
  if (view.memory) add_memory(out, view);
  add_section(out, "Attempts", attempts_table(view));
  add_section(out, "Metrics, medians over the attempts that are ok", metrics_table(view));
  add_folded(out, "Configuration", pairs_table("configuration", "field", view.configuration));
  add_folded(out, view.subjects.size() > 1 ? "Environment of the newest attempt" : "Environment",
             pairs_table("environment", "fact", view.environment));
  if (view.baseline) add_baseline(out, *view.baseline);
  if (!view.tags.empty()) add_section(out, "Tags", tags_table(view));
  if (!view.notes.empty()) add_section(out, "Notes", notes_table(view));
  if (const auto command = reproducing_command(view)) {
    out.add(Heading{.level = 2, .text = "To repeat it and compare it with the record"});
    out.add(Paragraph{*command});
  }
  return out;
}

Document difference_document(const harness::RunDifference& difference) {
  Document out;
  out.add(Heading{.level = 1, .text = shown_name(difference.left) + " beside " + shown_name(difference.right)});
  Table runs{.key = "runs", .columns = run_columns(), .rows = {}};
  runs.columns.push_back({.title = "trace", .key = "trace"});
  const std::pair<const RunView*, std::size_t> sides[] = {{&difference.left, difference.left_subject},
                                                          {&difference.right, difference.right_subject}};
  for (const auto& [view, subject] : sides) {
    runs.rows.push_back(run_row(*view, view->subjects[subject]));
    runs.rows.back().cells.push_back(newest_trace(*view, subject));
  }
  out.add(std::move(runs));
  for (const auto& [view, subject] : sides) note_other_subjects(out, *view, subject);
  const bool alike = shown_name(difference.left) == shown_name(difference.right);
  const auto title = [alike](const RunView& view, std::size_t subject) {
    return shown_name(view) + (alike ? "@" + view.subjects[subject].name : "");
  };
  const Column left{.title = title(difference.left, difference.left_subject), .key = "left"};
  const Column right{.title = title(difference.right, difference.right_subject), .key = "right"};
  add_section(out, difference.configuration.empty() ? "The configuration is the same" : "Configuration that differs",
              differences_table("configuration", "field", left, right, difference.configuration));
  add_section(out, difference.environment.empty() ? "The environment is the same" : "Environment that differs",
              differences_table("environment", "fact", left, right, difference.environment));
  Table numbers{.key = "metrics",
                .columns = {{.title = "metric", .key = "metric"},
                            {.title = "unit", .key = "unit"},
                            {.title = left.title, .key = "left", .align = Align::right},
                            {.title = right.title, .key = "right", .align = Align::right},
                            {.title = "ratio", .key = "ratio", .align = Align::right}},
                .rows = {}};
  for (const auto& metric : difference.metrics) {
    numbers.rows.push_back({.cells = {metric.name, metric.unit, number_cell(metric.left), number_cell(metric.right),
                                      number_cell(metric.ratio)}});
  }
  add_section(out, "Numbers, medians over the attempts that are ok", std::move(numbers));
  out.add(Paragraph{.text = "Two runs decide nothing about speed, because a difference may come from the state of the "
                            "machine. `perfbench compare` compares a sweep with a baseline, `perfbench compare --ab` "
                            "two engines or settings in pairs."});
  return out;
}

}  // namespace perfbench::reports
