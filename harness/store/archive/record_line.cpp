#include "harness/store/archive/record_line.h"

#include "harness/system/input_error.h"
#include "harness/system/utc.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace {

bool is_time(const std::string& text) {
  try {
    return parse_utc(text) == text;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace

void check_times(const spec::MemberType& type, const void* value) {
  if (type.kind == spec::MemberKind::record) {
    for (const auto& entry : type.fields().fields) {
      const void* const member = entry.in(value);
      if (entry.type->kind == spec::MemberKind::text && entry.field.name.ends_with("_utc")) {
        const auto& text = *static_cast<const std::string*>(member);
        if (!text.empty() && !is_time(text)) {
          throw spec::SpecError("", std::string(entry.field.name) + " is '" + text +
                                        "', which is not a time such as 2026-01-31T12:00:00Z");
        }
      } else {
        check_times(*entry.type, member);
      }
    }
  } else if (type.values != nullptr) {
    for (const auto& held : type.values(value)) check_times(*type.held, held.value);
  }
}

}  // namespace perfbench::harness
