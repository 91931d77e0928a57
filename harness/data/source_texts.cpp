#include "harness/data/source_texts.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "harness/input_error.h"
#include "workloads/spec/fields_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
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
