#include "harness/judge/screening.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/evidence/environment_rows.h"
#include "harness/judge/comparability.h"
#include "harness/judge/control.h"
#include "harness/stats/creep.h"
#include "harness/stats/screen.h"
#include "harness/stats/statistics.h"
#include "harness/system/input_error.h"
#include "harness/system/parallel_ranges.h"
#include "harness/system/utc.h"
#include "reports/render/format/number.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::harness {
namespace {

constexpr double kProbeShare = 0.5;  // share of a shift from which on the machine is its cause

bool has_direction(const SeriesHistory& series) {
  const auto metric = spec::find_metric(series.metric);
  return series.declared || (metric && metric->direction != spec::Direction::neutral);
}

// `tag` has to outlive the result.
spec::MetricSpec metric_of(const std::string& tag, std::optional<spec::Direction> declared = {}) {
  const auto metric = spec::find_metric(tag);
  if (metric && metric->direction != spec::Direction::neutral) return *metric;
  if (declared) return {tag, spec::unit_of(tag), *declared, "declared by the program"};
  throw InputError(
      "[history] '" + tag + "' is not a metric with a better direction; use step_time_s, " +
      "step_time_mean_s, startup_time_s, peak_memory_bytes, resident_bytes, final_loss, or a metric of a " +
      "program that declares which way it is better");
}

spec::MetricSpec metric_of(const ScreenedSeries& series) {
  return metric_of(series.series.metric, series.declared);
}

bool is_speed(const spec::MetricSpec& metric) {
  return metric.unit == "s" || metric.unit == "1/s";
}

FindingKind kind_of(const ScreenedSeries& screened, const spec::MetricSpec& metric, double shift_log) {
  if (screened.is_control) return FindingKind::environment;
  const bool rose = shift_log > 0;
  if (rose == (metric.direction == spec::Direction::higher_is_better)) return FindingKind::improvement;
  return bad_kind_of(metric.tag);
}

double log_of(const NightPoint& night) {
  return std::log(night.value);
}

double change_ratio(const std::vector<NightPoint>& nights) {
  if (nights.size() < 2) return 1;
  return std::exp(log_of(nights.back()) - log_level_before(nights, nights.size() - 1));
}

using Facts = std::map<std::string, std::string>;

std::string facts_text(const std::vector<spec::FieldDifference>& facts) {
  std::string out;
  for (const auto& fact : facts) out += (out.empty() ? "" : "; ") + fact.field + " " + fact.left + " -> " + fact.right;
  return out;
}

// Facts that differ and belong to the machine, not to the build. The series of a store share the facts of their nights,
// so two nights are compared only once.
class MachineDifferences {
 public:
  const std::vector<spec::FieldDifference>& between(const std::shared_ptr<const Facts>& before,
                                                    const std::shared_ptr<const Facts>& after) {
    const auto [known, fresh] = known_.try_emplace({before.get(), after.get()});
    if (fresh) {
      known->second = environment_difference(*before, *after);
      std::erase_if(known->second, [](const spec::FieldDifference& fact) { return is_build_fact(fact.field); });
    }
    return known->second;
  }

