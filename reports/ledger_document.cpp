#include "reports/ledger_document.h"

#include <cstdint>
#include <string>

namespace perfbench::reports {
namespace {

Cell state_cell(BaselineState state) {
  const std::string name(spec::enum_name(state));
  const auto tone = state == BaselineState::in_force  ? Tone::good
                    : state == BaselineState::expired ? Tone::doubtful
                                                      : Tone::plain;
  return {name, name, tone};
}

Cell size_cell(std::size_t size) {
  return {std::to_string(size), static_cast<std::int64_t>(size)};
}

}  // namespace

Document ledger_document(const std::vector<LedgerEntry>& entries, const std::vector<harness::LedgerFinding>& findings) {
  Table table{.key = "baselines",
              .columns = {{.title = "name", .key = "name"},
                          {.title = "kind", .key = "kind"},
                          {.title = "state", .key = "state"},
                          {.title = "created", .key = "created_utc"},
                          {.title = "expires", .key = "expires_utc"},
                          {.title = "runs", .key = "runs", .align = Align::right},
                          {.title = "values", .key = "values", .align = Align::right},
                          {.title = "author", .key = "author"},
                          {.title = "reason", .key = "reason"},
                          {.title = "source", .key = "source"}},
              .rows = {}};
  for (const auto& [entry, state] : entries) {
    const auto expires = entry.expires_utc.empty() ? Cell("never", Value()) : Cell(entry.expires_utc);
    table.rows.push_back({.cells = {entry.name, std::string(spec::enum_name(entry.kind)), state_cell(state),
                                    entry.created_utc, expires, size_cell(entry.attempt_keys.size()),
                                    size_cell(entry.values.size()), entry.author, entry.reason, entry.source}});
  }
  Document out;
  out.add(std::move(table));
  for (const auto& finding : findings) {
    out.add(Paragraph{.text = finding.what, .tone = Tone::doubtful});
    out.add(Note{finding.command});
  }
  return out;
}

}  // namespace perfbench::reports
