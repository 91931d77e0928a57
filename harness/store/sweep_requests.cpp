#include "harness/store/sweep_requests.h"

#include <vector>

#include "harness/store/keys.h"

namespace perfbench::harness {
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
  transaction.commit();
}

std::optional<RecordedRequest> find_request(const Connection& db, const std::string& sweep_id) {
  Statement row(db, "SELECT request_key, matrix, begun_utc, repeats FROM sweep_requests WHERE sweep_id = ?");
  if (!row.with(sweep_id).step()) return std::nullopt;
  const auto key = row.integer(0);
  return RecordedRequest{.sweep_id = sweep_id,
                         .matrix = row.text(1),
                         .begun_utc = row.text(2),
                         .words = {.only = request_words(db, key, "only"), .set = request_words(db, key, "set")},
                         .repeats = row.integer(3)};
}

}  // namespace perfbench::harness
