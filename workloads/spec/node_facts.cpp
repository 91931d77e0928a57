#include "workloads/spec/node_facts.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "workloads/spec/node_limits.h"

namespace perfbench::spec {
namespace fs = std::filesystem;
namespace {

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The value in "key<separator>value" lines, without surrounding blanks and quotes.
std::string value_of(const fs::path& path, std::string_view key, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto at = line.find(separator);
    if (at == std::string::npos) continue;
    const auto name_end = line.find_last_not_of(" \t", at == 0 ? 0 : at - 1);
    if (name_end == std::string::npos || line.substr(0, name_end + 1) != key) continue;
    const auto begin = line.find_first_not_of(" \t\"", at + 1);
    if (begin == std::string::npos) return "";
    const auto end = line.find_last_not_of(" \t\"");
    return line.substr(begin, end - begin + 1);
  }
  return "";
}

std::string or_unknown(std::string text) {
  return text.empty() ? "unknown" : std::move(text);
}

std::string cpu_features(const fs::path& cpuinfo) {
  constexpr std::array kShown{"avx2",        "fma",      "avx512f", "avx512bw", "avx512_bf16",
                              "avx512_vnni", "amx_bf16", "asimd",   "sve"};
  std::string flags = value_of(cpuinfo, "flags", ':');
  if (flags.empty()) flags = value_of(cpuinfo, "Features", ':');
  std::istringstream words(flags);
  std::string shown;
  for (std::string word; words >> word;) {
    for (const char* name : kShown) {
      if (word == name) shown += (shown.empty() ? "" : " ") + word;
    }
  }
  return or_unknown(shown);
}

std::string container(const fs::path& root) {
  std::error_code ignored;
  if (std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) return "kubernetes";
  if (fs::exists(root / ".dockerenv", ignored)) return "docker";
  if (fs::exists(root / "run/.containerenv", ignored)) return "podman";
  if (std::getenv("APPTAINER_CONTAINER") != nullptr) return "apptainer";
  return "none";
}

// "always [madvise] never" -> "madvise"
std::string chosen(const std::string& line) {
  const auto open = line.find('[');
  const auto close = line.find(']');
  if (open == std::string::npos || close == std::string::npos) return or_unknown(line);
  return line.substr(open + 1, close - open - 1);
}

}  // namespace

std::int64_t kilobytes_in(const fs::path& path, std::string_view key) {
  return std::strtoll(value_of(path, key, ':').c_str(), nullptr, 10) * 1024;
}

EnvironmentRecord node_facts(const fs::path& root) {
  const fs::path proc = root / "proc";
  const fs::path sys = root / "sys";
  EnvironmentRecord env;
  utsname names{};
  if (::uname(&names) == 0) {
    env.hostname = names.nodename;
    env.kernel = std::string(names.sysname) + " " + names.release;
  }
  env.os = or_unknown(value_of(root / "etc/os-release", "PRETTY_NAME", '='));
  env.container = container(root);
  env.cpu_model = or_unknown(value_of(proc / "cpuinfo", "model name", ':'));
  env.cpu_features = cpu_features(proc / "cpuinfo");
  env.cores_online = ::sysconf(_SC_NPROCESSORS_ONLN);
  env.governor = or_unknown(first_line(sys / "devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  env.load_1m = std::strtod(first_line(proc / "loadavg").c_str(), nullptr);
  env.memory_bytes = kilobytes_in(proc / "meminfo", "MemTotal");
  env.memory_available_bytes = kilobytes_in(proc / "meminfo", "MemAvailable");
  const auto limit = cgroup_memory_limit_bytes(root);
  if (limit && *limit < static_cast<double>(env.memory_available_bytes)) {
    env.memory_available_bytes = static_cast<std::int64_t>(*limit);
  }
  env.transparent_huge_pages = chosen(first_line(sys / "kernel/mm/transparent_hugepage/enabled"));
  return env;
}

}  // namespace perfbench::spec
