#include "harness/compare/cell_runs.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "harness/evidence/utc.h"
#include "harness/stats/steady.h"
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

// Of one run.
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

}  // namespace perfbench::harness
