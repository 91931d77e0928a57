// The few git commands that perfbench needs, with argument vectors and never through a shell.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace perfbench::harness {

class GitHistory {
 public:
  // Throws InputError if `folder` is not in a git repository, or git is missing.
  explicit GitHistory(const std::filesystem::path& folder);

  const std::filesystem::path& root() const { return root_; }  // of the work tree
  // The 40 digits of "HEAD~1", a branch, a tag. Throws InputError.
  std::string commit(const std::string& revision) const;
  // First line of its message.
  std::string subject(const std::string& commit) const;
  // The commits after `good` up to `bad` along first parents, oldest first. Throws InputError if `good` is not a
  // first-parent ancestor of `bad`.
  std::vector<std::string> first_parents(const std::string& good, const std::string& bad) const;
  // Writes the files of the commit to a new folder, as a work tree in which git knows the commit. The repository itself
  // is not changed. Throws std::runtime_error.
  void check_out(const std::string& commit, const std::filesystem::path& folder) const;

 private:
  std::filesystem::path root_;
};

// "1f7dcc9e", the printed form of a commit.
std::string short_commit(const std::string& commit);

}  // namespace perfbench::harness