 private:
  std::map<std::pair<const Facts*, const Facts*>, std::vector<spec::FieldDifference>> known_;
};

std::vector<MachineChange> changes_of(const SeriesHistory& series, MachineDifferences& differences) {
  std::vector<MachineChange> out;
  for (std::size_t i = 1; i < series.nights.size(); ++i) {
    const auto& before = series.nights[i - 1];
    const auto& after = series.nights[i];
    if (before.facts == after.facts) continue;
    const auto& facts = differences.between(before.facts, after.facts);
    const auto of = before.machine == after.machine ? ChangeOf::other_facts : ChangeOf::machine_class;
    if (!facts.empty()) out.push_back({.night = after.night, .of = of, .facts = facts});
  }
  return out;
}

struct Screened {
  std::vector<const NightPoint*> nights;
  std::vector<double> logs;
};

enum class NoisyNights { left_out, kept_in_the_last_fortnight };

Screened nights_to_screen(const std::vector<NightPoint>& nights, NoisyNights what, const ScreenRule& rule) {
  const auto noisy = std::count_if(nights.begin(), nights.end(), [](const NightPoint& n) { return n.noisy; });
  const bool keep_all = 2 * static_cast<std::size_t>(noisy) > nights.size();
  // The newest night is kept: one screen too many, which pairs will refute, is better than a night that nobody judged.
  const auto kept = std::min(nights.size(), what == NoisyNights::left_out ? 1 : rule.most_recent);
  Screened out;
  for (std::size_t i = 0; i < nights.size(); ++i) {
    if (nights[i].noisy && !keep_all && i + kept < nights.size()) continue;
    out.nights.push_back(&nights[i]);
    out.logs.push_back(log_of(nights[i]));
  }
  return out;
}

bool most_are_noisy_since(const Screened& given, std::size_t first) {
  const auto begin = given.nights.begin() + static_cast<std::ptrdiff_t>(first);
  const auto noisy = std::count_if(begin, given.nights.end(), [](const NightPoint* night) { return night->noisy; });
  return 2 * noisy > given.nights.end() - begin;
}

bool is_of(const KnownShift& shift, const ScreenedSeries& screened) {
  const auto& series = screened.series;
  if (shift.series == series) return true;
  if (series.metric == "step_time_mean_s" && shift.series.metric == "step_time_s") {
    auto of_median = series;
    of_median.metric = shift.series.metric;
    if (shift.series == of_median) return true;
  }
  return shift.of_machine && shift.series.machine == series.machine && is_speed(metric_of(screened));
}

std::optional<KnownShift> newest_known(const ScreenedSeries& series, const std::vector<KnownShift>& known) {
  const KnownShift* newest = nullptr;
  for (const auto& shift : known) {
    const bool is_later = newest == nullptr || shift.first_utc >= newest->first_utc;
    if (is_of(shift, series) && is_later && shift.first_utc <= series.nights.back().night.started_utc) {
      newest = &shift;
    }
  }
  if (newest == nullptr || !newest->live) return std::nullopt;
  return *newest;
}

// The first nights of the series' known shifts, as indices into the nights that the screen gets.
std::vector<std::size_t> first_shifted_nights(const Screened& given, const ScreenedSeries& series,
                                              const std::vector<KnownShift>& known) {
  std::vector<std::size_t> out;
  for (const auto& shift : known) {
    if (!is_of(shift, series)) continue;
    const auto first = std::find_if(given.nights.begin(), given.nights.end(), [&](const NightPoint* night) {
      return night->night.started_utc >= shift.first_utc;
    });
    out.push_back(static_cast<std::size_t>(first - given.nights.begin()));
  }
  return out;
}

// nullopt if the newest night has no control, or too few others have one: nights with and without correction would form
// two levels.
std::optional<Screened> less_control(const Screened& all, const ControlDrift& control, const ScreenedSeries& series,
                                     const std::vector<KnownShift>& known, const ScreenRule& rule) {
  Screened out;
  std::vector<double> drifts;
  for (std::size_t i = 0; i < all.nights.size(); ++i) {
    const auto drift = control.log_of(*all.nights[i]);
    if (!drift) continue;
    out.nights.push_back(all.nights[i]);
    out.logs.push_back(all.logs[i]);
    drifts.push_back(*drift);
  }
  const bool newest = !out.nights.empty() && out.nights.back() == all.nights.back();
  if (!newest || out.nights.size() <= rule.fewest_before) return std::nullopt;
  const auto leveled = at_newest_level(out.logs, first_shifted_nights(out, series, known), rule);
  const double share = control_share(leveled, drifts);  // a step of the cell itself would be taken for drift
  for (std::size_t i = 0; i < drifts.size(); ++i) out.logs[i] -= share * drifts[i];
  return out;
}

Finding finding_of(const ScreenedSeries& screened, const Screened& given, const spec::MetricSpec& metric) {
  const auto& shift = *screened.shift;
  const auto& good = *given.nights[shift.good];
  const auto& bad = *given.nights[shift.first];
  Finding out;
  out.series = screened.series;
  out.kind = kind_of(screened, metric, shift.shift_log);
  out.ratio = std::exp(shift.shift_log);
  out.last_good = good.night;
  out.first_bad = bad.night;
  out.seen_utc = given.nights.back()->night.started_utc;
  out.environment = environment_difference(*good.facts, *bad.facts);
  const auto nights = given.nights.size() - shift.first;
  out.detail =
      fmt::format("{} {} {} for {} night{} (score {:.1f}, threshold {:.1f}{})", metric.tag,
                  shift.shift_log > 0 ? "rose" : "fell", reports::format_percent_change(*out.ratio), nights,
                  nights == 1 ? "" : "s", shift.score, shift.threshold, screened.control ? ", control subtracted" : "");
  if (shift.creep_log != 0) {
    out.detail +=
        fmt::format("; it creeps by {} a night since {}", reports::format_percent_change(std::exp(shift.creep_log)),
                    date_of(good.night.started_utc));
  }
  return out;
}

// The inputs that all series share.
struct ScreeningContext {
  const ControlDrift& control;
  const std::vector<KnownShift>& known;
  const ScreenRule& rule;
};

struct Answer {
  Screened given;
  bool control = false;
  std::vector<double> leveled;
  std::optional<ScreenFinding> shift;
};

Answer answer_of(const ScreenedSeries& series, Screened given, const spec::MetricSpec& metric,
                 const ScreeningContext& context) {
  Answer out{.given = std::move(given), .leveled = {}};
  if (is_speed(metric) && !series.is_control && !out.given.nights.empty()) {
    if (auto less = less_control(out.given, context.control, series, context.known, context.rule)) {
      out.given = std::move(*less);
      out.control = true;
    }
  }
  const auto shifts = first_shifted_nights(out.given, series, context.known);
  out.leveled = at_newest_level(out.given.logs, shifts, context.rule);
  out.shift = screen(out.leveled, context.rule);
  return out;
}

// A change that slows the cell may also disturb the probe. Without the noisy nights, nothing would be left of such a
// shift.
Answer screened_nights(const ScreenedSeries& series, const spec::MetricSpec& metric, const ScreeningContext& context) {
  const auto& rule = context.rule;
  auto calm = answer_of(series, nights_to_screen(series.nights, NoisyNights::left_out, rule), metric, context);
  if (calm.shift) return calm;
  auto fortnight = nights_to_screen(series.nights, NoisyNights::kept_in_the_last_fortnight, rule);
  if (fortnight.nights.size() == calm.given.nights.size()) return calm;
  auto all = answer_of(series, std::move(fortnight), metric, context);
  return all.shift && most_are_noisy_since(all.given, all.shift->first) ? all : calm;
}

void screen_one(ScreenedSeries& out, const spec::MetricSpec& metric, const ScreeningContext& context) {
  out.known = newest_known(out, context.known);
  const auto answer = screened_nights(out, metric, context);
  out.control = answer.control;
  const auto& given = answer.given;
  for (std::size_t i = 0; i < given.logs.size(); ++i) {
    out.screened.push_back({.night = static_cast<std::size_t>(given.nights[i] - out.nights.data()),
                            .log = given.logs[i],
                            .leveled = answer.leveled[i]});
  }
  if (given.logs.size() <= context.rule.fewest_before) {
    out.state = ScreenState::too_few_nights;
    return;
  }
  if (const auto creep = find_creep(nights_screened(answer.leveled, context.rule))) {
    const auto before = given.nights.size() - nights_screened(answer.leveled, context.rule).size();
    out.level_until = given.nights[before + creep->last_level]->night;
  }
  if (metric.noise == spec::MetricNoise::measured) out.noisier = find_noise_change(answer.leveled, context.rule);
  out.shift = answer.shift;
  if (!out.shift) return;
  out.state = ScreenState::shifted;
  out.finding = finding_of(out, given, metric);
}

// By start, and by key within the same second.
using NightOrder = std::pair<std::int64_t, std::int64_t>;
NightOrder order_of(const NightPoint& night) {
  return {night.started_s, night.sweep_key};
}

// The newest night of each matrix, and of the control, whose name may be that of a matrix.
std::map<std::pair<bool, std::string>, NightOrder> newest_nights(const std::vector<SeriesHistory>& series) {
  std::map<std::pair<bool, std::string>, NightOrder> out;
  for (const auto& s : series) {
    if (s.nights.empty()) continue;
    auto& newest = out[{s.is_control, s.matrix}];
    newest = std::max(newest, order_of(s.nights.back()));
  }
  return out;
}

// The last `count` nights of a matrix before tonight, by sweep id.
struct RecentNights {
  std::set<std::string> all;
  std::set<std::string> of_only;  // those with the same --only as tonight
};

RecentNights recent_nights(const std::vector<SeriesHistory>& series, const std::string& matrix, const Tonight& tonight,
                           std::size_t count) {
  std::map<std::pair<std::int64_t, std::string>, std::string> only_words;  // by night
  for (const auto& s : series) {
    if (s.matrix != matrix || s.is_control) continue;
    for (const auto& n : s.nights) only_words[{n.started_s, n.night.sweep_id}] = n.only;
  }
  RecentNights out;
  for (auto night = only_words.rbegin(); night != only_words.rend(); ++night) {
    const auto& [of, only] = *night;
    if (of.second == tonight.night.at(matrix).sweep_id) continue;
    if (out.all.size() < count) out.all.insert(of.second);
    const bool same = only == tonight.only.at(matrix);
    if (same && out.of_only.size() < count) out.of_only.insert(of.second);
  }
  return out;
}

// The machines on which tonight measured something.
std::set<std::string> machines_of(const std::vector<SeriesHistory>& series, const NightId& tonight) {
  std::set<std::string> out;
  for (const auto& s : series) {
    for (const auto& night : s.nights) {
      if (!s.is_control && night.night.sweep_id == tonight.sweep_id) out.insert(night.machine);
    }
  }
  return out;
}

// A new engine of the control is not a change of the machine.
void keep_newest_segment(std::vector<NightPoint>& nights) {
  const auto newest = control_segment(nights.back());
  std::erase_if(nights, [&](const NightPoint& night) { return control_segment(night) != newest; });
}

std::string how_it_ended(const TonightCell* cell) {
  if (cell == nullptr) return "not in the sweep";
  return cell->state + (cell->reason.empty() ? "" : ", " + cell->reason);
}

}  // namespace

