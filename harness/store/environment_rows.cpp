#include "harness/store/environment_rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <type_traits>

#include "harness/identity/run_id.h"
#include "workloads/spec/fields_json.h"

namespace perfbench::harness {
namespace {

// Readings: columns of the table `attempts`.
constexpr std::array<std::string_view, 3> kReadings{"load_1m", "memory_available_bytes", "peak_flops_per_s"};
// What changes with every build, or with the layout of the run, on one and the same machine.
constexpr std::array<std::string_view, 12> kBuildFacts{
    "version",   "compiler", "compiler_flags", "build_type", "engine_version", "git_commit",
    "git_dirty", "mpi",      "cuda",           "libraries",  "ranks",          "threads_per_rank"};

template <class List>
bool contains(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

template <class T>
std::string as_text(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_arithmetic_v<T>) {
    return std::to_string(value);
  } else {
    return value;
  }
}

// A text that names no value leaves it as it is: environment_of holds what it made to the facts.
template <class T>
void from_text(const std::string& text, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = text == "true";
  } else if constexpr (std::is_arithmetic_v<T>) {
    std::from_chars(text.data(), text.data() + text.size(), value);
  } else {
    value = text;
  }
}

}  // namespace

bool is_build_fact(std::string_view fact) {
  return contains(kBuildFacts, fact.substr(0, fact.find('.')));
}

bool is_library_fact(std::string_view fact) {
  return fact.starts_with("libraries.") || fact == "mpi";
}

EnvironmentRows environment_rows(const spec::EnvironmentRecord& environment) {
  EnvironmentRows out;
  std::string all;
  auto add = [&](const std::string& name, const std::string& value) {
    all += name + "=" + value + "\n";
    out.facts.emplace_back(name, value);
  };
  auto visit = [&](const spec::Field& field, const auto& member) {
    if (contains(kReadings, field.name)) return;
    // As if the field had not been added: an older record keeps its fingerprint.
    if (spec::is_omitted<spec::EnvironmentRecord>(field, member, spec::Written::canonical)) return;
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, std::map<std::string, std::string>>) {
      for (const auto& [key, value] : member) add(std::string(field.name) + "." + key, value);
    } else {
      add(std::string(field.name), as_text(member));
    }
  };
  spec::EnvironmentRecord::fields(environment, visit);
  out.fingerprint = sha256_hex(all);
  return out;
}

std::optional<spec::EnvironmentRecord> environment_of(const std::map<std::string, std::string>& facts) {
  spec::EnvironmentRecord out;
  auto visit = [&](const spec::Field& field, auto& member) {
    const std::string name(field.name);
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, std::map<std::string, std::string>>) {
      const auto prefix = name + ".";
      for (auto at = facts.lower_bound(prefix); at != facts.end() && at->first.starts_with(prefix); ++at) {
        member[at->first.substr(prefix.size())] = at->second;
      }
    } else if (const auto fact = facts.find(name); fact != facts.end()) {
      from_text(fact->second, member);
    }
  };
  spec::EnvironmentRecord::fields(out, visit);
  const auto rows = environment_rows(out).facts;
  if (std::map<std::string, std::string>(rows.begin(), rows.end()) != facts) return std::nullopt;
  return out;
}

}  // namespace perfbench::harness
