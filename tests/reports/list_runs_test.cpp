// A list uses indexes where it can and reads the rest: for any query, the result equals that of reading all runs.
#include <fnmatch.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/tag_ledger.h"
#include "harness/system/run_id.h"
#include "reports/content/list_document.h"
#include "tests/harness/example_run.h"

namespace perfbench::reports {
namespace {

using harness::AttemptState;
using testing::HasSubstr;

constexpr std::size_t kAll = 1000;
constexpr int kSweeps = 6;
constexpr int kCells = 5;

const Table& table_of(const Document& document) {
  return std::get<Table>(document.blocks.front());
}

std::string notes_of(const Document& document) {
  std::string out;
  for (const auto& block : document.blocks) {
    if (const auto* note = std::get_if<Note>(&block)) out += note->text + "\n";
  }
  return out;
}

std::vector<std::string> texts_of(const Cell& cell) {
  std::vector<std::string> out{cell.text};
  if (const auto* text = std::get_if<std::string>(&cell.value)) out.push_back(*text);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&cell.value)) {
    out.insert(out.end(), texts->begin(), texts->end());
  }
  if (const auto* number = std::get_if<std::int64_t>(&cell.value)) out.push_back(std::to_string(*number));
  return out;
}

std::string line_of(const Row& row) {
  std::string out;
  for (const auto& cell : row.cells) out += cell.text + " | ";
  return out;
}

std::vector<std::string> listed_lines(const Document& document) {
  std::vector<std::string> out;
  for (const auto& row : table_of(document).rows) out.push_back(line_of(row));
  return out;
}

// Sweeps of five cells with two attempts each. The first attempt of a cell may fail, and the second one too. Each sweep
// has a commit of its own, and every other one has a machine of its own. One attempt of the third sweep was made later
// than the last sweep. An axis has the name of a column. One group of attempts was made outside of any sweep.
class ListOfRuns : public testing::Test {
 protected:
  ListOfRuns() {
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      for (int cell = 0; cell < kCells; ++cell) {
        for (int attempt = 1; attempt <= 2; ++attempt) write(sweep, cell, attempt);
      }
    }
    harness::ingest_tree(db_, scratch_.path());
    const auto tag = [this](const std::string& name, int cell, std::optional<std::int64_t> attempt) {
      harness::record_tag(db_, {.name = name,
                                .run_id = harness::run_id(spec_of(cell)),
                                .attempt_key = attempt,
                                .author = "ada",
                                .created_utc = "2026-02-01T00:00:00Z"});
    };
    tag("slow", 2, {});
    harness::Statement key(db_, "SELECT attempt_key FROM attempts JOIN runs USING (run_key) WHERE run_id = ?");
    key.with(harness::run_id(spec_of(4))).step();
    tag("noisy", 4, key.integer(0));
    key.reset();
  }

  static spec::RunSpec spec_of(int cell) {
    auto out = harness::example_spec();
    out.seed = 100 + cell;
    return out;
  }

  void write(int sweep, int cell, int attempt) {
    harness::ExampleRun run{.run = spec_of(cell), .attempt = harness::example_attempt("n=" + std::to_string(cell), 1)};
    run.attempt.attempt = 2 * sweep + attempt;
    run.attempt.axes = {{"n", std::to_string(cell)}};
    if (cell == 1) run.attempt.axes["kind"] = "wide";
    if (cell != 3) run.attempt.axes["remat"] = cell < 2 ? "none" : "full";
    run.attempt.matrix = cell == 0 ? "other" : "example";
    run.attempt.sweep_id = sweep == 3 ? "" : "s" + std::to_string(sweep);
    run.attempt.sweep_kind = sweep % 2 == 0 ? harness::SweepKind::night : harness::SweepKind::hand;
    const bool is_late = sweep == 2 && cell == 3 && attempt == 2;
    run.attempt.started_utc = "2026-0" + std::to_string(is_late ? 9 : sweep + 1) + "-10T0" + std::to_string(cell) +
                              ":00:0" + std::to_string(attempt) + "Z";
    run.environment.git_commit = sweep == 5 ? "" : "c0ffee" + std::to_string(sweep);
    run.environment.cpu_model = sweep % 2 == 0 ? "one" : "other";
    run.step_s = std::vector<double>(6, 0.1 * (cell + 1));
    if (sweep == 1 && cell == 1) run.attempt.state = AttemptState::timed_out;
    if (sweep == 3 && cell == 2 && attempt == 1) run.attempt.state = AttemptState::crashed;
    if (sweep == 4 && cell == 0 && attempt == 2) run.attempt.state = AttemptState::diverged;
    if (run.attempt.state != AttemptState::ok) run.attempt.reason = "made up";
    harness::write_run_directory(scratch_ / (std::to_string(sweep) + std::to_string(cell) + std::to_string(attempt)),
                                 run);
  }

  // The texts that a row has for a key: of its column, and of the axis with that name.
  static std::vector<std::string> texts_of_key(const Table& table, const Row& row, const std::string& key) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].key == key) out = texts_of(row.cells[i]);
    }
    const auto cell = row.cells[3].text.substr(2);  // "n=3"
    if (key == "n") out.push_back(cell);
    if (key == "kind" && cell == "1") out.push_back("wide");
    if (key == "remat" && cell != "3") out.push_back(cell < "2" ? "none" : "full");
    return out;
  }

  std::vector<std::string> expected(const std::vector<std::pair<std::string, std::string>>& where) const {
    std::vector<std::string> out;
    for (const auto& row : table_of(all_).rows) {
      const bool fits = std::ranges::all_of(where, [&](const auto& condition) {
        const auto texts = texts_of_key(table_of(all_), row, condition.first);
        return std::ranges::any_of(texts, [&](const std::string& text) {
          return fnmatch(condition.second.c_str(), text.c_str(), FNM_NOESCAPE) == 0;
        });
      });
      if (fits) out.push_back(line_of(row));
    }
    return out;
  }

  // For each column and axis: an existing value, complete and in part, and one that does not exist.
  std::vector<std::pair<std::string, std::string>> conditions() const {
    std::set<std::pair<std::string, std::string>> out;
    std::vector<std::string> keys{"n", "remat"};
    for (const auto& column : table_of(all_).columns) keys.push_back(column.key);
    for (const auto& key : keys) {
      for (const auto* pattern : {"*", "zzz*", "-", "", "2*", "ok (*", "*0*"}) out.emplace(key, pattern);
      for (const auto& row : table_of(all_).rows) {
        for (const auto& text : texts_of_key(table_of(all_), row, key)) {
          out.emplace(key, text);
          out.emplace(key, text.substr(0, text.size() / 2) + "*");
          out.emplace(key, "*" + text.substr(text.size() / 2));
        }
      }
    }
    return {out.begin(), out.end()};
  }

  std::vector<std::string> listed(const std::vector<std::string>& where) const {
    return listed_lines(list_runs(db_, {.where = where, .limit = kAll}));
  }

  harness::ScratchFolder scratch_;
  harness::Connection db_ = harness::open_database(scratch_ / "a.db");
  Document all_;

  void SetUp() override { all_ = list_runs(db_, {.limit = kAll}); }
};