ScreenRules rules_within(const ScreenBudget& budget, const Tonight& tonight, const std::string& metric) {
  std::map<std::string, double> cells;
  for (const auto& cell : tonight.cells) cells[cell.matrix] += cell.state == "ok" ? 1 : 0;
  double noisy = 0;
  double share = 1;
  const auto declared = [&tonight](const std::string& matrix) {
    const auto found = tonight.declared.find(matrix);
    if (found == tonight.declared.end()) return 0.0;
    return static_cast<double>(std::count_if(found->second.begin(), found->second.end(), [](const std::string& name) {
      return std::none_of(kScreenedMetrics.begin(), kScreenedMetrics.end(),
                          [&name](const ScreenedMetric& screened) { return name == screened.tag; });
    }));
  };
  for (const auto& screened : kScreenedMetrics) {
    if (metric_of(screened.tag).noise == spec::MetricNoise::measured) noisy += screened.share;
    if (metric == screened.tag) share = screened.share;
  }
  ScreenRules out;
  for (const auto& [matrix, count] : cells)
    out[matrix] = with_share(rule_within(budget, (noisy + declared(matrix)) * count), share);
  return out;
}

double log_level_before(std::span<const NightPoint> nights, std::size_t index) {
  constexpr std::size_t kMostNights = 40;
  std::vector<double> before;
  for (auto i = index - std::min(kMostNights, index); i < index; ++i) before.push_back(log_of(nights[i]));
  return median(std::move(before));
}

