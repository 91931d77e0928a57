#include "harness/app/data/source_texts.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "harness/system/input_error.h"
#include "workloads/spec/fields_json.h"
#include "workloads/spec/spec_error.h"

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

namespace {

void require_whole(const std::ifstream& in, const std::filesystem::path& file) {
  if (!in.is_open() || in.bad()) {
    throw InputError("[data] " + file.string() + " cannot be read: " + std::strerror(errno));
  }
}

}  // namespace

void take_file(const std::filesystem::path& file, const TakeText& take) {
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  require_whole(in, file);
  const auto bytes = std::ssize(text);
  take({.file = file, .line = 0, .bytes = bytes, .text = std::move(text)});
}

void for_each_line(const std::filesystem::path& file, const TakeText& take) {
  std::ifstream in(file, std::ios::binary);
  std::string line;
  for (std::int64_t number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    take({.file = file, .line = number, .bytes = std::ssize(line) + 1, .text = line});
  }
  require_whole(in, file);
}

spec::Json object_of(const SourceText& text) {
  auto json = spec::parse_json(text.text);
  if (!json.is_object()) throw spec::SpecError("", "found " + spec::shown(json) + " where an object is expected");
  return json;
}

void with_place_of(const SourceText& text, const std::function<void()>& work) {
  try {
    work();
  } catch (const spec::SpecError& e) {
    const std::string line = text.line > 0 ? ":" + std::to_string(text.line) : "";
    const std::string place = e.pointer().empty() ? "" : e.pointer() + ": ";
    throw InputError("[data] " + text.file.string() + line + ": " + place + e.what());
  }
}

}  // namespace perfbench::harness