TEST_F(ListOfRuns, IsTheSameForEveryQueryPath) {
  ASSERT_EQ(table_of(all_).rows.size(), std::size_t{kSweeps * kCells});
  std::size_t found = 0;
  for (const auto& [key, pattern] : conditions()) {
    const auto rows = expected({{key, pattern}});
    found += rows.size();
    EXPECT_EQ(listed({key + "=" + pattern}), rows) << key << "=" << pattern;
  }
  EXPECT_GT(found, 1000U);
}

TEST_F(ListOfRuns, HasTheRunsThatMeetBothConditions) {
  const auto all = conditions();
  for (std::size_t i = 0; i < all.size(); i += 3) {
    for (std::size_t j = i % 7; j < all.size(); j += 17) {
      EXPECT_EQ(listed({all[i].first + "=" + all[i].second, all[j].first + "=" + all[j].second}),
                expected({all[i], all[j]}))
          << all[i].first << "=" << all[i].second << " and " << all[j].first << "=" << all[j].second;
    }
  }
}

TEST_F(ListOfRuns, APageSaysHowManyRunsWereExamined) {
  const auto look = [this](const std::string& where, std::size_t most) {
    return list_runs(db_, {.where = {where}, .limit = kAll, .most_looked_at = most});
  };
  const auto some = look("attempts=7", 7);
  EXPECT_TRUE(table_of(some).rows.empty());
  EXPECT_THAT(notes_of(some), HasSubstr("Only 7 runs were checked, those of the newest sweeps; add look=all"));
  auto first = listed_lines(all_);
  first.resize(7);
  EXPECT_EQ(listed_lines(look("attempts=*", 7)), first);
  EXPECT_THAT(notes_of(look("attempts=7", kSweeps * kCells)), testing::Not(HasSubstr("were checked")));
  // Only rows that can match are examined.
  EXPECT_EQ(listed_lines(look("git_commit=c0ffee0", kCells)).size(), std::size_t{kCells});
}

}  // namespace
}  // namespace perfbench::reports
