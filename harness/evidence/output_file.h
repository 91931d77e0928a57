// Files that a user names for a command to write: tables, pages, traces, archives.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string_view>

namespace perfbench::harness {

// An output cannot be written. The message names the file and the reason.
class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Where the bytes of an output go. A regular file is replaced as a whole: links to it stay, and so do its permissions.
// Anything else, such as a device or a pipe, is written in place and never replaced.
struct OutputPlace {
  std::filesystem::path file;         // behind all links
  bool in_place = false;              // it exists and is no regular file
  std::optional<mode_t> permissions;  // of the regular file that exists

  // The path to which a name can be added for an unfinished output: beside the file, or for what is written in place
  // in the folder for temporary files.
  std::filesystem::path unfinished_stem() const;
};

// Throws OutputError for a folder, for links that lead in a circle, and if the file's folder does not exist.
OutputPlace output_place(const std::filesystem::path& named);

// Writes the text, or what `parts` gives bit by bit and is never whole in memory. Throws OutputError, for example on a
// full disk; a regular file is then as it was.
using WriteText = std::function<void(std::string_view)>;
void write_output(const std::filesystem::path& named, std::string_view text);
void write_output(const std::filesystem::path& named, const std::function<void(const WriteText&)>& parts);

// Moves a finished file, made at OutputPlace::unfinished_stem with a name added, to its place. Throws OutputError.
void move_to_output(const std::filesystem::path& finished, const OutputPlace& place);

}  // namespace perfbench::harness
