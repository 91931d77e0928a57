// MatrixParts -> cells.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "harness/matrix/match.h"
#include "harness/matrix/matrix.h"
#include "harness/matrix/node_notices.h"
#include "harness/matrix/run_id.h"
#include "harness/matrix/yaml_document.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kMostCells = 100'000;

struct ContradictoryCell {
  const Assignment* culprit = nullptr;
  std::string message;
  std::string label;
};

std::string label_of(const AxisLabels& axes) {
  std::string out;
  for (const auto& [name, value] : axes) out += (out.empty() ? "" : " ") + name + "=" + value;
  return out;
}

class Expander {
 public:
  Expander(const YamlDocument& document, const ModelCatalog& catalog, MatrixParts parts, EqualRuns equal_runs)
      : document_(document),
        parts_(std::move(parts)),
        equal_runs_(equal_runs),
        resolver_(document, catalog),
        possible_(parts_.assignments) {}

  Expansion expand() {
    check_size();
    out_.name = parts_.name;
    out_.description = parts_.description;
    for (const auto& block : parts_.blocks) expand_block(block);
    reject_impossible_values();
    report_idle_rules();
    if (out_.cells.empty()) reject_empty();
    return std::move(out_);
  }

 private:
  struct Choice {
    const Axis* axis;
    const AxisValue* value;
  };

  void check_size() const {
    double cells = 0;
    for (const auto& block : parts_.blocks) {
      double product = 1;
      std::string factors;
      for (const auto& group : block.groups) {
        product *= static_cast<double>(group.size());
        factors += fmt::format("{}{} ({})", factors.empty() ? "" : " x ", group.size(), group.columns.front().name);
      }
      cells += product;
      if (cells > static_cast<double>(kMostCells)) {
        throw document_.error(block.pointer, fmt::format("{} makes more than {} cells; split the matrix or its axes",
                                                         factors, kMostCells));
      }
    }
  }

  // The last axis turns fastest.
  void expand_block(const Block& block) {
    std::vector<std::size_t> at(block.groups.size(), 0);
    while (true) {
      std::vector<Choice> choices;
      for (std::size_t g = 0; g < at.size(); ++g) {
        for (const auto& column : block.groups[g].columns) choices.push_back({&column, &column.values[at[g]]});
      }
      expand_cell(choices);
      std::size_t turning = at.size();
      while (turning > 0 && ++at[turning - 1] == block.groups[turning - 1].size()) at[--turning] = 0;
      if (turning == 0) return;
    }
  }

  void expand_cell(const std::vector<Choice>& choices) {
    const auto combination = combinations_++;
    AxisLabels labels;
    std::vector<const Assignment*> assignments;
    for (const auto& entry : parts_.defaults) assignments.push_back(&entry);
    for (const auto& [axis, value] : choices) {
      labels.emplace_back(axis->name, value->label);
      for (const auto& entry : value->set) assignments.push_back(&entry);
    }
    Resolved resolved = resolve_with_rules(labels, std::move(assignments));
    resolver_.check(resolved);

    Cell cell;
    cell.matrix = parts_.name;
    cell.axes = final_labels(choices, resolved);
    cell.label = label_of(cell.axes);
    cell.combination = combination;
    cell.excluded = exclusion(cell.axes, resolved);
    if (resolved.contradiction) {
      cell.infeasible = resolved.contradiction->message;
      if (!cell.excluded) {
        contradictory_.push_back({resolved.contradiction->culprit, resolved.contradiction->message, cell.label});
      }
    } else {
      any_possible_ = true;
      for (const auto& [key, entry] : resolved.in_force) possible_[entry->id] = true;
    }
    if (!matches(parts_.only, cell.axes, resolved)) return;
    cell.repeats = resolved.repeats;
    cell.run = std::move(resolved.run);
    cell.run_id = run_id(cell.run);
    add(std::move(cell));
  }

  // Each rule sees what those before it did. The command line's values always come last.
  Resolved resolve_with_rules(const AxisLabels& labels, std::vector<const Assignment*> assignments) {
    const auto with_command_line = [&] {
      auto all = assignments;
      for (const auto& entry : parts_.command_line) all.push_back(&entry);
      return resolver_.resolve(all);
    };
    Resolved resolved = with_command_line();
    for (const auto& rule : parts_.overrides) {
      if (!matches(rule.when, labels, resolved)) continue;
      used_rules_[rule.pointer] = true;
      for (const auto& entry : rule.set) assignments.push_back(&entry);
      resolved = with_command_line();
    }
    return resolved;
  }

