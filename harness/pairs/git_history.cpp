#include "harness/pairs/git_history.h"

#include <fmt/core.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "harness/execute/process.h"
#include "harness/system/input_error.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

// The arguments that begin every call. The configuration of the repository comes from its author and may name programs
// that git would run: to verify signatures, to watch files, as hooks and to fetch objects (git-config(1)).
std::vector<std::string> git_command(const fs::path& folder) {
  std::vector<std::string> command{"git"};
  // The files may belong to another user than the one who measures (containers).
  for (const auto* setting : {"safe.directory=*", "log.showSignature=false", "core.fsmonitor=false",
                              "core.hooksPath=/dev/null", "core.pager=cat", "diff.external=", "protocol.allow=never"}) {
    command.insert(command.end(), {"-c", setting});
  }
  command.insert(command.end(), {"-C", folder.string()});
  return command;
}

ProcessEnd run_git(const fs::path& folder, const std::vector<std::string>& arguments) {
  auto command = git_command(folder);
  command.insert(command.end(), arguments.begin(), arguments.end());
  try {
    return run_process({.command = std::move(command),
                        .environment = {{"LC_ALL", "C"}, {"GIT_TERMINAL_PROMPT", "0"}, {"GIT_OPTIONAL_LOCKS", "0"}}});
  } catch (const LaunchError& e) {
    throw InputError(fmt::format("[git] {}; perfbench needs git to compare revisions", e.what()));
  }
}

std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (auto& letter : text) {
    if (letter == '\n') letter = ' ';
  }
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

GitHistory::GitHistory(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) throw InputError("[git] " + folder.string() + " is not a folder");
  const auto end = run_git(folder, {"rev-parse", "--show-toplevel"});
  if (!end.succeeded()) {
    throw InputError("[git] " + folder.string() + " is not in a git repository: name one with --repo (" +
                     one_line(end.error_output) + ")");
  }
  root_ = one_line(end.output);
}

std::string GitHistory::commit(const std::string& revision) const {
  const auto end = run_git(root_, {"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"});
  if (!end.succeeded()) throw InputError("[git] " + root_.string() + " has no commit '" + revision + "'");
  return one_line(end.output);
}

std::string GitHistory::subject(const std::string& commit) const {
  const auto end = run_git(root_, {"show", "--no-patch", "--format=%s", "--end-of-options", commit});
  return end.succeeded() ? one_line(end.output) : "";
}

std::vector<std::string> GitHistory::first_parents(const std::string& good, const std::string& bad) const {
  const auto end = run_git(root_, {"rev-list", "--first-parent", "--reverse", bad, "^" + good});
  if (!end.succeeded()) throw InputError("[git] " + one_line(end.error_output));
  auto commits = lines_of(end.output);
  // ^good also leaves out commits that only other parents of good reach, so the first remaining commit must be a child
  // of good.
  const auto below = commits.empty() ? ProcessEnd{.exit_code = 1}
                                     : run_git(root_, {"rev-parse", "--verify", "--quiet", commits.front() + "^1"});
  if (!below.succeeded() || one_line(below.output) != good) {
    throw InputError(
        fmt::format("[git] {} is not a first-parent ancestor of {}: name a good commit of the same line of history",
                    short_commit(good), short_commit(bad)));
  }
  return commits;
}

void GitHistory::check_out(const std::string& commit, const fs::path& folder) const {
  // A repository of its own that borrows the objects of this one. `git clone --shared` does the same, but it starts a
  // process that refuses files of another owner whatever its parent was told.
  const auto objects = run_git(root_, {"rev-parse", "--git-path", "objects"});
  const auto made = run_git(root_, {"init", "--quiet", "--template=", folder.string()});
  if (!objects.succeeded() || !made.succeeded()) {
    throw std::runtime_error("[git] cannot make a copy: " + one_line(objects.error_output + made.error_output));
  }
  const auto info = folder / ".git" / "objects" / "info";
  fs::create_directories(info);
  std::ofstream(info / "alternates") << fs::absolute(root_ / one_line(objects.output)).string() << "\n";
  const auto out = run_git(folder, {"checkout", "--quiet", "--detach", commit});
  if (!out.succeeded()) throw std::runtime_error("[git] cannot check out: " + one_line(out.error_output));
}

std::string short_commit(const std::string& commit) {
  constexpr std::size_t kDigits = 8;
  return commit.substr(0, kDigits);
}

}  // namespace perfbench::harness
