#include "harness/store/sweep_kinds.h"

#include <algorithm>
#include <array>

namespace perfbench::harness {
namespace {

constexpr std::array<std::pair<SweepsOf, SweepKind>, 9> kMembers{{
    {SweepsOf::history, SweepKind::night},
    {SweepsOf::history, SweepKind::simulated},
    {SweepsOf::control, SweepKind::control},
    {SweepsOf::measurement, SweepKind::imported},
    {SweepsOf::measurement, SweepKind::hand},
    {SweepsOf::measurement, SweepKind::night},
    {SweepsOf::measurement, SweepKind::simulated},
    {SweepsOf::resumption, SweepKind::imported},
    {SweepsOf::resumption, SweepKind::hand},
}};

}  // namespace

bool is_of(SweepKind kind, SweepsOf which) {
  return std::find(kMembers.begin(), kMembers.end(), std::pair{which, kind}) != kMembers.end();
}

std::string kind_condition(const std::string& column, SweepsOf which) {
  std::string names;
  for (const auto& [kind, name] : spec::EnumNames<SweepKind>::kNames) {
    if (is_of(kind, which)) names += (names.empty() ? "'" : ", '") + std::string(name) + "'";
  }
  return column + " IN (" + names + ")";
}

// The names stand in the order of what they know, and none is a part of another.
std::string surer_kind(const std::string& a, const std::string& b) {
  std::string names;
  for (const auto& [kind, name] : spec::EnumNames<SweepKind>::kNames) names += std::string(name) + " ";
  const auto rank = [&names](const std::string& column) { return "instr('" + names + "', " + column + ")"; };
  return "CASE WHEN " + rank(a) + " >= " + rank(b) + " THEN " + a + " ELSE " + b + " END";
}

}  // namespace perfbench::harness
