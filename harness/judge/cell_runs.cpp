#include "harness/judge/cell_runs.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "harness/stats/log_difference.h"
#include "harness/stats/steady.h"
#include "harness/system/input_error.h"
#include "harness/system/utc.h"
#include "workloads/spec/metric_catalog.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::harness {

std::vector<const StoredAttempt*> CellRuns::finished() const {
  std::vector<const StoredAttempt*> out;
  for (const auto& attempt : attempts) {
    if (attempt.state == AttemptState::ok) out.push_back(&attempt);
  }
  return out;
}

const StoredAttempt* CellRuns::diverged() const {
  for (auto attempt = attempts.rbegin(); attempt != attempts.rend(); ++attempt) {
    if (attempt->state == AttemptState::ok) return nullptr;
    if (attempt->state == AttemptState::diverged) return &*attempt;
  }
  return nullptr;
}

std::vector<const StoredAttempt*> CellRuns::trusted() const {
  const auto done = finished();
  std::vector<const StoredAttempt*> quiet;
  std::copy_if(done.begin(), done.end(), std::back_inserter(quiet), [](const auto* a) { return !probe_moved(*a); });
  return quiet.empty() ? done : quiet;
}

const std::map<std::string, std::string>& CellRuns::environment() const {
  static const std::map<std::string, std::string> kUnknown;
  const auto done = finished();
  const auto& newest = done.empty() ? attempts.back() : *done.back();
  return newest.environment ? newest.environment->facts : kUnknown;
}

std::string CellRuns::machine() const {
  for (const auto& attempt : attempts) {
    if (attempt.environment) return attempt.environment->machine_fingerprint;
  }
  return {};
}

std::vector<CellRuns> split_by_machine(const std::vector<CellRuns>& cells) {
  std::vector<CellRuns> out;
  for (const auto& cell : cells) {
    std::map<std::string, std::size_t> index;
    for (const auto& attempt : cell.attempts) {
      const auto machine = attempt.environment ? attempt.environment->machine_fingerprint : cell.machine();
      const auto [place, fresh] = index.try_emplace(machine, out.size());
      if (fresh) {
        out.push_back(cell);
        out.back().attempts.clear();
      }
      out[place->second].attempts.push_back(attempt);
    }
  }
  return out;
}

namespace {

// Groups the attempts of one run.
std::vector<CellRuns> by_subject(std::vector<StoredAttempt> attempts) {
  std::vector<CellRuns> out;
  SubjectGroups groups;
  for (auto& attempt : attempts) {
    const auto place = groups.place_of(attempt.subject);
    if (place == out.size()) out.push_back({.matrix = attempt.matrix, .label = attempt.cell, .run_id = attempt.run_id});
    out[place].attempts.push_back(std::move(attempt));
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i].subject = groups.subjects()[i];
  return out;
}

}  // namespace

std::vector<CellRuns> group_by_subject(const std::vector<StoredAttempt>& attempts) {
  std::vector<std::vector<StoredAttempt>> runs;
  std::map<std::string, std::size_t> index;
  for (const auto& attempt : attempts) {
    const auto [place, fresh] = index.try_emplace(attempt.run_id, runs.size());
    if (fresh) runs.emplace_back();
    runs[place->second].push_back(attempt);
  }
  std::vector<CellRuns> out;
  for (auto& run : runs) {
    auto cells = by_subject(std::move(run));
    std::move(cells.begin(), cells.end(), std::back_inserter(out));
  }
  return out;
}

std::vector<Subject> subjects_of(const std::vector<CellRuns>& cells) {
  SubjectGroups groups;
  for (const auto& cell : cells) groups.place_of(cell.subject);
  return groups.subjects();
}

bool probe_moved(const StoredAttempt& attempt) {
  const auto spread = attempt.metrics.find("probe_spread_fraction");
  return spread != attempt.metrics.end() && spread->second > most_probe_spread(attempt.run->device);
}

