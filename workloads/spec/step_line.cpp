#include "workloads/spec/step_line.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

namespace perfbench::spec {
namespace {

// The text around the numbers of a canonical line: one more piece than numbers.
std::vector<std::string> text_around_numbers(std::string_view line) {
  constexpr std::string_view kNumber = "+-.0123456789eE";
  std::vector<std::string> pieces(1);
  bool quoted = false;
  bool in_number = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (!quoted && kNumber.find(c) != std::string_view::npos) {
      if (!in_number) pieces.emplace_back();
      in_number = true;
      continue;
    }
    in_number = false;
    pieces.back() += c;
  }
  return pieces;
}

template <class T>
const char* read_number(const char* begin, const char* end, double minimum, double maximum, T& out) {
  const auto [next, error] = std::from_chars(begin, end, out);
  if (error != std::errc()) return nullptr;
  const auto number = static_cast<double>(out);
  if (!std::isfinite(number)) return nullptr;  // from_chars accepts "inf", but JSON does not
  return number >= minimum && number <= maximum ? next : nullptr;
}

void collect_places(const FieldTable& table, void* record, const std::vector<std::string>& prefix, Written written,
                    std::vector<LinePlace>& out) {
  for (const auto& entry : table.fields) {
    if (written == Written::canonical && entry.field.presence == Presence::omitted_at_default) continue;
    auto path = prefix;
    path.emplace_back(entry.field.name);
    void* const member = entry.in(record);
    switch (entry.type->kind) {
      case MemberKind::record:
        collect_places(entry.type->fields(), member, path, written, out);
        break;
      case MemberKind::integer:
        out.push_back({path, entry.field, static_cast<std::int64_t*>(member)});
        break;
      case MemberKind::number:
        out.push_back({path, entry.field, static_cast<double*>(member)});
        break;
      default:
        throw std::logic_error("a record of a line has a field that is not a number");
    }
  }
}

}  // namespace

LineLayout::LineLayout(std::vector<LinePlace> places, std::string_view example) {
  // Canonical JSON sorts the keys of every level.
  std::sort(places.begin(), places.end(), [](const LinePlace& a, const LinePlace& b) { return a.path < b.path; });
  const auto pieces = text_around_numbers(example);
  if (pieces.size() != places.size() + 1) throw std::logic_error("a record of a line has a field that is not a number");
  for (std::size_t i = 0; i < places.size(); ++i) {
    leaves_.push_back({pieces[i], places[i].field.minimum, places[i].field.maximum, places[i].target});
  }
  after_ = pieces.back();
}

bool LineLayout::read(std::string_view line) const {
  const char* at = line.data();
  const char* const end = line.data() + line.size();
  for (const auto& leaf : leaves_) {
    const auto left = static_cast<std::size_t>(end - at);
    if (std::string_view(at, left).substr(0, leaf.before.size()) != leaf.before) return false;
    at += leaf.before.size();
    at = std::visit([&](auto* out) { return read_number(at, end, leaf.minimum, leaf.maximum, *out); }, leaf.target);
    if (at == nullptr) return false;
  }
  return std::string_view(at, static_cast<std::size_t>(end - at)) == after_;
}

// Two layouts: one with every field, and one without those that are omitted at their default. They are the same if no
// field is ever omitted.
std::vector<LineLayout> line_layouts(const FieldTable& table, void* record) {
  std::vector<LineLayout> layouts;
  std::string last_example;
  for (const auto written : {Written::whole, Written::canonical}) {
    const auto example = json_line(record_to_json(table, table.defaults, written));
    if (example == last_example) continue;
    last_example = example;
    std::vector<LinePlace> places;
    collect_places(table, record, {}, written, places);
    layouts.emplace_back(std::move(places), example);
  }
  return layouts;
}

}  // namespace perfbench::spec
