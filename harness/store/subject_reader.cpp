#include "harness/store/subject_reader.h"

#include <string_view>

#include "harness/store/environment_rows.h"

namespace perfbench::harness {
namespace {

// Facts of the build that depend on how a run is laid out, and not on the engine.
bool is_layout(std::string_view fact) {
  return fact == "ranks" || fact == "threads_per_rank";
}

void read_told(const StoredEnvironment& environment, Subject& out) {
  for (const auto& [fact, value] : environment.facts) {
    const bool tells = is_library_fact(fact) || (out.engine_sha256.empty() && is_build_fact(fact) && !is_layout(fact));
    if (tells) out.told[fact] = value;
    if (fact == "git_dirty") out.git_dirty = value == "true";
  }
  out.git_commit = environment.git_commit();
}

}  // namespace

SubjectReader::SubjectReader(const Connection& db)
    : engine_(db, "SELECT name FROM attempt_settings JOIN names ON name_key = engine_key WHERE attempt_key = ?"),
      inject_(
          db,
          "SELECT v.argument FROM attempt_arguments i JOIN attempt_arguments v ON v.attempt_key = i.attempt_key "
          "AND v.position = i.position + 1 WHERE i.attempt_key = ? AND i.argument = '--inject' ORDER BY v.position"),
      paired_side_(db,
                   "SELECT side, engine_sha256 FROM ab_pairs JOIN ab_sides USING (comparison_key) "
                   "WHERE a_attempt_key = ?1 AND side = 'A' UNION ALL "
                   "SELECT side, engine_sha256 FROM ab_pairs JOIN ab_sides USING (comparison_key) "
                   "WHERE b_attempt_key = ?1 AND side = 'B'"),
      // Runs outside of pairs, such as the traced ones, are told apart by the path of their engine.
      sides_(db,
             "SELECT side, engine_sha256 FROM ab_comparisons JOIN ab_sides USING (comparison_key) "
             "WHERE comparison_id = ?1 AND engine IN (SELECT argument FROM attempt_arguments WHERE attempt_key = ?2)") {
}

Subject SubjectReader::of(const SubjectOf& attempt) {
  Subject out;
  if (engine_.with(attempt.attempt_key).step()) out.engine_sha256 = engine_.text(0);
  inject_.with(attempt.attempt_key);
  while (inject_.step()) out.inject.push_back(inject_.text(0));
  if (attempt.kind == SweepKind::comparison) read_side(attempt, out);
  if (out.engine_sha256.empty()) out.source = attempt.sweep_id;
  if (attempt.environment) read_told(*attempt.environment, out);
  return out;
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
