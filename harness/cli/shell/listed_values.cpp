#include "harness/cli/shell/listed_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "reports/render/format/print.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {

ExitCode tell_left_out(const std::set<std::string>& left_out, ExitCode code) {
  for (const auto& why : left_out) reports::print(stderr, "{} (left out)\n", why);
  return code == ExitCode::fine && !left_out.empty() ? ExitCode::usage : code;
}

ExitCode tell_left_out(const Connection& db, ExitCode code) {
  return tell_left_out(db.left_out(), code);
}

namespace {

constexpr char kBetween = '|';

bool is_name(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  return !text.empty() && text.find_first_not_of(kLetters) == std::string_view::npos;
}

}  // namespace

std::string type_of_values(const std::vector<std::string>& names) {
  return fmt::to_string(fmt::join(names, std::string_view(&kBetween, 1)));
}

std::vector<std::string> values_of_type(const std::string& type) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= type.size();) {
    const auto end = std::min(type.find(kBetween, begin), type.size());
    out.push_back(type.substr(begin, end - begin));
    begin = end + 1;
  }
  return std::all_of(out.begin(), out.end(), is_name) ? out : std::vector<std::string>{};
}

std::string alternatives(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 == names.size() ? " or " : ", ";
    out += names[i];
  }
  return out;
}

std::string value_complaint(const std::string& text, const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), text) != names.end()) return "";
  const auto near = spec::nearest(text, names);
  return fmt::format("'{}': there is no such value{}; give {}", text, near ? " (did you mean '" + *near + "'?)" : "",
                     alternatives(names));
}

}  // namespace perfbench::harness
