#include "workloads/spec/json_tree.h"

namespace perfbench::spec {
namespace {

// "[json.exception.parse_error.101] parse error at line 1, column 2: ..." without the library's own tag.
std::string plain_message(const nlohmann::json::parse_error& error) {
  const std::string text = error.what();
  const auto tag_end = text.find("] ");
  return "not JSON: " + (tag_end == std::string::npos ? text : text.substr(tag_end + 2));
}

}  // namespace

void throw_not_json(const nlohmann::json::exception& error) {
  const auto* syntax = dynamic_cast<const nlohmann::json::parse_error*>(&error);
  throw NotJson("", syntax != nullptr ? plain_message(*syntax) : std::string("not JSON: ") + error.what());
}

}  // namespace perfbench::spec