  // The values as written; where a rule or the command line replaced one, what is in force. Values that the command
  // line adds are shown too: they tell the cell from the one without.
  AxisLabels final_labels(const std::vector<Choice>& choices, const Resolved& resolved) const {
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

  std::optional<std::string> exclusion(const AxisLabels& labels, const Resolved& resolved) {
    for (const auto& rule : parts_.excludes) {
      if (!matches(rule.when, labels, resolved)) continue;
      used_rules_[rule.pointer] = true;
      return rule.reason;
    }
    for (const auto& rule : parts_.constraints) {
      if (!matches(rule.when, labels, resolved)) continue;
      if (auto broken = violation(rule, resolved)) return broken;
    }
    return std::nullopt;
  }

  std::optional<std::string> violation(const ConstraintRule& rule, const Resolved& resolved) const {
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

  static bool is_executed(const Cell& cell) { return !cell.excluded && !cell.infeasible; }

  // Cells with one run id are one cell. One that is executed stands before one that is not: a combination that
  // contradicts itself has no batch of its own, and may look like another run.
  void add(Cell cell) {
    const auto [known, is_new] = by_run_id_.emplace(cell.run_id, out_.cells.size());
    if (is_new || equal_runs_ == EqualRuns::keep) {
      out_.cells.push_back(std::move(cell));
      return;
    }
    Cell& first = out_.cells[known->second];
    constexpr std::size_t kMostNotices = 20;
    if (++merged_ <= kMostNotices) {
      const bool both = is_executed(first) == is_executed(cell);
      out_.notices.push_back(
          both ? fmt::format("the cells '{}' and '{}' are the same run; it is executed once", first.label, cell.label)
               : fmt::format("of the cells '{}' and '{}' only one can run; the other is not recorded", first.label,
                             cell.label));
    } else if (merged_ == kMostNotices + 1) {
      out_.notices.emplace_back("more cells are the same run as another");
    }
    if (!is_executed(first) && is_executed(cell)) first = std::move(cell);
  }

  // A value with which no cell at all is possible is a mistake; one that only some combinations contradict is not.
  void reject_impossible_values() const {
    for (const auto& cell : contradictory_) {
      const bool possible_elsewhere = cell.culprit != nullptr ? possible_[cell.culprit->id] : any_possible_;
      if (possible_elsewhere) continue;
      throw resolver_.error(cell.culprit, cell.message + (cell.label.empty() ? "" : " (cell " + cell.label + ")"));
    }
  }

  void report_idle_rules() {
    const auto report = [this](const auto& rules, const char* what) {
      for (const auto& rule : rules) {
        if (used_rules_.contains(rule.pointer)) continue;
        const auto at = document_.position(rule.pointer);
        out_.notices.push_back(
            fmt::format("{}:{}:{} this {} matches no cell", document_.file(), at.line, at.column, what));
      }
    };
    report(parts_.excludes, "exclude");
    report(parts_.overrides, "override");
  }

  [[noreturn]] void reject_empty() const {
    std::string asked;
    for (const auto& condition : parts_.only) {
      asked += " " + short_name(condition.name) + "=";
      for (const auto& pattern : condition.patterns) asked += pattern + ",";
      asked.pop_back();
    }
    std::string message = "[matrix] --only" + asked + " leaves no cell of " + document_.file();
    for (const auto& block : parts_.blocks) {
      for (const auto& group : block.groups) {
        for (const auto& column : group.columns) {
          message += "\n  " + column.name + ":";
          for (const auto& value : column.values) message += " " + value.label;
        }
      }
    }
    throw InputError(message);
  }

  const YamlDocument& document_;
  const MatrixParts parts_;
  const EqualRuns equal_runs_;
  Resolver resolver_;
  std::vector<bool> possible_;  // by the id of an assignment: some sound cell has it
  bool any_possible_ = false;
  std::vector<ContradictoryCell> contradictory_;
  std::map<std::string, std::size_t> by_run_id_;
  std::map<std::string, bool> used_rules_;  // by pointer
  std::size_t merged_ = 0;
  std::size_t combinations_ = 0;
  Expansion out_;
};

}  // namespace

Expansion expand(const YamlDocument& matrix, const ModelCatalog& catalog, const Overrides& overrides) {
  MatrixParts parts = parse_matrix(matrix);
  parse_overrides(overrides, parts);
  auto out = Expander(matrix, catalog, std::move(parts), overrides.equal_runs).expand();
  for (auto& notice : notices_of_wide_meshes(out.cells, catalog)) out.notices.push_back(std::move(notice));
  return out;
}

}  // namespace perfbench::harness
