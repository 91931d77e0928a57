#include "harness/store/queries/sweeps.h"

#include <algorithm>
#include <array>
#include <vector>

#include "harness/store/columns.h"

namespace perfbench::harness {
namespace {

constexpr std::array<std::pair<SweepsOf, SweepKind>, 9> kMembers{{
    {SweepsOf::history, SweepKind::night},
    {SweepsOf::history, SweepKind::simulated},
    {SweepsOf::control, SweepKind::control},
    {SweepsOf::measurement, SweepKind::imported},
    {SweepsOf::measurement, SweepKind::hand},
    {SweepsOf::measurement, SweepKind::night},
    {SweepsOf::measurement, SweepKind::simulated},
    {SweepsOf::resumption, SweepKind::imported},
    {SweepsOf::resumption, SweepKind::hand},
}};

}  // namespace

bool is_of(SweepKind kind, SweepsOf which) {
  return std::find(kMembers.begin(), kMembers.end(), std::pair{which, kind}) != kMembers.end();
}

std::string kind_condition(const std::string& column, SweepsOf which) {
  std::string names;
  for (const auto& [kind, name] : spec::EnumNames<SweepKind>::kNames) {
    if (is_of(kind, which)) names += (names.empty() ? "'" : ", '") + std::string(name) + "'";
  }
  return column + " IN (" + names + ")";
}

// The names are ordered by how specific they are, and none is a part of another one.
std::string surer_kind(const std::string& a, const std::string& b) {
  std::string names;
  for (const auto& [kind, name] : spec::EnumNames<SweepKind>::kNames) names += std::string(name) + " ";
  const auto rank = [&names](const std::string& column) { return "instr('" + names + "', " + column + ")"; };
  return "CASE WHEN " + rank(a) + " >= " + rank(b) + " THEN " + a + " ELSE " + b + " END";
}

namespace {

void add_request_words(Connection& db, std::int64_t request, const std::string& option,
                       const std::vector<std::string>& words) {
  Statement insert(db, "INSERT INTO sweep_request_words (request_key, option, position, words) VALUES (?, ?, ?, ?)");
  for (std::size_t i = 0; i < words.size(); ++i) insert.run(request, option, static_cast<std::int64_t>(i), words[i]);
}

std::vector<std::string> request_words(const Connection& db, std::int64_t request, const std::string& option) {
  Statement rows(db, "SELECT words FROM sweep_request_words WHERE request_key = ? AND option = ? ORDER BY position");
  rows.with(request, option);
  std::vector<std::string> out;
  while (rows.step()) out.push_back(rows.text(0));
  return out;
}

}  // namespace

void record_request(Connection& db, const RecordedRequest& request) {
  Transaction transaction(db);
  if (const auto known = find_key(db, "SELECT request_key FROM sweep_requests WHERE sweep_id = ?", request.sweep_id)) {
    Statement(db, "UPDATE sweep_requests SET begun_utc = ?1 WHERE request_key = ?2 AND begun_utc > ?1")
        .run(request.begun_utc, *known);
    return transaction.commit();
  }
  Statement(db, "INSERT INTO sweep_requests (sweep_id, matrix, begun_utc, repeats) VALUES (?, ?, ?, ?)")
      .run(request.sweep_id, request.matrix, request.begun_utc, request.repeats);
  const auto key = db.last_insert_key();
  add_request_words(db, key, "only", request.words.only);
  add_request_words(db, key, "set", request.words.set);
  add_request_words(db, key, "program", request.words.program);
  add_request_words(db, key, "program_repo", request.words.program_repo);
  transaction.commit();
}

std::optional<RecordedRequest> find_request(const Connection& db, const std::string& sweep_id) {
  Statement row(db, "SELECT request_key, matrix, begun_utc, repeats FROM sweep_requests WHERE sweep_id = ?");
  if (!row.with(sweep_id).step()) return std::nullopt;
  const auto key = row.integer(0);
  return RecordedRequest{.sweep_id = sweep_id,
                         .matrix = row.text(1),
                         .begun_utc = row.text(2),
                         .words = {.only = request_words(db, key, "only"),
                                   .set = request_words(db, key, "set"),
                                   .program = request_words(db, key, "program"),
                                   .program_repo = request_words(db, key, "program_repo")},
                         .repeats = row.integer(3)};
}

}  // namespace perfbench::harness