std::string change_text(const MachineChange& change) {
  const auto facts = facts_text(change.facts);
  const bool other = change.of == ChangeOf::machine_class;
  return std::string(other ? "another class of machine" : "other facts of one class of machine") + ": " + facts;
}

std::string library_changes(const Facts& before, const Facts& after) {
  auto facts = environment_difference(before, after);
  std::erase_if(facts, [&](const spec::FieldDifference& fact) {
    return !is_library_fact(fact.field) || !before.contains(fact.field) || !after.contains(fact.field);
  });
  return facts_text(facts);
}

std::vector<ScreenedSeries> screen_series(const std::vector<SeriesHistory>& series,
                                          const std::vector<KnownShift>& known, const ScreenRules& rules) {
  if (!series.empty() && std::none_of(series.begin(), series.end(), has_direction)) metric_of(series.front().metric);
  const ControlDrift control(series);
  const auto newest = newest_nights(series);
  MachineDifferences differences;
  std::vector<ScreenedSeries> out;
  for (const auto& s : series) {
    if (!has_direction(s)) continue;  // a run of another program, which did not declare it
    std::set<std::string> machines;
    for (const auto& night : s.nights) {
      if (order_of(night) == newest.at({s.is_control, s.matrix})) machines.insert(night.machine);
    }
    for (const auto& machine : machines) {
      ScreenedSeries screened;
      screened.is_control = s.is_control;
      screened.series = {s.matrix, s.cell, s.run_id, s.metric, machine};
      screened.declared = s.declared;
      std::copy_if(s.nights.begin(), s.nights.end(), std::back_inserter(screened.nights),
                   [&](const NightPoint& night) { return night.machine == machine; });
      if (s.is_control) keep_newest_segment(screened.nights);
      screened.changes = changes_of(s, differences);
      screened.change_ratio = change_ratio(screened.nights);
      out.push_back(std::move(screened));
    }
  }
  // Simulating a threshold takes milliseconds, and each series has its own.
  constexpr std::size_t kFewestOfAThread = 8;
  const ScreenRule of_one_cell;
  parallel_ranges(out.size(), kFewestOfAThread, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (auto i = begin; i < end; ++i) {
      const auto of_matrix = out[i].is_control ? rules.end() : rules.find(out[i].series.matrix);
      const auto& rule = of_matrix == rules.end() ? of_one_cell : of_matrix->second;
      const ScreeningContext context{.control = control, .known = known, .rule = rule};
      screen_one(out[i], metric_of(out[i]), context);
    }
  });
  return out;
}

