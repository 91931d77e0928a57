// Files that a command writes to a place that the user named: tables, pages, traces, archives.
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

// The place to which the bytes of an output go. A regular file is replaced as a whole: links to it stay, and so do its
// permissions. Anything else, such as a device or a pipe, is written in place and never replaced.
struct OutputPlace {
  std::filesystem::path file;         // after following all links
  bool in_place = false;              // it exists and is not a regular file
  std::optional<mode_t> permissions;  // of the regular file, if it exists

  // The path of an unfinished output, to which a suffix can be added. It is beside the file or, if that is written in
  // place, in the folder for temporary files.
  std::filesystem::path unfinished_stem() const;
};

// Throws OutputError for a folder, for a cycle of links, and if the folder of the file does not exist.
OutputPlace output_place(const std::filesystem::path& named);

// Writes the text, or the pieces that `parts` produces, which are never in memory all at once. Throws OutputError, for
// example on a full disk; a regular file is then unchanged.
using WriteText = std::function<void(std::string_view)>;
void write_output(const std::filesystem::path& named, std::string_view text);
void write_output(const std::filesystem::path& named, const std::function<void(const WriteText&)>& parts);

// Moves a finished file, made at OutputPlace::unfinished_stem with a suffix, to its place. Throws OutputError.
void move_to_output(const std::filesystem::path& finished, const OutputPlace& place);

}  // namespace perfbench::harness
