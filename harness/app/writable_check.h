// Whether what a command writes at its end can be written, asked before it measures for hours.
#pragma once

#include <filesystem>
#include <string>

namespace perfbench::harness {

// By writing a file there and removing it again. `what` begins the message: "[nightly] --junit". Both throw InputError.

// A file as output_file.h of harness/evidence writes it: made or replaced in a folder that exists, or written in place.
void require_writable_file(const std::string& what, const std::filesystem::path& file);

// A folder that is made where it is absent, with those above it.
void require_writable_folder(const std::string& what, const std::filesystem::path& folder);

}  // namespace perfbench::harness
