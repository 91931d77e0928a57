#include "harness/data/text_files.h"

#include <algorithm>
#include <set>
#include <string>

#include "harness/input_error.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<fs::path> named_by(const fs::path& path) {
  try {
    if (fs::is_directory(path)) return files_below(path);
    if (fs::is_regular_file(path)) return {path};
  } catch (const fs::filesystem_error& e) {
    throw InputError("[data] " + path.string() + " cannot be read: " + e.code().message());
  }
  throw InputError("[data] " + path.string() + " is neither a file nor a folder");
}

}  // namespace

std::vector<fs::path> text_files(const std::vector<fs::path>& paths) {
  std::vector<fs::path> files;
  std::set<fs::path> met;
  for (const auto& path : paths) {
    for (const auto& file : named_by(path)) {
      if (met.insert(fs::canonical(file)).second) files.push_back(file);
    }
  }
  return files;
}

std::vector<fs::path> debian_corpus() {
  const fs::path licences = "/usr/share/common-licenses";
  const fs::path packages = "/usr/share/doc";
  std::vector<fs::path> files;
  if (fs::is_directory(licences)) files = files_below(licences);
  if (fs::is_directory(packages)) {
    for (const auto& package : fs::directory_iterator(packages)) {
      if (fs::is_regular_file(package.path() / "copyright")) files.push_back(package.path() / "copyright");
    }
  }
  if (files.empty()) {
    throw InputError("[data] --corpus debian: found neither " + licences.string() + " nor " + packages.string() +
                     "/*/copyright on this machine; name text files instead");
  }
  std::sort(files.begin(), files.end());
  return text_files(files);
}

}  // namespace perfbench::harness
