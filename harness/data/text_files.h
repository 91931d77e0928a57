// Which files a data set is made of, always in the same order.
#pragma once

#include <filesystem>
#include <vector>

namespace perfbench::harness {

// A file stands for itself, a folder for all regular files below it by path. In the order given; a file that is met
// again, also under another name by a symbolic link, counts once. Throws InputError for a path that does not exist.
std::vector<std::filesystem::path> text_files(const std::vector<std::filesystem::path>& paths);

// Text that every Debian system carries: licences and the packages' copyright files, by path. Throws InputError where
// there is none.
std::vector<std::filesystem::path> debian_corpus();

}  // namespace perfbench::harness