std::optional<double> mean_step_time_s(const StoredAttempt& attempt) {
  for (const auto* metric : {"step_time_mean_s", "step_time_s"}) {
    const auto found = attempt.metrics.find(metric);
    if (found != attempt.metrics.end()) return found->second;
  }
  return std::nullopt;
}

Sample sample_of(const CellRuns& cell, const std::string& metric) {
  Sample out;
  const auto known = spec::find_metric(metric);
  const bool timed = !known || known->unit == "s" || known->unit == "1/s" || spec::follows_from_mean_step(metric);
  for (const auto* attempt : cell.finished()) {
    const auto value = attempt->metrics.find(metric);
    if (value == attempt->metrics.end()) continue;
    if (timed && probe_moved(*attempt)) {
      out.noisy.push_back(value->second);
      continue;
    }
    out.values.push_back(value->second);
    out.sessions.push_back(attempt->sweep_id);
    out.days.push_back(day_number(attempt->started_utc));
    if (!timed) continue;
    const auto probe = attempt->metrics.find("probe_time_s");
    if (probe != attempt->metrics.end()) out.probe_s.push_back(probe->second);
  }
  return out;
}

namespace {

void refuse_if_several(const SubjectGroups& groups, const std::string& what, const std::string& asked) {
  if (groups.subjects().size() < 2) return;
  const auto how = asked.empty() ? "set it again, from runs of a single subject"
                                 : fmt::format("name one: '{}@{}'", asked, distinct_names(groups.subjects()).back());
  throw InputError(fmt::format("{} has several subjects, whose figures must not be mixed: {}; {}", what,
                               names_text(groups.subjects()), how));
}

}  // namespace

void refuse_mixed_runs(const std::vector<CellRuns>& cells, const std::string& what, const std::string& asked) {
  std::map<std::pair<std::string, std::string>, SubjectGroups> groups;  // by run and machine
  for (const auto& cell : split_by_machine(cells)) {
    if (!cell.finished().empty()) groups[{cell.run_id, cell.machine()}].place_of(cell.subject);
  }
  for (const auto& [run, subjects] : groups) {
    refuse_if_several(subjects, what + " (run " + run.first.substr(0, 12) + ")", asked);
  }
}

void refuse_mixed_baseline(const std::vector<CellRuns>& cells, const std::string& what, const std::string& asked) {
  std::map<std::string, SubjectGroups> groups;  // by machine
  for (const auto& cell : split_by_machine(cells)) {
    auto subject = cell.subject;
    subject.told.reset();
    if (!cell.finished().empty()) groups[cell.machine()].place_of(subject);
  }
  for (const auto& [machine, subjects] : groups) refuse_if_several(subjects, what, asked);
  refuse_mixed_runs(cells, what, asked);
}

namespace {

std::string ending_of(const StoredAttempt& attempt) {
  return std::string(spec::enum_name(attempt.state)) + (attempt.reason.empty() ? "" : ": " + attempt.reason);
}

}  // namespace

std::optional<Decision> diverged_now(const CellRuns& cell) {
  const auto* lost = cell.diverged();
  if (lost == nullptr) return std::nullopt;
  Decision out;
  conclude(out, Verdict::regressed, VerdictReason::side_failed, ending_of(*lost) + ", where the baseline did not");
  return out;
}

std::string why_no_value(const CellRuns& cell, const std::string& metric) {
  const auto done = cell.finished();
  if (done.empty()) return "no run of it is ok: " + ending_of(cell.attempts.back());
  const auto value_of = [&](const StoredAttempt* attempt) { return attempt->metrics.find(metric); };
  if (std::all_of(done.begin(), done.end(), [&](const auto* a) { return value_of(a) == a->metrics.end(); })) {
    return "no run of it has " + metric + ": " + std::string(spec::why_absent(metric));
  }
  const bool positive = std::any_of(done.begin(), done.end(), [&](const auto* a) {
    return value_of(a) != a->metrics.end() && value_of(a)->second > 0;
  });
  return positive ? "" : "its " + metric + " is 0, so there is no ratio";
}

}  // namespace perfbench::harness
