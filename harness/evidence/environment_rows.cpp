#include "harness/evidence/environment_rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "harness/system/run_id.h"
#include "harness/system/sha256.h"
#include "workloads/spec/fields_json.h"

namespace perfbench::harness {
namespace {

constexpr std::array<std::string_view, 8> kClassFacts{"cpu_model",    "cpu_features", "cores_allowed",    "governor",
                                                      "memory_bytes", "gpu_model",    "gpu_memory_bytes", "gpu_driver"};

bool is_memory(std::string_view fact) {
  return fact.ends_with("memory_bytes");
}

}  // namespace

std::int64_t memory_class_bytes(std::int64_t bytes) {
  if (bytes <= 0) return 0;
  std::int64_t size = 1;
  while (size < bytes) {
    const auto between = size + size / 2;  // 3 * 2^(n-1), before 2^(n+1)
    if (between >= bytes) return between;
    if (size > bytes / 2 + 1) return 2 * size;
    size *= 2;
  }
  return size;
}

std::string machine_class_text(const std::map<std::string, std::string>& facts) {
  std::string text;
  for (const auto name : kClassFacts) {
    const auto fact = facts.find(std::string(name));
    if (fact == facts.end()) continue;  // same class as a machine for which this fact is unknown
    text += std::string(name) + "=";
    text += is_memory(name) ? std::to_string(memory_class_bytes(std::strtoll(fact->second.c_str(), nullptr, 10)))
                            : fact->second;
    text += "\n";
  }
  return text;
}

std::string machine_class(const std::map<std::string, std::string>& facts) {
  return sha256_hex(machine_class_text(facts));
}

namespace {

// Readings: columns of the table `attempts`.
constexpr std::array<std::string_view, 3> kReadings{"load_1m", "memory_available_bytes", "peak_flops_per_s"};
// Facts that change with every build or with the layout of the run, on the same machine.
constexpr std::array<std::string_view, 12> kBuildFacts{
    "version",   "compiler", "compiler_flags", "build_type", "engine_version", "git_commit",
    "git_dirty", "mpi",      "cuda",           "libraries",  "ranks",          "threads_per_rank"};

template <class List>
bool contains(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::string as_text(const spec::MemberType& type, const void* value) {
  switch (type.kind) {
    case spec::MemberKind::boolean:
      return *static_cast<const bool*>(value) ? "true" : "false";
    case spec::MemberKind::integer:
      return std::to_string(*static_cast<const std::int64_t*>(value));
    case spec::MemberKind::number:
      return std::to_string(*static_cast<const double*>(value));
    case spec::MemberKind::text:
      return *static_cast<const std::string*>(value);
    default:
      throw std::logic_error("a fact of an environment must be a scalar");
  }
}

template <class Number>
void from_text(const std::string& text, void* value) {
  std::from_chars(text.data(), text.data() + text.size(), *static_cast<Number*>(value));
}

// Leaves the value unchanged if the text does not name one: environment_of compares its result with the facts.
void from_text(const std::string& text, const spec::MemberType& type, void* value) {
  switch (type.kind) {
    case spec::MemberKind::boolean:
      *static_cast<bool*>(value) = text == "true";
      return;
    case spec::MemberKind::integer:
      return from_text<std::int64_t>(text, value);
    case spec::MemberKind::number:
      return from_text<double>(text, value);
    case spec::MemberKind::text:
      *static_cast<std::string*>(value) = text;
      return;
    default:
      throw std::logic_error("a fact of an environment must be a scalar");
  }
}

}  // namespace

std::string device_model(const std::map<std::string, std::string>& facts) {
  for (const auto* name : {"gpu_model", "cpu_model"}) {
    const auto found = facts.find(name);
    if (found != facts.end() && !found->second.empty()) return found->second;
  }
  return "";
}

bool is_build_fact(std::string_view fact) {
  return contains(kBuildFacts, fact.substr(0, fact.find('.')));
}

bool is_library_fact(std::string_view fact) {
  return fact.starts_with(kLibraryFacts) || fact == "mpi";
}

EnvironmentRows environment_rows(const spec::EnvironmentRecord& environment) {
  EnvironmentRows out;
  std::string all;
  auto add = [&](const std::string& name, const std::string& value) {
    all += name + "=" + value + "\n";
    out.facts.emplace_back(name, value);
  };
  const auto& table = spec::field_table<spec::EnvironmentRecord>();
  for (const auto& entry : table.fields) {
    const std::string name(entry.field.name);
    if (contains(kReadings, name)) continue;
    // Left out, as if the field did not exist, so that an older record keeps its fingerprint.
    if (spec::is_omitted(table, entry, &environment, spec::Written::canonical)) continue;
    if (entry.type->kind == spec::MemberKind::mapping) {
      for (const auto& [key, value] : entry.type->values(entry.in(&environment))) {
        add(name + "." + std::string(key), as_text(*entry.type->held, value));
      }
    } else {
      add(name, as_text(*entry.type, entry.in(&environment)));
    }
  }
  out.fingerprint = sha256_hex(all);
  return out;
}

std::optional<spec::EnvironmentRecord> environment_of(const std::map<std::string, std::string>& facts) {
  spec::EnvironmentRecord out;
  for (const auto& entry : spec::field_table<spec::EnvironmentRecord>().fields) {
    const std::string name(entry.field.name);
    void* const member = entry.in(&out);
    if (entry.type->kind == spec::MemberKind::mapping) {
      const auto prefix = name + ".";
      for (auto at = facts.lower_bound(prefix); at != facts.end() && at->first.starts_with(prefix); ++at) {
        from_text(at->second, *entry.type->held, entry.type->add(member, at->first.substr(prefix.size())));
      }
    } else if (const auto fact = facts.find(name); fact != facts.end()) {
      from_text(fact->second, *entry.type, member);
    }
  }
  const auto rows = environment_rows(out).facts;
  if (std::map<std::string, std::string>(rows.begin(), rows.end()) != facts) return std::nullopt;
  return out;
}

}  // namespace perfbench::harness
