#include "reports/document/audience.h"

namespace perfbench::reports {

std::vector<std::size_t> columns_for(const Table& table, Audience reader) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const auto audience = table.columns[i].audience;
    if (audience == Audience::everyone || audience == reader) out.push_back(i);
  }
  return out;
}

}  // namespace perfbench::reports
