// Expands MatrixParts into cells.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "harness/matrix/cell_maker.h"
#include "harness/matrix/matrix.h"
#include "harness/matrix/mistakes.h"
#include "harness/matrix/node_notices.h"
#include "harness/matrix/yaml_document.h"
#include "harness/system/parallel_ranges.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kMostCells = 100'000;
constexpr std::size_t kCellsOfARange = 256;  // 20 ms, much longer than the start of a thread takes

struct ContradictoryCell {
  const Assignment* culprit = nullptr;
  std::string message;
  std::string label;
};

std::size_t size_of(const Block& block) {
  std::size_t cells = 1;
  for (const auto& group : block.groups) cells *= group.size();
  return cells;
}

// The combination at `place` of a block. The last axis varies fastest.
std::vector<Choice> choices_at(const Block& block, std::size_t place) {
  std::vector<std::size_t> at(block.groups.size());
  for (std::size_t g = at.size(); g-- > 0; place /= block.groups[g].size()) at[g] = place % block.groups[g].size();
  std::vector<Choice> out;
  for (std::size_t g = 0; g < at.size(); ++g) {
    for (const auto& column : block.groups[g].columns) out.push_back({&column, &column.values[at[g]]});
  }
  return out;
}

class Expander {
 public:
  Expander(const YamlDocument& document, const ModelCatalog& catalog, MatrixParts parts, Mistakes& mistakes,
           EqualRuns equal_runs)
      : document_(document),
        mistakes_(mistakes),
        parts_(std::move(parts)),
        equal_runs_(equal_runs),
        makers_(most_parallel_ranges(), CellMaker(document, catalog, parts_)),
        possible_(parts_.assignments) {}

  Expansion expand() {
    check_values();
    mistakes_.throw_if_any();
    check_size();
    out_.name = parts_.name;
    out_.description = parts_.description;
    if (parts_.program && !parts_.program->repo.path.empty()) out_.program_repo = parts_.program->repo;
    for (const auto& block : parts_.blocks) expand_block(block);
    mistakes_.throw_if_any();
    reject_impossible_values();
    report_idle_rules();
    if (out_.cells.empty()) reject_empty();
    return std::move(out_);
  }

 private:
  void check_values() {
    const auto check = [this](const std::vector<Assignment>& assignments) {
      for (const auto& entry : assignments) {
        mistakes_.note(entry.origin, [&] { makers_.front().check_alone(entry); });
      }
    };
    const auto check_axis = [&check](const Axis& axis) {
      for (const auto& value : axis.values) check(value.set);
    };
    check(parts_.defaults);
    for (const auto& axis : parts_.named) check_axis(axis);
    for (const auto& block : parts_.blocks) {
      for (const auto& group : block.groups) {
        for (const auto& column : group.columns) check_axis(column);
      }
    }
    for (const auto& rule : parts_.overrides) check(rule.set);
    check(parts_.command_line);
  }

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

  // Works in batches, so that at most a few thousand cells wait to be added.
  void expand_block(const Block& block) {
    const auto size = size_of(block);
    std::vector<MadeCell> made;
    for (std::size_t first = 0; first < size; first += made.size()) {
      made.clear();
      made.resize(std::min(size - first, kCellsOfARange * makers_.size()));
      parallel_ranges(made.size(), kCellsOfARange, [&](std::size_t range, std::size_t begin, std::size_t end) {
        for (auto i = begin; i < end; ++i) {
          made[i] = makers_[range].make(choices_at(block, first + i), combinations_ + first + i);
        }
      });
      for (auto& cell : made) take(std::move(cell));
    }
    combinations_ += size;
  }

  void take(MadeCell made) {
    if (made.mistake) return mistakes_.add({}, *made.mistake);
    for (const auto* pointer : made.used_rules) used_rules_[*pointer] = true;
    if (!made.contradiction) {
      any_possible_ = true;
      for (const auto id : made.in_force) possible_[id] = true;
    } else if (!made.cell.excluded) {
      contradictory_.push_back({made.contradiction->culprit, std::move(made.contradiction->message), made.cell.label});
    }
    if (made.chosen) add(std::move(made.cell));
  }

  static bool is_executed(const Cell& cell) { return !cell.excluded && !cell.infeasible; }

  // Cells with the same run id are one cell. A cell that is executed takes precedence over one that is not: a
  // combination that contradicts itself has no valid batch and may look like another run.
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
      out_.notices.emplace_back("more cells are the same run as another one");
    }
    if (!is_executed(first) && is_executed(cell)) first = std::move(cell);
  }

  // A value that makes every cell impossible is a mistake; a value that contradicts only some combinations is not.
  void reject_impossible_values() const {
    std::set<const Assignment*> named;
    for (const auto& cell : contradictory_) {
      const bool possible_elsewhere = cell.culprit != nullptr ? possible_[cell.culprit->id] : any_possible_;
      if (possible_elsewhere || !named.insert(cell.culprit).second) continue;
      const auto message = cell.message + (cell.label.empty() ? "" : " (cell " + cell.label + ")");
      mistakes_.add(cell.culprit != nullptr ? cell.culprit->origin : Origin{},
                    makers_.front().error(cell.culprit, message).what());
    }
    mistakes_.throw_if_any();
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
  Mistakes& mistakes_;
  const MatrixParts parts_;
  const EqualRuns equal_runs_;
  std::vector<CellMaker> makers_;  // one for each range
  std::vector<bool> possible_;     // by the id of an assignment: whether a valid cell has it
  bool any_possible_ = false;
  std::vector<ContradictoryCell> contradictory_;
  std::unordered_map<std::string, std::size_t> by_run_id_;
  std::map<std::string, bool> used_rules_;  // by pointer
  std::size_t merged_ = 0;
  std::size_t combinations_ = 0;
  Expansion out_;
};

// Calls read(mistakes). If it gives up because of too many mistakes, throws those found so far.
template <class Read>
auto naming_all_mistakes(const YamlDocument& matrix, const Read& read) {
  Mistakes mistakes(matrix);
  try {
    return read(mistakes);
  } catch (const TooManyMistakes&) {
    mistakes.throw_if_any();
    throw;
  }
}

}  // namespace

std::string name_of(const YamlDocument& matrix) {
  return naming_all_mistakes(matrix, [&](Mistakes& mistakes) {
    auto name = parse_matrix(matrix, mistakes).name;
    mistakes.throw_if_any();
    return name;
  });
}

const Cell* program_cell(const std::vector<Cell>& cells) {
  const auto found = std::find_if(cells.begin(), cells.end(), [](const Cell& cell) { return cell.run.program; });
  return found == cells.end() ? nullptr : &*found;
}

Expansion expand(const YamlDocument& matrix, const ModelCatalog& catalog, const Overrides& overrides) {
  return naming_all_mistakes(matrix, [&](Mistakes& mistakes) {
    MatrixParts parts = parse_matrix(matrix, mistakes);
    parse_overrides(overrides, parts, mistakes);
    auto out = Expander(matrix, catalog, std::move(parts), mistakes, overrides.equal_runs).expand();
    for (auto& notice : notices_of_wide_meshes(out.cells, catalog)) out.notices.push_back(std::move(notice));
    return out;
  });
}

}  // namespace perfbench::harness