std::optional<Finding> noisier_finding(const std::vector<ScreenedSeries>& series) {
  const ScreenedSeries* most = nullptr;
  std::size_t count = 0;
  for (const auto& one : series) {
    if (!one.noisier) continue;
    ++count;
    if (most == nullptr || one.noisier->ratio > most->noisier->ratio) most = &one;
  }
  if (most == nullptr) return std::nullopt;
  Finding out{.series = most->series, .kind = FindingKind::noisier};
  out.ratio = most->noisier->ratio;
  out.seen_utc = most->nights.back().night.started_utc;
  const auto subject =
      count == 1 ? std::string("this series scatters") : fmt::format("{} series scatter, this one most,", count);
  out.detail = fmt::format(
      "{} {:.1f} times as much from night to night as before: a shift has to be larger by that to be found; `perfbench "
      "doctor` shows what disturbs the machine",
      subject, most->noisier->ratio);
  return out;
}

void weigh_against_probe(ScreenedSeries& screened, const std::map<std::string, double>& probe_s) {
  if (!screened.finding || !is_speed(metric_of(screened))) return;
  auto& finding = *screened.finding;
  std::vector<double> before;
  std::vector<double> since;
  for (const auto& night : screened.nights) {
    const auto probe = probe_s.find(night.night.sweep_id);
    if (probe == probe_s.end()) continue;
    const bool bad = night.night.started_utc >= finding.first_bad.started_utc;
    (bad ? since : before).push_back(std::log(probe->second));
  }
  if (before.empty() || since.empty()) return;
  const double probe_log = median(since) - median(before);
  const bool rate = metric_of(screened).unit == "1/s";
  const double shift_log = rate ? -std::log(*finding.ratio) : std::log(*finding.ratio);
  if (probe_log * shift_log <= 0 || std::abs(probe_log) < kProbeShare * std::abs(shift_log)) return;
  finding.kind = FindingKind::environment;
  finding.detail +=
      fmt::format("; the noise probe changed {} with it", reports::format_percent_change(std::exp(probe_log)));
}

std::vector<Finding> vanished_cells(const std::vector<SeriesHistory>& series, const Tonight& tonight,
                                    std::size_t nights) {
  std::map<std::pair<std::string, std::string>, Finding>
      by_cell;  // by cell and not by run, because a cell may have had another run before
  std::map<std::string, RecentNights> recent;
  std::map<std::string, std::set<std::string>> machines;
  for (const auto& [matrix, night] : tonight.night) {
    recent[matrix] = recent_nights(series, matrix, tonight, nights);
    machines[matrix] = machines_of(series, night);
  }
  for (const auto& s : series) {
    const auto night = tonight.night.find(s.matrix);
    if (night == tonight.night.end() || s.nights.empty() || s.is_control) continue;
    const auto cell = std::find_if(tonight.cells.begin(), tonight.cells.end(),
                                   [&](const TonightCell& c) { return c.matrix == s.matrix && c.cell == s.cell; });
    const bool absent = cell == tonight.cells.end();
    if (!absent && cell->state == "ok") continue;
    const auto& had_it = absent ? recent.at(s.matrix).of_only : recent.at(s.matrix).all;
    // Another machine of the same store may be able to run what this one cannot.
    const bool planned_only = !absent && cell->only_planned();
    const auto& here = machines.at(s.matrix);
    const auto measured = std::find_if(s.nights.rbegin(), s.nights.rend(), [&](const NightPoint& point) {
      const bool elsewhere = planned_only && !here.empty() && !here.contains(point.machine);
      return had_it.contains(point.night.sweep_id) && !elsewhere;
    });
    if (measured == s.nights.rend()) continue;
    const auto& last = *measured;
    Finding finding;
    finding.series = {s.matrix, s.cell, s.run_id, s.metric, last.machine};
    finding.kind = FindingKind::vanished_cell;
    finding.last_good = last.night;
    finding.first_bad = night->second;
    finding.seen_utc = night->second.started_utc;
    finding.detail = "not measured tonight: " + how_it_ended(cell == tonight.cells.end() ? nullptr : &*cell);
    auto& known = by_cell[{s.matrix, s.cell}];
    if (known.last_good.started_utc <= finding.last_good.started_utc) known = std::move(finding);
  }
  std::vector<Finding> out;
  for (auto& [cell, finding] : by_cell) out.push_back(std::move(finding));
  return out;
}

}  // namespace perfbench::harness
