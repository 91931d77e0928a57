#include "reports/content/cells.h"

#include "reports/render/format/number.h"

namespace perfbench::reports {

Tone tone_of(harness::Verdict verdict) {
  switch (verdict) {
    case harness::Verdict::regressed:
      return Tone::bad;
    case harness::Verdict::improved:
      return Tone::good;
    case harness::Verdict::inconclusive:
    case harness::Verdict::not_comparable:
      return Tone::doubtful;
    case harness::Verdict::same:
      break;
  }
  return Tone::plain;
}

Cell id_cell(const std::string& id) {
  constexpr std::size_t kDigits = 12;
  if (id.empty()) return {kNothing, Value()};
  return {id.substr(0, kDigits), Value(id)};
}

Cell count_cell(std::int64_t value) {
  return {std::to_string(value), Value(value)};
}

Cell number_cell(const std::optional<double>& value) {
  if (!value) return {kNothing, Value()};
  return {format_number(*value), Value(*value)};
}

Cell bytes_cell(std::int64_t bytes) {
  if (bytes == 0) return {kNothing, Value()};
  return {human_bytes(bytes), Value(bytes)};
}

}  // namespace perfbench::reports
