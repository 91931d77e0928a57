#include "reports/id_cell.h"

#include "reports/format/number.h"

namespace perfbench::reports {

Cell id_cell(const std::string& id) {
  constexpr std::size_t kDigits = 12;
  if (id.empty()) return {kNothing, Value()};
  return {id.substr(0, kDigits), Value(id)};
}

}  // namespace perfbench::reports
