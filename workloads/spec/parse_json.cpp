#include "workloads/spec/parse_json.h"

#include "workloads/spec/json_tree.h"

namespace perfbench::spec {
Json parse_json(std::string_view text) {
  Json root;
  TreeBuilder builder(root, {.depth = kJsonMaxDepth, .values = kJsonMaxValues});
  Json::sax_parse(text, &builder);
  return root;
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
