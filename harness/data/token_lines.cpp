#include "harness/data/token_lines.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

#include "harness/input_error.h"
#include "workloads/spec/fields_json.h"

namespace perfbench::harness {
namespace {

struct TokenLine {
  TokenDocument document;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    constexpr double kMostId = std::numeric_limits<std::int32_t>::max();
    f(spec::Field{"prompt", "ids of what is given", 0, kMostId}, self.document.prompt);
    f(spec::Field{"completion", "ids of what is to be learnt", 0, kMostId}, self.document.completion);
  }
};

TokenDocument parse_line(const std::string& line) {
  auto document = spec::fields_from_json<TokenLine>(spec::parse_json(line), spec::Missing::is_error).document;
  if (document.prompt.empty()) {
    throw spec::SpecError("/prompt", "is empty; the first token of a completion follows one of a prompt");
  }
  if (document.completion.empty()) throw spec::SpecError("/completion", "is empty; there is nothing to learn");
  return document;
}

}  // namespace

std::vector<TokenDocument> read_token_lines(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::vector<TokenDocument> documents;
  std::string line;
  for (std::int64_t number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      documents.push_back(parse_line(line));
    } catch (const spec::SpecError& e) {
      const std::string place = e.pointer().empty() ? "" : e.pointer() + ": ";
      throw InputError("[data] " + file.string() + ":" + std::to_string(number) + ": " + place + e.what());
    }
  }
  if (!in.is_open() || in.bad()) {
    throw InputError("[data] " + file.string() + " cannot be read: " + std::strerror(errno));
  }
  return documents;
}

}  // namespace perfbench::harness
