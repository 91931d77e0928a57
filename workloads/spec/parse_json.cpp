#include "workloads/spec/parse_json.h"

#include <set>
#include <string>
#include <vector>

#include "workloads/spec/spec_error.h"

namespace perfbench::spec {
namespace {

using Event = Json::parse_event_t;

class Watcher {
 public:
  bool operator()(int depth, Event event, const Json& parsed) {
    if (depth >= kJsonMaxDepth) {
      throw SpecError("", "nested deeper than " + std::to_string(kJsonMaxDepth) + " levels");
    }
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    if (event != Event::key) return true;
    const auto& key = parsed.get_ref<const std::string&>();
    if (!keys_.back().insert(key).second) throw SpecError("", "the key '" + key + "' is given twice in one object");
    return true;
  }

 private:
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
};

// "[json.exception.parse_error.101] parse error at line 1, column 2: ..." without the library's own tag.
std::string plain_message(const Json::parse_error& error) {
  const std::string text = error.what();
  const auto tag_end = text.find("] ");
  return "not JSON: " + (tag_end == std::string::npos ? text : text.substr(tag_end + 2));
}

[[noreturn]] void throw_not_json(const Json::exception& error) {
  const auto* syntax = dynamic_cast<const Json::parse_error*>(&error);
  throw NotJson("", syntax != nullptr ? plain_message(*syntax) : std::string("not JSON: ") + error.what());
}

}  // namespace

Json parse_json(std::string_view text) {
  Watcher watcher;
  try {
    return Json::parse(text,
                       [&watcher](int depth, Event event, Json& parsed) { return watcher(depth, event, parsed); });
  } catch (const Json::exception& e) {
    throw_not_json(e);
  }
}

Json parse_own_json(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& e) {
    throw_not_json(e);
  }
}

std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace perfbench::spec
