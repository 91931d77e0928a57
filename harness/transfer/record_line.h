// The lines of an export: {"TAG":RECORD}, each record the canonical JSON of its field list. Include in .cpp files only:
// it pulls in the JSON library.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "harness/evidence/utc.h"
#include "harness/input_error.h"
#include "workloads/spec/fields.h"
#include "workloads/spec/fields_json.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/regular_file.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {

// As large as a document of a run directory may be.
inline constexpr std::size_t kLongestLine = static_cast<std::size_t>(spec::kLargestDocumentBytes);

struct RecordLine {
  std::string_view tag;
  std::string_view record;
};

// Without its newline. Throws SpecError.
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

// Fields named ..._utc are times. Empty is "never", or "unknown".
template <class T>
void check_times(const T& record) {
  auto visit = [](const spec::Field& field, const auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    if constexpr (spec::HasFields<Member>) {
      check_times(member);
    } else if constexpr (requires { requires spec::HasFields<typename Member::value_type>; }) {
      for (const auto& one : member) check_times(one);
    } else if constexpr (std::is_same_v<Member, std::string>) {
      if (!field.name.ends_with("_utc") || member.empty()) return;
      const auto refuse = [&] {
        throw spec::SpecError(
            "", std::string(field.name) + " is '" + member + "', which is no time such as 2026-01-31T12:00:00Z");
      };
      try {
        if (parse_utc(member) != member) refuse();
      } catch (const InputError&) {
        refuse();
      }
    }
  };
  T::fields(record, visit);
}

// Throws SpecError for anything that record_text() does not write.
template <class T>
T parse_record(std::string_view text) {
  auto out = spec::fields_from_json<T>(spec::parse_json(text), spec::Missing::is_error);
  check_times(out);
  return out;
}

}  // namespace perfbench::harness
