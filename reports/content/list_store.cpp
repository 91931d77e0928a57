// Lists of the contents of a database.
#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "harness/judge/baseline_findings.h"
#include "harness/store/ledgers/baseline_ledger.h"
#include "harness/store/ledgers/tag_ledger.h"
#include "harness/store/queries/names.h"
#include "harness/store/queries/run_list.h"
#include "harness/store/stored_row.h"
#include "harness/system/utc.h"
#include "reports/content/cells.h"
#include "reports/content/list_document.h"
#include "reports/content/listed_table.h"
#include "reports/render/format/number.h"

namespace perfbench::reports {
namespace {

using harness::Visit;

Tone tone_of_attempt_state(harness::AttemptState state) {
  if (state == harness::AttemptState::ok) return Tone::plain;
  const bool was_known = state == harness::AttemptState::infeasible || state == harness::AttemptState::excluded;
  return was_known ? Tone::doubtful : Tone::bad;
}

Cell state_cell(const harness::ListedRun& run) {
  const std::string state(spec::enum_name(run.state));
  const bool mixed = run.finished > 0 && run.finished < run.attempts;
  return {mixed ? state + " (" + std::to_string(run.finished) + " of " + std::to_string(run.attempts) + ")" : state,
          Value(state), tone_of_attempt_state(run.state)};
}

Cell tags_cell(const std::vector<std::string>& tags) {
  std::string text;
  for (const auto& tag : tags) text += (text.empty() ? "" : ", ") + tag;
  return {text.empty() ? kNothing : text, Value(tags)};
}

Cell text_cell(const std::string& text) {
  return text.empty() ? Cell(kNothing, Value(text)) : Cell(text);
}

Cell state_cell(const harness::Connection& db, const harness::Baseline& entry, const std::string& now) {
  constexpr const char* kSuperseded = "superseded";
  if (!entry.expires_utc.empty() && entry.expires_utc <= now) return {"expired", Value("expired"), Tone::doubtful};
  try {
    const auto current = harness::find_baseline(db, entry.name, now);
    if (!current || current->key != entry.key) return kSuperseded;
    return {"in force", Value("in force"), Tone::good};
  } catch (const harness::UnreadableRow&) {
    return kSuperseded;  // superseded by an entry that cannot be read, which counts among those left out
  }
}

std::vector<Column> listed_columns() {
  return {{.title = "run", .key = "run_id"},
          {.title = "attempts", .key = "attempts", .align = Align::right},
          {.title = "matrix", .key = "matrix"},
          {.title = "cell", .key = "cell"},
          {.title = "state", .key = "state"},
          {.title = "date", .key = "started_utc"},
          {.title = "subject", .key = "subject"},
          {.title = "commit", .key = "git_commit", .audience = Audience::programs},
          {.title = "machine", .key = "machine"},
          {.title = "step time", .key = "step_time_s", .align = Align::right},
          {.title = "sweep", .key = "sweep_id"},
          {.title = "kind", .key = "kind", .audience = Audience::programs},
          {.title = "engine", .key = "engine_sha256", .audience = Audience::programs},
          {.title = "tags", .key = "tags"}};
}

Row row_of(const harness::ListedRun& run) {
  return {.cells = {id_cell(run.run_id), count_cell(run.attempts), text_cell(run.matrix), text_cell(run.cell),
                    state_cell(run), run.started_utc, harness::subject_name(run.subject), id_cell(run.git_commit),
                    id_cell(run.machine), amount_cell(run.step_time_s, "step_time_s"), text_cell(run.sweep_id),
                    std::string(spec::enum_name(run.kind)), id_cell(run.subject.engine_sha256), tags_cell(run.tags)}};
}

// The conditions on rows of runs, as a filter for the query that finds the runs. An axis may have the name of a column;
// the condition then applies to either.
harness::RunFilter filter_of(const TableFilter& filter, const std::vector<std::string>& axes) {
  std::set<std::string> of_cell{"run_id", "matrix", "cell"};
  const auto columns = listed_columns();
  for (const auto& axis : axes) {
    if (std::ranges::find(columns, axis, &Column::key) == columns.end()) of_cell.insert(axis);
  }
  const auto by = [&filter](const std::set<std::string>& keys) -> harness::RunFilter::MayBe {
    if (!filter.asks_of(keys)) return {};
    return [&filter, keys](const harness::ListedRun& run) { return filter.may_keep(row_of(run), keys, run.axes); };
  };
  const auto by_no_axis = [&](std::set<std::string> keys) {
    for (const auto& axis : axes) keys.erase(axis);
    return by(keys);
  };
  harness::RunFilter out{.cell = by(of_cell),
                         .sweep = by_no_axis({"sweep_id", "kind"}),
                         .environment = by_no_axis({"git_commit", "machine"}),
                         .all_ok = by_no_axis({"state"}),
                         .untagged = by_no_axis({"tags"})};
  const std::string start = "started_utc";
  if (!by_no_axis({start})) return out;
  out.sweep = [&filter, start, of_sweep = std::move(out.sweep)](const harness::ListedRun& run) {
    return filter.may_keep_from(start, run.started_utc) && (!of_sweep || of_sweep(run));
  };
  return out;
}

}  // namespace

Document list_runs(const harness::Connection& db, const ListQuery& query) {
  const auto axes = harness::list_axes(db);
  ListedTable out("runs", listed_columns(), query, axes);
  std::size_t looked_at = 0;
  bool was_stopped = false;
  const auto show = [&](const harness::ListedRun& run) {
    was_stopped = looked_at == query.most_looked_at;
    if (was_stopped) return Visit::stop;
    ++looked_at;
    return out.add(row_of(run), run.axes) ? Visit::go_on : Visit::stop;
  };
  harness::for_each_run(db, show, filter_of(out.filter(), axes));
  auto document = std::move(out).document();
  if (was_stopped) {
    document.add(Note{
        fmt::format("Only {} runs were checked, those of the newest sweeps; add look=all to the address to check all.",
                    looked_at)});
  }
  return document;
}

Document list_sweeps(const harness::Connection& db, const ListQuery& query) {
  ListedTable out("sweeps",
                  {{.title = "sweep", .key = "sweep_id"},
                   {.title = "matrix", .key = "matrix"},
                   {.title = "kind", .key = "kind"},
                   {.title = "date", .key = "started_utc"},
                   {.title = "cells", .key = "cells", .align = Align::right},
                   {.title = "attempts", .key = "attempts", .align = Align::right},
                   {.title = "ok", .key = "finished", .align = Align::right},
                   {.title = "--only", .key = "selection"}},
                  query);
  harness::for_each_sweep(db, [&](const harness::ListedSweep& sweep) {
    Row row{.cells = {text_cell(sweep.sweep_id), text_cell(sweep.matrix), std::string(spec::enum_name(sweep.kind)),
                      sweep.started_utc, count_cell(sweep.cells), count_cell(sweep.attempts),
                      count_cell(sweep.finished), text_cell(sweep.selection)}};
    return out.add(std::move(row)) ? Visit::go_on : Visit::stop;
  });
  return std::move(out).document();
}

Document list_baselines(const harness::Connection& db, const ListQuery& query) {
  ListedTable out("baselines",
                  {{.title = "name", .key = "name"},
                   {.title = "kind", .key = "kind"},
                   {.title = "state", .key = "state"},
                   {.title = "created", .key = "created_utc"},
                   {.title = "expires", .key = "expires_utc"},
                   {.title = "runs", .key = "runs", .align = Align::right},
                   {.title = "values", .key = "values", .align = Align::right},
                   {.title = "author", .key = "author"},
                   {.title = "reason", .key = "reason"},
                   {.title = "source", .key = "source"}},
                  query);
  const auto now = harness::utc_now();
  const auto ledger = harness::list_baselines(db);
  for (auto entry = ledger.rbegin(); entry != ledger.rend(); ++entry) {
    Row row{.cells = {entry->name, std::string(spec::enum_name(entry->kind)), state_cell(db, *entry, now),
                      entry->created_utc,
                      entry->expires_utc.empty() ? Cell("never", Value()) : Cell(entry->expires_utc),
                      count_cell(std::ssize(entry->attempt_keys)), count_cell(std::ssize(entry->values)), entry->author,
                      entry->reason, entry->source}};
    if (!out.add(std::move(row))) break;
  }
  auto document = std::move(out).document();
  for (const auto& finding : harness::expired_baselines(ledger, now)) {
    document.add(Paragraph{.text = finding.what, .tone = Tone::doubtful});
    document.add(Note{finding.command});
  }
  return document;
}

Document list_tags(const harness::Connection& db, const ListQuery& query) {
  ListedTable out("tags",
                  {{.title = "tag", .key = "tag"},
                   {.title = "run", .key = "run_id"},
                   {.title = "attempt", .key = "attempt", .align = Align::right},
                   {.title = "author", .key = "author"},
                   {.title = "date", .key = "created_utc"}},
                  query);
  for (const auto& tag : harness::list_tags(db)) {
    Cell attempt("all", Value());
    const auto number = tag.attempt_key ? harness::number_of_attempt(db, *tag.attempt_key) : std::nullopt;
    if (number) attempt = count_cell(*number);
    if (!out.add({.cells = {tag.name, id_cell(tag.run_id), attempt, tag.author, tag.created_utc}})) break;
  }
  return std::move(out).document();
}

}  // namespace perfbench::reports
