#include "harness/app/runs/run_view.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "harness/app/runs/stored_tables.h"
#include "harness/judge/cell_mfu.h"
#include "harness/judge/comparability.h"
#include "harness/plan/dry_engine.h"
#include "harness/stats/statistics.h"
#include "harness/store/attempts/evidence_place.h"
#include "harness/store/attempts/evidence_reader.h"
#include "harness/store/ledgers/baseline_ledger.h"
#include "harness/store/queries/names.h"
#include "harness/store/stored_row.h"
#include "harness/system/utc.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

std::vector<std::pair<std::string, std::string>> configuration_of(const spec::RunSpec& run, Fields fields) {
  auto out = spec::flat_fields(run);
  if (fields == Fields::all || run.program) return out;  // a program's run has only what was declared
  const auto usual = spec::flat_fields(spec::RunSpec{});
  std::erase_if(out, [&](const auto& field) { return std::find(usual.begin(), usual.end(), field) != usual.end(); });
  return out;
}

std::map<std::string, std::string> environment_of(const std::vector<StoredAttempt>& attempts) {
  for (auto attempt = attempts.rbegin(); attempt != attempts.rend(); ++attempt) {
    if (attempt->environment) return attempt->environment->facts;
  }
  return {};
}

std::vector<ViewedMetric> metrics_of(const std::vector<StoredAttempt>& attempts) {
  std::vector<ViewedMetric> out;
  for (const auto& metric : spec::kMetricCatalog) {
    std::vector<double> values;
    for (const auto& attempt : attempts) {
      const auto found = attempt.metrics.find(std::string(metric.tag));
      if (attempt.state == AttemptState::ok && found != attempt.metrics.end()) values.push_back(found->second);
    }
    if (values.empty()) continue;
    const auto count = std::ssize(values);
    out.push_back({.name = std::string(metric.tag),
                   .unit = std::string(metric.unit),
                   .value = median(std::move(values)),
                   .count = count});
  }
  return out;
}

std::vector<ViewedAttempt> attempts_of(const Connection& db, const std::vector<StoredAttempt>& attempts,
                                       const fs::path& runs) {
  EvidencePlaces places(db, runs);
  std::vector<ViewedAttempt> out;
  std::error_code none;
  for (const auto& attempt : attempts) {
    auto& one = out.emplace_back(ViewedAttempt{
        .attempt = attempt, .sweep_kind = kind_of_sweep(db, attempt.sweep_id), .evidence = places.of(attempt.key)});
    one.origin = origin_of_attempt(db, attempt.key);
    one.traced = one.evidence && fs::exists(*one.evidence / trace_file(0), none);
  }
  return out;
}

// Also sets the subject of each attempt.
std::vector<ViewedSubject> subjects_of(std::vector<ViewedAttempt>& attempts) {
  SubjectGroups groups;
  std::vector<std::vector<StoredAttempt>> of_group;
  for (auto& one : attempts) {
    one.subject = groups.place_of(one.attempt.subject);
    if (one.subject == of_group.size()) of_group.emplace_back();
    of_group[one.subject].push_back(one.attempt);
  }
  const auto names = distinct_names(groups.subjects());
  std::vector<ViewedSubject> out;
  for (std::size_t i = 0; i < of_group.size(); ++i) {
    const auto& mine = of_group[i];
    const auto is_ok = [](const StoredAttempt& attempt) { return attempt.state == AttemptState::ok; };
    out.push_back({.subject = groups.subjects()[i],
                   .name = names[i],
                   .attempts = std::ssize(mine),
                   .finished = std::count_if(mine.begin(), mine.end(), is_ok),
                   .started_utc = mine.back().started_utc,
                   .environment = environment_of(mine),
                   .metrics = metrics_of(mine)});
  }
  return out;
}

// The subject whose attempt ended ok last or, if there is none, the subject of the newest attempt.
std::size_t newest_subject(const RunView& view) {
  const auto& attempts = view.attempts;
  const auto newest = std::find_if(attempts.rbegin(), attempts.rend(),
                                   [](const ViewedAttempt& one) { return one.attempt.state == AttemptState::ok; });
  return newest == attempts.rend() ? attempts.back().subject : newest->subject;
}

