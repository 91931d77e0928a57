// JSON as it is printed: exact data, in characters that may stand on a terminal. Include in .cpp files only: it pulls
// in the JSON library.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace perfbench::reports {

// What shown() would write out, inside the strings of a JSON text, as "\u009b" and the like: the same data.
std::string with_escapes(std::string_view json);

// A line of its own after `indent` spaces for each value, and a last line end. Bytes that are no UTF-8 become U+FFFD.
template <class Json>
std::string json_text(const Json& value, int indent) {
  return with_escapes(value.dump(indent, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace perfbench::reports
