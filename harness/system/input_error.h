// A position in a file that a user wrote.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

namespace perfbench::harness {

// Lines and columns count from 1; columns are in bytes.
struct SourcePosition {
  std::int64_t line = 1;
  std::int64_t column = 1;
};

// A mistake in the user's input. The program exits with code 3. `message` is complete: "[matrix] file:line:column what
// was found, what was wanted, how to fix it".
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The kind of path that a user must give; it is checked before the path is used.
enum class PathIs {
  file,      // can be read or replaced; a pipe counts, too
  folder,    // can hold files
  either,    // a file or a folder
  database,  // a regular file: SQLite cannot use anything else
};

// Why `path` is not of this kind, in words that follow its name. nullopt where it is, or does not exist yet. Checking
// it first keeps later accesses from waiting or failing in other ways: a cycle of symbolic links is found at once.
inline std::optional<std::string> path_problem(const std::filesystem::path& path, PathIs wanted) {
  namespace fs = std::filesystem;
  if (path.empty()) return "the name is empty";
  std::error_code error;
  const auto found = fs::status(path, error);
  if (error == std::errc::too_many_symbolic_link_levels) return "its symbolic links form a cycle";
  if (found.type() == fs::file_type::not_found && error != std::errc::not_a_directory) return std::nullopt;
  if (error) return error.message();
  const bool is_folder = fs::is_directory(found);
  if (is_folder && (wanted == PathIs::file || wanted == PathIs::database)) return "is a folder, but a file is needed";
  if (!is_folder && wanted == PathIs::folder) return "is not a folder";
  if (wanted == PathIs::database && !fs::is_regular_file(found))
    return "is not a regular file, which a database must be";
  return std::nullopt;
}

}  // namespace perfbench::harness
