// Whether a store of years answers as fast as one of a day.
//
//   scale_benchmark fill DB [RUNS STEPS [SEED]]    makes one (100000 attempts with 10000000 steps)
//   scale_benchmark measure DB                     times the queries that people wait for, five times each
//
// Goals, on two cores, for 1000000 attempts with 100000000 steps: the screen of 2000 series in 10 s, any other query in
// 0.2 s. ingest_benchmark measures how fast rows are taken in.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "harness/app/night/history.h"
#include "harness/stats/statistics.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "harness/store/ledgers/baseline_ledger.h"
#include "harness/store/queries/known_sessions.h"
#include "harness/store/queries/query.h"
#include "tests/benchmarks/scale_store.h"

namespace perfbench::harness {
namespace {

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double processor_s() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// `work` returns how much it found. Each time uses a new connection, as a command does.
void time_query(const char* name, const std::filesystem::path& path,
                const std::function<std::size_t(const Connection&)>& work) {
  std::vector<double> wall_s;
  std::vector<double> cpu_s;
  std::size_t found = 0;
  for (int round = 0; round < 5; ++round) {
    const double before = processor_s();
    wall_s.push_back(seconds([&] { found = work(open_database(path, {.mode = OpenMode::read_only})); }));
    cpu_s.push_back(processor_s() - before);
  }
  fmt::print("{:<44} {:>8} {:>10.4f} {:>10.4f} {:>10.4f}\n", name, found, wall_s[0], median(wall_s), median(cpu_s));
  std::fflush(stdout);
}

std::string one_text(const Connection& db, const std::string& sql) {
  Statement row(db, sql);
  row.step();
  return row.text(0);
}

void measure(const std::filesystem::path& path) {
  const auto db = open_database(path, {.mode = OpenMode::read_only});
  const auto attempts = one_text(db, "SELECT max(attempt_key) FROM attempts");
  const auto run = one_text(db, "SELECT run_id FROM runs WHERE run_key = 1234");
  const auto alert = one_text(db, "SELECT alert_id FROM alerts WHERE alert_key = 1");
  fmt::print("{}: {} attempts, {} MB\n{:<44} {:>8} {:>10} {:>10} {:>10}\n", path.string(), attempts,
             std::filesystem::file_size(path) >> 20U, "", "found", "first s", "median s", "of CPU s");
  const auto select = [&](const char* name, const std::string& selection) {
    time_query(name, path, [&](const Connection& c) { return load_attempts(c, parse_selection(selection)).size(); });
  };
  time_query("history: screen of all series", path,
             [](const Connection& c) { return look_at_history(c, {}).series.size(); });
  time_query("history: one series", path, [](const Connection& c) {
    return look_at_history(c, {.series = "nightly/model=m7 batch=1"}).series.size();
  });
  select("attempts of the newest sweep", "latest");
  select("attempts of a night, by its id", "nightly-005");
  select("attempts of a run", "run:" + run);
  select("one attempt", "attempt:" + run.substr(0, 16) + "/5");
  time_query("attempts of a baseline", path, [](const Connection& c) {
    return load_attempts(c, find_baseline(c, "main", "2027-01-01T00:00:00Z")->attempt_keys).size();
  });
  time_query("comparison with a baseline: sessions", path, [](const Connection& c) {
    const auto known = find_baseline(c, "main", "2027-01-01T00:00:00Z")->attempt_keys;
    const auto cells = group_by_subject(load_attempts(c, known));
    load_known_sessions(c, cells, {"step_time_s"});
    return cells.size();
  });
  time_query("newest sweep of a matrix", path,
             [](const Connection& c) { return newest_sweep(c, "by-hand").value().size(); });
  time_query("number of ok attempts of a run in a night", path, [&](const Connection& c) {
    return static_cast<std::size_t>(count_attempts(c, "nightly-005", run, AttemptState::ok));
  });
  time_query("live alerts", path, [](const Connection& c) { return load_alerts(c, AlertScope::live).size(); });
  time_query("all alerts", path, [](const Connection& c) { return load_alerts(c, AlertScope::all).size(); });
  time_query("one alert", path,
             [&](const Connection& c) { return find_alert(c, alert.substr(0, 8)).finding.series.cell.size(); });
}

int main_of(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2 && arguments[0] == "measure") {
    measure(arguments[1]);
    return 0;
  }
  if (arguments.size() < 2 || arguments.size() == 3 || arguments[0] != "fill") {
    fmt::print(stderr, "usage: scale_benchmark fill DB [RUNS STEPS [SEED]] | scale_benchmark measure DB\n");
    return 3;
  }
  ScaleStore how;
  if (arguments.size() > 2) how.runs = std::stoll(arguments[2]);
  if (arguments.size() > 3) how.steps = std::stoll(arguments[3]);
  if (arguments.size() > 4) how.seed = std::stoull(arguments[4]);
  const double s = seconds([&] { fill_scale_store(arguments[1], how); });
  fmt::print("filled in {:.0f} s: {:.0f} step rows a second\n", s, static_cast<double>(how.steps) / s);
  return 0;
}

}  // namespace
}  // namespace perfbench::harness

int main(int argc, char** argv) {
  try {
    return perfbench::harness::main_of({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 4;
  }
}