// Annotations of the run apply to all its attempts.
template <class Said>
std::vector<Said> about(std::vector<Said> all, const std::vector<StoredAttempt>& attempts) {
  std::erase_if(all, [&](const Said& one) {
    return one.attempt_key && std::none_of(attempts.begin(), attempts.end(), [&](const StoredAttempt& attempt) {
             return attempt.key == *one.attempt_key;
           });
  });
  return all;
}

std::optional<double> value_of(const std::vector<ViewedMetric>& metrics, std::string_view name) {
  const auto found = std::find_if(metrics.begin(), metrics.end(), [&](const auto& one) { return one.name == name; });
  if (found == metrics.end()) return std::nullopt;
  return found->value;
}

}  // namespace

RunView view_run(const Connection& db, NamedRun named, const fs::path& runs, Fields fields,
                 const Installation& installation) {
  RunView out{.named = std::move(named), .runs = runs, .db = db.path()};
  const auto hardware = hardware_of(out.named.attempts, installation);
  for (auto& attempt : out.named.attempts) add_computed_metrics(attempt, hardware);
  const auto& attempts = out.named.attempts;
  out.configuration = configuration_of(*attempts.front().run, fields);
  out.environment = environment_of(attempts);
  out.attempts = attempts_of(db, attempts, runs);
  out.subjects = subjects_of(out.attempts);
  out.tags = about(tags_of_run(db, out.named.run_id), attempts);
  out.notes = about(notes_of_run(db, out.named.run_id), attempts);
  return out;
}

std::vector<spec::StepRecord> steps_of(const Connection& db, const NamedRun& named) {
  const auto& attempts = named.attempts;
  const auto newest = std::find_if(attempts.rbegin(), attempts.rend(),
                                   [](const StoredAttempt& attempt) { return attempt.state == AttemptState::ok; });
  if (newest == attempts.rend()) return {};
  try {
    return read_evidence(db, newest->key).evidence.steps;
  } catch (const UnreadableRow& e) {
    db.leave_out(e.what());
    return {};
  }
}

std::optional<AgainstBaseline> against_baseline(const Connection& db, const RunView& view) {
  const auto baseline = baseline_of_run(db, view.named.run_id, utc_now());
  if (!baseline || view.environment.empty()) return std::nullopt;
  const auto facts = environment_of(load_attempts(db, baseline->attempt_keys));
  if (facts.empty()) return std::nullopt;
  return AgainstBaseline{baseline->name, environment_difference(facts, view.environment)};
}

CountedMemory memory_of(const spec::RunSpec& run, const EngineProgram& engine) {
  CountedMemory out;
  const auto take = [&out](DryAnswer answer) { out = {std::move(answer.counts), std::move(answer.failure)}; };
  try {
    ask_dry_engine(engine, {&run}, std::nullopt, take, -1, kLimitsOfAPage);
  } catch (const std::runtime_error& e) {  // it cannot be started, or there is no room for its answer
    out.failure = e.what();
  }
  return out;
}

RunDifference hold_side_by_side(RunView left, RunView right) {
  RunDifference out{.left = std::move(left), .right = std::move(right)};
  out.left_subject = newest_subject(out.left);
  out.right_subject = newest_subject(out.right);
  const auto& mine = out.left.subjects[out.left_subject];
  const auto& theirs = out.right.subjects[out.right_subject];
  out.configuration = spec::difference(*out.left.named.attempts.front().run, *out.right.named.attempts.front().run);
  out.environment = environment_difference(mine.environment, theirs.environment);
  for (const auto& metric : spec::kMetricCatalog) {
    MetricDifference one{.name = std::string(metric.tag),
                         .unit = std::string(metric.unit),
                         .left = value_of(mine.metrics, metric.tag),
                         .right = value_of(theirs.metrics, metric.tag)};
    if (!one.left && !one.right) continue;
    if (one.left && one.right && *one.left != 0) one.ratio = *one.right / *one.left;
    out.metrics.push_back(std::move(one));
  }
  return out;
}

}  // namespace perfbench::harness
