// Attempts as JSON lines.

#include "harness/records/subject.h"
#include "reports/content/data_exports.h"
#include "reports/render/format/escape.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/run_json.h"

namespace perfbench::reports {
namespace {

spec::Json line_of(const harness::StoredAttempt& attempt) {
  spec::Json metrics = spec::Json::object();
  for (const auto& [metric, value] : attempt.metrics) metrics[metric] = value;
  spec::Json out{{"matrix", attempt.matrix},
                 {"cell", attempt.cell},
                 {"run_id", attempt.run_id},
                 {"attempt", attempt.attempt},
                 {"sweep_id", attempt.sweep_id},
                 {"started_utc", attempt.started_utc},
                 {"state", spec::enum_name(attempt.state)},
                 {"reason", attempt.reason},
                 {"subject", harness::subject_name(attempt.subject)},
                 {"metrics", std::move(metrics)},
                 {"run", spec::run_to_json(*attempt.run)}};
  if (attempt.environment) out["environment"] = attempt.environment->facts;
  return out;
}

}  // namespace

void write_run_lines(const harness::Connection& db, const harness::Selection& selection,
                     const std::function<void(std::string_view)>& write) {
  for (const auto& attempt : harness::load_attempts(db, selection))
    write(with_escapes(spec::json_line(line_of(attempt))) + "\n");
}

}  // namespace perfbench::reports
