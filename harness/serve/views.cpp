#include "harness/serve/views.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "harness/app/execution.h"
#include "harness/app/pairs/stored_ab_report.h"
#include "harness/app/runs/run_name.h"
#include "harness/app/runs/stored_tables.h"
#include "harness/app/runs/traced_run.h"
#include "harness/judge/alert_rules.h"
#include "harness/stats/verdict.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "harness/store/ledgers/baseline_ledger.h"
#include "harness/store/ledgers/judgement_ledger.h"
#include "harness/store/queries/names.h"
#include "harness/store/queries/query.h"
#include "harness/store/queries/running_sweeps.h"
#include "harness/store/queries/series.h"
#include "harness/store/stored_row.h"
#include "harness/system/input_error.h"
#include "harness/system/utc.h"
#include "reports/content/ab_report.h"
#include "reports/content/list_document.h"
#include "reports/content/overview_document.h"
#include "reports/render/format/escape.h"
#include "reports/views/store_views.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {
namespace {

using reports::Document;

constexpr std::size_t kNewest = 8;    // for an overview
constexpr std::size_t kListed = 500;  // for a list, unless ?limit= says otherwise
constexpr std::size_t kMost = 10'000;
constexpr std::size_t kLookedAt = 10'000;  // for a filtered list, unless ?look=all

struct Asked {
  const Connection& db;
  const ViewRequest& request;
  const Installation& installation;
  reports::MemoryCounts& counts;
  std::string rest;  // the part of the path after the view's name and a slash

  std::string parameter(const std::string& name, const std::string& otherwise) const {
    const auto found = request.parameters.find(name);
    return found == request.parameters.end() || found->second.empty() ? otherwise : found->second;
  }
  // A parameter that is a number from `least` to kMost.
  std::size_t number(const std::string& name, std::size_t least, std::size_t otherwise) const {
    const auto text = parameter(name, std::to_string(otherwise));
    std::size_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc() || end != text.data() + text.size() || out < least || out > kMost) {
      throw InputError(fmt::format("{} must be a number from {} to {}, found {}", name, least, kMost, text));
    }
    return out;
  }
};

// Adds the command that prints what the page shows: "perfbench report --db perf.db --sort step_time_s". Its options are
// those parameters of the page that were given.
void add_command(Document& out, const Asked& asked, const std::string& command,
                 std::initializer_list<const char*> parameters) {
  auto text = "perfbench " + command + " --db " + reports::shell_word(asked.db.path().filename().string());
  for (const auto* name : parameters) {
    if (const auto value = asked.parameter(name, ""); !value.empty()) {
      text += fmt::format(" --{} {}", name, reports::shell_word(value));
    }
  }
  out.add_origin("Command", text);
}

void append(Document& out, Document&& more) {
  for (auto& block : more.blocks) out.blocks.push_back(std::move(block));
}

// The name of a run as used in pages. find_run() also accepts folders, but clients on the network must not learn about
// this machine's disk. `subject` comes from the address, too.
NamedRun run_of_address(const Asked& asked, const std::string& name, const std::string& subject) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '/'; };
  if (!std::all_of(name.begin(), name.end(), is_digit)) throw InputError("there is no run named " + name);
  const auto prefix = name.find('/') == std::string::npos ? "run:" : "attempt:";
  return find_run(asked.db, prefix + name + (subject.empty() ? "" : "@" + subject), "serve");
}

reports::RunQuery run_query(const Asked& asked) {
  return {.runs = runs_folder({}, asked.db.path())};
}

Document overview(const Asked& asked) {
  constexpr std::int64_t kNights = 20;  // for the lines of heights
  const auto now = utc_now();
  auto out = reports::overview_document({.name = asked.db.path().filename().string(),
                                         .live_alerts = load_alerts(asked.db, AlertScope::live),
                                         .nights = newest_night_answers(asked.db, now),
                                         .history = load_history(asked.db, {.nights = kNights}),
                                         .running = running_sweeps(asked.db, now)});
  if (!has_any_attempt(asked.db)) {
    out.add(reports::Note{"The database has no run yet; a sweep that writes to it will appear here."});
    return out;
  }
  out.add(reports::Heading{.level = 2, .text = "Newest sweeps"});
  append(out, reports::list_sweeps(asked.db, {.limit = kNewest, .remedy = "`perfbench list sweeps` shows more"}));
  out.add(reports::Heading{.level = 2, .text = "Newest runs"});
  append(out, reports::list_runs(asked.db, {.limit = kNewest, .remedy = "the page Runs shows more"}));
  return out;
}

// The comparison that this sweep belongs to; nullopt if there is none, or a row of it cannot be read.
std::optional<AbReport> comparison(const Asked& asked, const std::string& sweep) {
  try {
    return stored_ab_report(asked.db, sweep);
  } catch (const UnreadableRow& e) {
    asked.db.leave_out(e.what());
    return std::nullopt;
  }
}

