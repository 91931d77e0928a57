#include "harness/store/attempts/subject_reader.h"

#include <string_view>
#include <utility>

#include "harness/evidence/environment_rows.h"

namespace perfbench::harness {
namespace {

// Build facts that depend on the layout of a run, and not on the engine.
bool is_layout(std::string_view fact) {
  return fact == "ranks" || fact == "threads_per_rank";
}

// For an engine with or without a known digest.
Subject read_told(const StoredEnvironment& environment, bool is_known) {
  std::map<std::string, std::string> told;
  Subject out{.git_commit = environment.git_commit()};
  for (const auto& [fact, value] : environment.facts) {
    const bool tells = is_library_fact(fact) || (!is_known && is_build_fact(fact) && !is_layout(fact));
    if (tells) told[fact] = value;
    if (fact == "git_dirty") out.git_dirty = value == "true";
  }
  if (!told.empty()) out.told = std::make_shared<const std::map<std::string, std::string>>(std::move(told));
  return out;
}

}  // namespace

SubjectReader::SubjectReader(const Connection& db)
    : made_with_(db,
                 "SELECT (SELECT engine_key FROM attempt_settings WHERE attempt_key = ?1), (SELECT 1 FROM "
                 "attempt_arguments WHERE attempt_key = ?1 AND argument = '--inject' LIMIT 1)"),
      name_(db, "SELECT name FROM names WHERE name_key = ?"),
      inject_(
          db,
          "SELECT v.argument FROM attempt_arguments i JOIN attempt_arguments v ON v.attempt_key = i.attempt_key "
          "AND v.position = i.position + 1 WHERE i.attempt_key = ? AND i.argument = '--inject' ORDER BY v.position"),
      paired_side_(db,
                   "SELECT side, engine_sha256 FROM ab_pairs JOIN ab_sides USING (comparison_key) "
                   "WHERE a_attempt_key = ?1 AND side = 'A' UNION ALL "
                   "SELECT side, engine_sha256 FROM ab_pairs JOIN ab_sides USING (comparison_key) "
                   "WHERE b_attempt_key = ?1 AND side = 'B'"),
      // Runs outside of pairs, such as traced ones, are distinguished by the path of their engine.
      sides_(db,
             "SELECT side, engine_sha256 FROM ab_comparisons JOIN ab_sides USING (comparison_key) "
             "WHERE comparison_id = ?1 AND engine IN (SELECT argument FROM attempt_arguments WHERE attempt_key = ?2)") {
}

Subject SubjectReader::of(const SubjectOf& attempt) {
  Subject out;
  made_with_.with(attempt.attempt_key).step();
  if (!made_with_.is_null(0)) out.engine_sha256 = engine(made_with_.integer(0));
  if (!made_with_.is_null(1)) {
    inject_.with(attempt.attempt_key);
    while (inject_.step()) out.inject.push_back(inject_.text(0));
  }
  if (attempt.kind == SweepKind::comparison) read_side(attempt, out);
  if (out.engine_sha256.empty()) out.source = attempt.sweep_id;
  if (attempt.environment) tell(attempt.environment, out);
  return out;
}

const std::string& SubjectReader::engine(std::int64_t engine_key) {
  auto& name = engines_[engine_key];
  if (name.empty() && name_.with(engine_key).step()) name = name_.text(0);
  return name;
}

void SubjectReader::tell(const std::shared_ptr<const StoredEnvironment>& environment, Subject& out) {
  const bool is_known = !out.engine_sha256.empty();
  auto& told = told_[{environment, is_known}];
  if (!told) told = read_told(*environment, is_known);
  out.told = told->told;
  out.git_commit = told->git_commit;
  out.git_dirty = told->git_dirty;
}

void SubjectReader::read_side(const SubjectOf& attempt, Subject& out) {
  out.side = "?";
  std::string engine;
  if (paired_side_.with(attempt.attempt_key).step()) {
    out.side = paired_side_.text(0);
    engine = paired_side_.text(1);
  } else if (sides_.with(attempt.sweep_id, attempt.attempt_key).step()) {
    engine = sides_.text(1);
    const auto side = sides_.text(0);
    const bool of_one_side = !sides_.step();
    if (of_one_side) out.side = side;
  }
  if (out.engine_sha256.empty()) out.engine_sha256 = engine;
}

}  // namespace perfbench::harness
