#include "reports/content/doctor_document.h"

#include <string>

#include "reports/render/format/escape.h"
#include "workloads/spec/fields_json.h"

namespace perfbench::reports {
namespace {

using harness::Observation;
using harness::ObservationState;

Tone state_tone(ObservationState state) {
  switch (state) {
    case ObservationState::ok:
      return Tone::good;
    case ObservationState::warn:
      return Tone::doubtful;
    case ObservationState::fail:
      break;
  }
  return Tone::bad;
}

Row check_row(const Observation& finding) {
  const std::string state(spec::enum_name(finding.state));
  Row row{.cells = {
              {state, state, state_tone(finding.state)}, finding.subject, finding.found, finding.spoils, finding.fix}};
  if (finding.state != ObservationState::ok) {
    row.notes.push_back("spoils: " + finding.spoils + (finding.fix.empty() ? "" : "; fix: " + finding.fix));
  }
  return row;
}

}  // namespace

Document doctor_document(const std::vector<Observation>& findings) {
  Table table{.key = "findings",
              .columns = {{.title = "State", .key = "state"},
                          {.title = "What", .key = "subject"},
                          {.title = "Found", .key = "found"},
                          {.title = "Spoils", .key = "spoils", .audience = Audience::programs},
                          {.title = "Fix", .key = "fix", .audience = Audience::programs}},
              .rows = {}};
  for (const auto& finding : findings) table.rows.push_back(check_row(finding));
  Document out;
  out.add(std::move(table));
  out.json = [=] { return json_text(spec::value_to_json(findings, spec::Written::whole), 1); };
  return out;
}

}  // namespace perfbench::reports