// As `report --columns A,B --sort KEY --best N --heat-map A,B`.
reports::RowChoice row_choice(const Asked& asked) {
  reports::RowChoice out{.sort = asked.parameter("sort", ""), .best = asked.number("best", 0, 0)};
  for (const auto& [parameter, list] : {std::pair{"columns", &out.columns}, {"heat-map", &out.heat_map}}) {
    std::istringstream names(asked.parameter(parameter, ""));
    for (std::string name; std::getline(names, name, ',');) list->push_back(name);
  }
  if (out.best > 0 && out.sort.empty()) throw InputError("best needs sort: the column by which rows are the first");
  return out;
}

std::vector<std::string> style_names() {
  std::vector<std::string> out;
  for (const auto& [style, name] : spec::EnumNames<reports::TableStyle>::kNames) out.emplace_back(name);
  return out;
}

// Each name once, the newest first.
std::vector<std::string> baseline_names(const Connection& db) {
  std::vector<std::string> out;
  for (const auto& baseline : list_baselines(db)) {
    if (std::find(out.begin(), out.end(), baseline.name) == out.end()) out.push_back(baseline.name);
  }
  return out;
}

Document report(const Asked& asked) {
  TableQuery query{.selection = asked.parameter("sweep", "latest")};
  if (const auto matrix = asked.parameter("matrix", ""); !matrix.empty()) query.matrices = {matrix};
  query.baseline = asked.parameter("baseline", "");
  const auto style = asked.parameter("style", "table");
  const auto known = spec::enum_value<reports::TableStyle>(style);
  if (!known) throw InputError("there is no style " + style);
  const auto rows = row_choice(asked);
  if (query.selection == "all") throw InputError("all sweeps are too many for a page; perfbench report --sweep all");
  parse_selection(query.selection);  // throws if it is not valid
  for (const auto& [one, other] : {std::pair{"sweep", "matrix"}, {"style", "columns"}}) {
    if (asked.parameter(one, "").empty() || asked.parameter(other, "").empty()) continue;
    throw InputError(fmt::format("{} and {} exclude each other", one, other));
  }
  Document out;
  const auto pairs = comparison(asked, query.selection);
  const bool is_comparison = pairs.has_value();
  if (is_comparison) {
    append(out, reports::ab_document(*pairs));
    const bool none = std::all_of(pairs->cells.begin(), pairs->cells.end(),
                                  [](const CellVerdict& cell) { return cell.pairs_seen.empty(); });
    if (none) return out;
    out.add(reports::Heading{.level = 2, .text = "Its runs"});
  }
  append(out, reports::report_view(asked.db, query, {.style = *known, .rows = rows}, asked.installation));
  out.controls = {
      {.parameter = "matrix", .title = "Matrix", .value = asked.parameter("matrix", "")},
      {.parameter = "baseline",
       .title = "Baseline",
       .value = asked.parameter("baseline", ""),
       .choices = baseline_names(asked.db)},
      {.parameter = "style", .title = "Style", .value = asked.parameter("style", ""), .choices = style_names()},
      {.parameter = "sort", .title = "Sort by", .value = asked.parameter("sort", "")},
      {.parameter = "best", .title = "First rows", .value = asked.parameter("best", "")},
      {.parameter = "columns", .title = "Columns", .value = asked.parameter("columns", "")},
      {.parameter = "heat-map", .title = "Heat map of two axes", .value = asked.parameter("heat-map", "")}};
  // No command prints a comparison and its runs.
  if (!is_comparison) {
    add_command(out, asked, "report", {"sweep", "matrix", "baseline", "style", "sort", "best", "columns", "heat-map"});
  }
  return out;
}

Document runs(const Asked& asked) {
  reports::ListQuery query{.limit = asked.number("limit", 1, kListed),
                           .remedy = "the fields above choose more rows, or others"};
  if (const auto where = asked.parameter("where", ""); !where.empty()) query.where = {where};
  if (asked.parameter("look", "") != "all") query.most_looked_at = kLookedAt;
  Document out;
  out.add(reports::Heading{.level = 1, .text = "Runs"});
  append(out, reports::list_runs(asked.db, query));
  out.controls = {{.parameter = "where", .title = "Only KEY=VALUE", .value = asked.parameter("where", "")},
                  {.parameter = "limit", .title = "Rows", .value = asked.parameter("limit", "")}};
  add_command(out, asked, fmt::format("list --limit {}", query.limit), {"where"});
  return out;
}

// The name of a run as commands take it, from the parameters of an address.
std::string run_word(const std::string& name, const std::string& subject) {
  return reports::shell_word(subject.empty() ? name : name + "@" + subject);
}

