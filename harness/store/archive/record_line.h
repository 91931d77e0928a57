// A callback for lines of an export, each with its newline.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "workloads/spec/fields_json.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/regular_file.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {

using LineSink = std::function<void(std::string_view line)>;

// The lines of an export: {"TAG":RECORD}, where each record is the canonical JSON of its field list. Include this in
// .cpp files only, because it needs the JSON library. The longest line is as long as a document of a run directory may
// be.
inline constexpr std::size_t kLongestLine = static_cast<std::size_t>(spec::kLargestDocumentBytes);

struct RecordLine {
  std::string_view tag;
  std::string_view record;
};

// `line` has no newline. Throws SpecError.
inline RecordLine split_line(std::string_view line) {
  constexpr std::string_view kMark = "\":";
  const auto mark = line.find(kMark);
  if (!line.starts_with("{\"") || !line.ends_with('}') || mark == std::string_view::npos) {
    throw spec::SpecError("", "it is not {\"TAG\":RECORD}");
  }
  const auto record = mark + kMark.size();
  return {line.substr(2, mark - 2), line.substr(record, line.size() - record - 1)};
}

inline std::string to_line(std::string_view tag, const std::string& record) {
  return "{\"" + std::string(tag) + "\":" + record + "}\n";
}

template <class T>
std::string record_text(const T& record) {
  return spec::json_line(spec::fields_to_json(record));
}

// Fields named ..._utc are times; an empty one means "never" or "unknown". Throws SpecError for any other text, however
// deep the field is nested.
void check_times(const spec::MemberType& type, const void* value);

// Throws SpecError for anything that record_text() does not write.
template <class T>
T parse_record(std::string_view text) {
  auto out = spec::fields_from_json<T>(spec::parse_json(text), spec::Missing::is_error);
  check_times(spec::member_type<T>(), &out);
  return out;
}

}  // namespace perfbench::harness
