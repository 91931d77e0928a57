#include "harness/app/author.h"

#include <cstdlib>

#include "harness/execute/process.h"
#include "harness/system/input_error.h"

namespace perfbench::harness {
namespace {

std::string git_user() {
  try {
    auto end = run_process({.command = {"git", "config", "user.name"}});
    if (!end.succeeded()) return {};
    while (!end.output.empty() && end.output.back() == '\n') end.output.pop_back();
    return end.output;
  } catch (const LaunchError&) {
    return {};  // git is not installed
  }
}

}  // namespace

std::string author_or_current(const std::string& named) {
  if (!named.empty()) return named;
  if (auto name = git_user(); !name.empty()) return name;
  if (const char* user = std::getenv("USER"); user != nullptr && *user != '\0') return user;
  throw InputError("the author is unknown; give --author, or set git's user.name or USER");
}

}  // namespace perfbench::harness
