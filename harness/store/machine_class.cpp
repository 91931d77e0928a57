#include "harness/store/machine_class.h"

#include <array>
#include <cstdlib>

#include "harness/identity/sha256.h"

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
    if (fact == facts.end()) continue;  // as if it were not known of any machine
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

}  // namespace perfbench::harness
