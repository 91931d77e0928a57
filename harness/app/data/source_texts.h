// The files of a data set, always in the same order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace perfbench::harness {

// A file stands for itself, a folder for all regular files below it, sorted by path. Keeps the given order; a file that
// occurs again, also under another name through a symbolic link, counts once. Throws InputError for a path that does
// not exist.
std::vector<std::filesystem::path> text_files(const std::vector<std::filesystem::path>& paths);

// Text that every Debian system has: licences and the copyright files of packages, sorted by path. Throws InputError if
// there is none.
std::vector<std::filesystem::path> debian_corpus();

// The source of a document: a whole file, or a line of one.
struct SourceText {
  std::filesystem::path file;
  std::int64_t line = 0;   // from 1; 0: the whole file
  std::int64_t bytes = 0;  // length in the file
  std::string text;
};

using TakeText = std::function<void(SourceText&& text)>;

// Both throw InputError for a file that cannot be read. Lines are passed in order; empty ones are skipped.
void take_file(const std::filesystem::path& file, const TakeText& take);
void for_each_line(const std::filesystem::path& file, const TakeText& take);

// Parses the text as a JSON object. Throws SpecError.
nlohmann::json object_of(const SourceText& text);

// Runs `work`. If it throws a SpecError, throws an InputError that gives the place of the text.
void with_place_of(const SourceText& text, const std::function<void()>& work);

}  // namespace perfbench::harness