Document run(const Asked& asked) {
  const auto subject = asked.parameter("subject", "");
  auto out = reports::run_view(asked.db, run_of_address(asked, asked.rest, subject), run_query(asked),
                               asked.installation, asked.counts);
  add_command(out, asked, "show " + run_word(asked.rest, subject), {});
  return out;
}

TracedRun traced_run(const Asked& asked, const NamedRun& named) {
  const auto folder = folder_of_run(asked.db, named, runs_folder({}, asked.db.path()));
  if (!folder) throw InputError("the run directory of " + named.text() + " does not exist any more");
  return read_traced_run(*folder);
}

Document trace(const Asked& asked) {
  const auto subject = asked.parameter("subject", "");
  const auto named = run_of_address(asked, asked.rest, subject);
  const auto against = asked.parameter("against", "");
  auto command = "trace " + run_word(asked.rest, subject);
  Document out{.lasting = true};
  if (against.empty()) {
    out.add(reports::Heading{.level = 1, .text = "Traced steps of " + named.text()});
    append(out, reports::trace_view(traced_run(asked, named), asked.installation));
  } else {
    const auto before_subject = asked.parameter("against_subject", "");
    const auto before = run_of_address(asked, against, before_subject);
    command += " --against " + run_word(against, before_subject);
    out.add(reports::Heading{.level = 1, .text = "B, " + named.text() + ", against A, " + before.text()});
    append(out, reports::trace_difference_view(traced_run(asked, before), traced_run(asked, named)));
  }
  add_command(out, asked, command, {});
  return out;
}

Document diff(const Asked& asked) {
  std::string command = "diff";
  const auto side = [&](const std::string& name) {
    const auto run = asked.parameter(name, "");
    const auto subject = asked.parameter(name + "_subject", "");
    auto out = run_of_address(asked, run, subject);
    command += " " + run_word(run, subject);
    return out;
  };
  auto left = side("left");
  auto out = reports::difference_view(asked.db, std::move(left), side("right"), run_query(asked), asked.installation);
  add_command(out, asked, command, {});
  return out;
}

Document history(const Asked& asked) {
  HistoryQuery query{.series = asked.parameter("series", "*"), .metric = asked.parameter("metric", "step_time_s")};
  auto out = reports::history_view(asked.db, query).document;
  out.controls = {
      {.parameter = "metric", .title = "Metric", .value = asked.parameter("metric", ""), .choices = judged_metrics()},
      {.parameter = "series", .title = "Series", .value = asked.parameter("series", "")}};
  add_command(out, asked, "history", {"metric", "series"});
  return out;
}

Document alerts(const Asked& asked) {
  if (!asked.rest.empty()) {
    const auto alert = find_alert(asked.db, asked.rest);
    auto out = reports::alert_view(alert);
    for (const auto next : next_states(alert.state())) out.actions.emplace_back(spec::enum_name(next));
    add_command(out, asked, "alerts show " + alert.alert_id, {});
    return out;
  }
  const auto scope = asked.parameter("state", "live") == "all" ? AlertScope::all : AlertScope::live;
  Document out;
  out.add(reports::Heading{.level = 1, .text = "Alerts"});
  append(out, reports::alerts_view(load_alerts(asked.db, scope)));
  out.controls = {
      {.parameter = "state", .title = "State", .value = asked.parameter("state", ""), .choices = {"live", "all"}}};
  add_command(out, asked, "alerts list", {"state"});
  return out;
}

struct Place {
  std::string_view path;
  Document (*show)(const Asked&);
  bool has_rest = false;
};
constexpr std::array kPlaces{Place{"/", overview},       Place{"/report", report},      Place{"/runs", runs},
                             Place{"/run", run, true},   Place{"/diff", diff},          Place{"/trace", trace, true},
                             Place{"/history", history}, Place{"/alerts", alerts, true}};

}  // namespace

const reports::Site& site() {
  static const reports::Site kSite{
      .places = {
          {"Overview", "/"}, {"Report", "/report"}, {"Runs", "/runs"}, {"History", "/history"}, {"Alerts", "/alerts"}}};
  return kSite;
}

Document view(const Connection& db, const ViewRequest& request, const Installation& installation,
              reports::MemoryCounts& counts) {
  for (const auto& place : kPlaces) {
    const std::string beginning = std::string(place.path) + "/";
    const bool has_rest = place.has_rest && request.path.starts_with(beginning);
    if (request.path != place.path && !has_rest) continue;
    return place.show({.db = db,
                       .request = request,
                       .installation = installation,
                       .counts = counts,
                       .rest = has_rest ? request.path.substr(beginning.size()) : ""});
  }
  std::vector<std::string> paths;
  for (const auto& place : kPlaces) paths.emplace_back(place.path);
  throw InputError(fmt::format("There is no page {}{}.", request.path, spec::suggestion(request.path, paths)));
}

}  // namespace perfbench::harness
