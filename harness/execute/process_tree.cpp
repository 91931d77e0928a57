#include "harness/execute/process_tree.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <thread>

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

// The parent of a process; 0 when it is gone. The name in /proc/PID/stat may contain spaces and parentheses, so fields
// are counted from the last parenthesis: state, then the parent.
pid_t parent_of(pid_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  // Does not use iterators, which throw if the process ends while its file is read.
  std::string text;
  std::getline(in, text, '\0');
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 4 >= text.size()) return 0;
  return static_cast<pid_t>(std::strtol(text.c_str() + name_end + 4, nullptr, 10));
}

// The kernel lists the children of each thread, if it was built with that option.
bool append_listed_children(pid_t process, std::vector<pid_t>& out) {
  bool listed = false;
  std::error_code gone;
  for (const auto& thread : fs::directory_iterator("/proc/" + std::to_string(process) + "/task", gone)) {
    std::ifstream in(thread.path() / "children");
    if (!in) continue;
    listed = true;
    for (pid_t child = 0; in >> child;) out.push_back(child);
  }
  return listed || static_cast<bool>(gone);
}

std::vector<pid_t> descendants_by_scan(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const auto process = static_cast<pid_t>(std::strtol(entry.path().filename().c_str(), nullptr, 10));
    if (process > 0) children.emplace(parent_of(process), process);
  }
  std::vector<pid_t> found;
  for (std::size_t i = 0; i <= found.size(); ++i) {
    const auto [begin, end] = children.equal_range(i == 0 ? root : found[i - 1]);
    std::transform(begin, end, std::back_inserter(found), [](const auto& pair) { return pair.second; });
  }
  return found;
}

// Leaves out zombies, which have no environment.
std::vector<pid_t> processes_with(const std::string& variable) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const auto process = static_cast<pid_t>(std::strtol(entry.path().filename().c_str(), nullptr, 10));
    if (process <= 0 || process == getpid()) continue;
    std::ifstream in(entry.path() / "environ");
    for (std::string one; std::getline(in, one, '\0');) {
      if (one == variable) {
        found.push_back(process);
        break;
      }
    }
  }
  return found;
}

}  // namespace

std::vector<pid_t> descendants(pid_t root) {
  std::vector<pid_t> found;
  if (!append_listed_children(root, found)) return descendants_by_scan(root);
  for (std::size_t i = 0; i < found.size(); ++i) append_listed_children(found[i], found);
  return found;
}

// A process that was sent SIGKILL cannot fork any more. So nothing is left once a look finds only such processes.
void kill_descendants(pid_t root) {
  std::set<pid_t> killed;
  for (bool more = true; more;) {
    more = false;
    for (const auto process : descendants(root)) {
      if (!killed.insert(process).second) continue;
      kill(process, SIGKILL);
      more = true;
    }
  }
}

void kill_all_with(const std::string& variable, std::chrono::nanoseconds patience) {
  constexpr auto kLookAgain = std::chrono::milliseconds(5);
  const auto until = std::chrono::steady_clock::now() + patience;
  for (auto found = processes_with(variable); !found.empty(); found = processes_with(variable)) {
    for (const auto process : found) kill(process, SIGKILL);
    if (std::chrono::steady_clock::now() >= until) return;
    std::this_thread::sleep_for(kLookAgain);
  }
}

std::int64_t resident_bytes(const std::vector<pid_t>& processes) {
  const std::int64_t page_bytes = sysconf(_SC_PAGESIZE);
  std::int64_t private_pages = 0;
  std::int64_t largest_shared_pages = 0;
  for (const auto process : processes) {
    std::ifstream in("/proc/" + std::to_string(process) + "/statm");
    std::int64_t size = 0;
    std::int64_t resident = 0;
    std::int64_t shared = 0;
    if (!(in >> size >> resident >> shared)) continue;
    private_pages += resident - shared;
    largest_shared_pages = std::max(largest_shared_pages, shared);
  }
  return (private_pages + largest_shared_pages) * page_bytes;
}

bool has_own_process_ids(pid_t process) {
  const auto space_of = [](const std::string& whose) {
    std::error_code none;
    return std::filesystem::read_symlink("/proc/" + whose + "/ns/pid", none);
  };
  const auto theirs = space_of(std::to_string(process));
  return !theirs.empty() && theirs != space_of("self");
}

std::map<pid_t, std::chrono::nanoseconds> cpu_times(const std::vector<pid_t>& processes) {
  std::map<pid_t, std::chrono::nanoseconds> out;
  for (const auto process : processes) {
    clockid_t clock = 0;
    timespec used{};
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0) continue;
    out[process] = std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
  }
  return out;
}

}  // namespace perfbench::harness
