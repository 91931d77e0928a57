#include "harness/compare/mixed_subjects.h"

#include <fmt/core.h>

#include <map>
#include <utility>

#include "harness/input_error.h"

namespace perfbench::harness {
namespace {

void refuse_if_several(const SubjectGroups& groups, const std::string& what, const std::string& asked) {
  if (groups.subjects().size() < 2) return;
  const auto how = asked.empty() ? "set it anew, from runs of one"
                                 : fmt::format("name one: '{}@{}'", asked, distinct_names(groups.subjects()).back());
  throw InputError(fmt::format("{} is of several subjects, and a figure of all would be of none of them: {}; {}", what,
                               names_text(groups.subjects()), how));
}

}  // namespace

void refuse_mixed_runs(const std::vector<CellRuns>& cells, const std::string& what, const std::string& asked) {
  std::map<std::pair<std::string, std::string>, SubjectGroups> groups;  // by run and machine
  for (const auto& cell : split_by_machine(cells)) {
    if (!cell.finished().empty()) groups[{cell.run_id, cell.machine()}].place_of(cell.subject);
  }
  for (const auto& [run, subjects] : groups) {
    refuse_if_several(subjects, what + " (run " + run.first.substr(0, 12) + ")", asked);
  }
}

void refuse_mixed_baseline(const std::vector<CellRuns>& cells, const std::string& what, const std::string& asked) {
  std::map<std::string, SubjectGroups> groups;  // by machine
  for (const auto& cell : split_by_machine(cells)) {
    auto subject = cell.subject;
    subject.told.reset();
    if (!cell.finished().empty()) groups[cell.machine()].place_of(subject);
  }
  for (const auto& [machine, subjects] : groups) refuse_if_several(subjects, what, asked);
  refuse_mixed_runs(cells, what, asked);
}

}  // namespace perfbench::harness
