#include "workloads/spec/parse_json.h"

#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "workloads/spec/spec_error.h"

namespace perfbench::spec {
namespace {

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

// Builds the tree from the parser's events. The library's own parser with a callback scans all siblings of a value when
// the value ends, so n objects in an array would take n * n steps.
class TreeBuilder final : public nlohmann::json_sax<Json> {
 public:
  explicit TreeBuilder(Json& root) : root_(root) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& value) override { return add(std::move(value)); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    const auto [member, is_new] = open_.back()->get_ref<Json::object_t&>().try_emplace(name);
    if (!is_new) throw SpecError("", "the key '" + name + "' is given twice in one object");
    member_ = &member->second;
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const Json::exception& error) override { throw_not_json(error); }

 private:
  bool add(Json value) {
    place() = std::move(value);
    return true;
  }

  bool open(Json container) {
    if (std::ssize(open_) >= kJsonMaxDepth) {
      throw SpecError("", "nested deeper than " + std::to_string(kJsonMaxDepth) + " levels");
    }
    Json& at = place();
    at = std::move(container);
    open_.push_back(&at);
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  // Where the next value goes.
  Json& place() {
    if (++values_ > kJsonMaxValues) throw SpecError("", "more than " + std::to_string(kJsonMaxValues) + " values");
    if (open_.empty()) return root_;
    return open_.back()->is_array() ? open_.back()->emplace_back() : *member_;
  }

  Json& root_;
  std::vector<Json*> open_;  // the containers around the next value; none of them moves before it is closed
  Json* member_ = nullptr;   // the member of the innermost object whose key was read last
  std::int64_t values_ = 0;
};

}  // namespace

Json parse_json(std::string_view text) {
  Json root;
  TreeBuilder builder(root);
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
