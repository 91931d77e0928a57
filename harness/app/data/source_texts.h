// Which files a data set is made of, always in the same order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace perfbench::harness {

// A file stands for itself, a folder for all regular files below it by path. In the order given; a file that is met
// again, also under another name by a symbolic link, counts once. Throws InputError for a path that does not exist.
std::vector<std::filesystem::path> text_files(const std::vector<std::filesystem::path>& paths);

// Text that every Debian system carries: licences and the packages' copyright files, by path. Throws InputError where
// there is none.
std::vector<std::filesystem::path> debian_corpus();

// What documents are made of: whole files, or the lines of one.
struct SourceText {
  std::filesystem::path file;
  std::int64_t line = 0;   // from 1; 0: the whole file
  std::int64_t bytes = 0;  // that it takes of the file
  std::string text;
};

using TakeText = std::function<void(SourceText&& text)>;

// Both throw InputError for a file that cannot be read. Lines come in their order; empty ones are none.
void take_file(const std::filesystem::path& file, const TakeText& take);
void for_each_line(const std::filesystem::path& file, const TakeText& take);

// The JSON object that a text is. Throws SpecError.
nlohmann::json object_of(const SourceText& text);

// Runs `work`. Throws InputError that says where the text stands, for a SpecError that `work` throws.
void with_place_of(const SourceText& text, const std::function<void()>& work);

}  // namespace perfbench::harness
