#include "harness/matrix/cell_maker.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "harness/matrix/yaml_document.h"
#include "harness/system/run_id.h"

namespace perfbench::harness {
namespace {

std::string label_of(const AxisLabels& axes) {
  std::string out;
  for (const auto& [name, value] : axes) out += (out.empty() ? "" : " ") + name + "=" + value;
  return out;
}

}  // namespace

MadeCell CellMaker::make(const std::vector<Choice>& choices, std::size_t combination) {
  MadeCell made;
  try {
    make_into(made, choices, combination);
  } catch (const InputError& e) {
    made.mistake = e.what();
  }
  return made;
}

void CellMaker::make_into(MadeCell& made, const std::vector<Choice>& choices, std::size_t combination) {
  AxisLabels labels;
  std::vector<const Assignment*> assignments;
  for (const auto& entry : parts_.defaults) assignments.push_back(&entry);
  for (const auto& [axis, value] : choices) {
    labels.emplace_back(axis->name, value->label);
    for (const auto& entry : value->set) assignments.push_back(&entry);
  }
  Resolved resolved = resolve_with_rules(labels, std::move(assignments), made);
  resolver_.check(resolved);

  Cell& cell = made.cell;
  cell.matrix = parts_.name;
  cell.axes = final_labels(choices, resolved);
  cell.label = label_of(cell.axes);
  cell.combination = combination;
  cell.excluded = exclusion(cell.axes, resolved, made);
  if (resolved.contradiction) cell.infeasible = resolved.contradiction->message;
  for (const auto& [key, entry] : resolved.in_force) made.in_force.push_back(entry->id);
  made.chosen = matches(parts_.only, cell.axes, resolved);
  made.contradiction = std::move(resolved.contradiction);
  if (!made.chosen) return;
  cell.repeats = resolved.repeats;
  cell.bf16_weights_open = !parts_.program && !resolved.in_force.contains("bf16_weights");
  if (parts_.program) cell.program_repo = parts_.program->repo.path;
  cell.run = std::move(resolved.run);
  cell.run_id = run_id(cell.run);
}

// Rules apply in order: each sees the effect of the previous ones. The values of the command line always come last.
Resolved CellMaker::resolve_with_rules(const AxisLabels& labels, std::vector<const Assignment*> assignments,
                                       MadeCell& made) {
  const auto with_command_line = [&] {
    auto all = assignments;
    for (const auto& entry : parts_.command_line) all.push_back(&entry);
    return resolver_.resolve(all);
  };
  Resolved resolved = with_command_line();
  for (const auto& rule : parts_.overrides) {
    if (!matches(rule.when, labels, resolved)) continue;
    made.used_rules.push_back(&rule.pointer);
    for (const auto& entry : rule.set) assignments.push_back(&entry);
    resolved = with_command_line();
  }
  return resolved;
}

// The values as written, or the values in force where a rule or the command line replaced them. Values that the command
// line adds are shown too, because they distinguish the cell from the one without them.
AxisLabels CellMaker::final_labels(const std::vector<Choice>& choices, const Resolved& resolved) const {
  AxisLabels labels;
  for (const auto& [axis, value] : choices) {
    const bool sets_its_field = value->set.size() == 1 && value->set.front().key == axis->key;
    const auto in_force = resolved.in_force.find(axis->key);
    const bool replaced =
        sets_its_field && (in_force == resolved.in_force.end() || in_force->second->id != value->set.front().id);
    labels.emplace_back(axis->name, replaced ? plain_text(resolved.value_of(axis->key)) : value->label);
  }
  for (const auto& entry : parts_.command_line) {
    const bool shown = std::any_of(choices.begin(), choices.end(),
                                   [&entry](const Choice& choice) { return choice.axis->key == entry.key; });
    const bool in_force = resolved.in_force.contains(entry.key) && resolved.in_force.at(entry.key) == &entry;
    if (!shown && in_force && entry.key != "repeats") {
      labels.emplace_back(short_name(entry.key), plain_text(entry.value));
    }
  }
  return labels;
}

std::optional<std::string> CellMaker::exclusion(const AxisLabels& labels, const Resolved& resolved,
                                                MadeCell& made) const {
  for (const auto& rule : parts_.excludes) {
    if (!matches(rule.when, labels, resolved)) continue;
    made.used_rules.push_back(&rule.pointer);
    return rule.reason;
  }
  for (const auto& rule : parts_.constraints) {
    if (!matches(rule.when, labels, resolved)) continue;
    if (auto broken = violation(rule, resolved)) return broken;
  }
  return std::nullopt;
}

std::optional<std::string> CellMaker::violation(const ConstraintRule& rule, const Resolved& resolved) const {
  try {
    const auto result = rule.require.evaluate([&resolved](const std::string& word) {
      const auto value = resolved.value_of(find_key(word)->name);
      return value.is_number() ? value.get<double>() : 0.0;
    });
    if (result.holds) return std::nullopt;
    return fmt::format("{}requires {}, found {} {} {}", rule.reason.empty() ? "" : rule.reason + ": ",
                       rule.require.text(), result.left, rule.require.comparison(), result.right);
  } catch (const ConstraintError& e) {
    throw document_.error(rule.pointer, fmt::format("'{}' {}", rule.require.text(), e.what()));
  }
}

}  // namespace perfbench::harness
