// A place in a file that a person wrote.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

namespace perfbench::harness {

// Counted from 1; columns in bytes.
struct SourcePosition {
  std::int64_t line = 1;
  std::int64_t column = 1;
};

// A mistake in what the user gave. Ends with exit code 3.
// `message` is complete: "[matrix] file:line:column what was found, what was wanted, how to fix it".
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A path that a person gave, looked at before anything is done with it.
enum class PathIs {
  file,      // or a pipe: anything that can be read or replaced
  folder,    //
  either,    // a file or a folder
  database,  // a regular file: SQLite can use no other
};

// Why `path` cannot be such a thing, in words that follow its name; nothing where it is one, or is not there yet. No
// access to it waits or fails otherwise: a circle of symbolic links is seen at once.
inline std::optional<std::string> path_problem(const std::filesystem::path& path, PathIs wanted) {
  namespace fs = std::filesystem;
  if (path.empty()) return "the name is empty";
  std::error_code error;
  const auto found = fs::status(path, error);
  if (error == std::errc::too_many_symbolic_link_levels) return "its symbolic links lead in a circle";
  if (found.type() == fs::file_type::not_found && error != std::errc::not_a_directory) return std::nullopt;
  if (error) return error.message();
  const bool is_folder = fs::is_directory(found);
  if (is_folder && (wanted == PathIs::file || wanted == PathIs::database)) return "is a folder, a file is needed";
  if (!is_folder && wanted == PathIs::folder) return "is no folder";
  if (wanted == PathIs::database && !fs::is_regular_file(found)) return "is no regular file, as a database has to be";
  return std::nullopt;
}

}  // namespace perfbench::harness
