// The state of each cell in a night, in one word: the answer of the screen or of the night's pairs, or that there is no
// answer. A cell that nothing judged is never SAME. Pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/judge/alert_rules.h"
#include "harness/judge/night_verdict.h"
#include "workloads/spec/enum_names.h"

namespace perfbench::harness {

// In the order of importance for a reader.
enum class CellState { regressed, inconclusive, not_measured, not_tested, improved, same };

struct NightCell {
  std::string cell;
  std::optional<double> last_s = {};     // step time of the newest previous night; nullopt: there was none
  std::optional<double> tonight_s = {};  // nullopt: it was not measured
  std::size_t metrics = 0;               // number of screened metrics that it has tonight
  std::size_t screened_against = 0;      // number of previous nights; 0: too few for a screen, so that pairs decide
  CellState state = CellState::same;
  std::string why = {};
};

// The cells of `matrix` with their states and the reasons, the worst first. Subjects of findings that are not in
// `measured` are added: a vanished cell under its name, and the control under the name of its matrix. The live alert of
// a cell determines its state until somebody closes it, whatever tonight's nights say.
std::vector<NightCell> judge_cells(const std::string& matrix, std::vector<NightCell> measured,
                                   const std::vector<NightFinding>& findings, const std::vector<UnseenCell>& unseen,
                                   const std::vector<Alert>& live = {});

// The name of the cell above that a finding is about.
const std::string& cell_of(const std::string& matrix, const Finding& finding);

std::size_t count_in_state(const std::vector<NightCell>& cells, CellState state);

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::CellState> {
  using S = perfbench::harness::CellState;
  static constexpr std::array kNames{
      std::pair{S::regressed, "REGRESSED"},       std::pair{S::inconclusive, "INCONCLUSIVE"},
      std::pair{S::not_measured, "NOT MEASURED"}, std::pair{S::not_tested, "NOT TESTED"},
      std::pair{S::improved, "IMPROVED"},         std::pair{S::same, "SAME"}};
};
