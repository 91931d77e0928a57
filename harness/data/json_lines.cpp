#include "harness/data/json_lines.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "harness/input_error.h"
#include "workloads/spec/fields_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {

void for_each_json_line(const std::filesystem::path& file, const TakeJsonLine& take) {
  std::ifstream in(file, std::ios::binary);
  std::string line;
  for (std::int64_t number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      const auto json = spec::parse_json(line);
      if (!json.is_object()) throw spec::SpecError("", "found " + spec::shown(json) + " where an object is expected");
      take(json, std::ssize(line) + 1);
    } catch (const spec::SpecError& e) {
      const std::string place = e.pointer().empty() ? "" : e.pointer() + ": ";
      throw InputError("[data] " + file.string() + ":" + std::to_string(number) + ": " + place + e.what());
    }
  }
  if (!in.is_open() || in.bad()) {
    throw InputError("[data] " + file.string() + " cannot be read: " + std::strerror(errno));
  }
}

}  // namespace perfbench::harness
