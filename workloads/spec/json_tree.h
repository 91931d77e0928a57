// Builds trees from the events of the JSON parser. Include in .cpp files only: it pulls in the JSON library.
#pragma once

#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "workloads/spec/spec_error.h"

namespace perfbench::spec {

// How much a document may have: see parse_json.h.
struct JsonLimits {
  int depth = 0;
  std::int64_t values = 0;
};

// Throws NotJson with the message of the library.
[[noreturn]] void throw_not_json(const nlohmann::json::exception& error);

// Builds the tree from the parser's events. The library's own parser with a callback scans all siblings of a value when
// the value ends, so n objects in an array would take n * n steps.
class TreeBuilder final : public nlohmann::json_sax<nlohmann::json> {
  using Json = nlohmann::json;

 public:
  TreeBuilder(Json& root, JsonLimits limits) : root_(root), limits_(limits) {}

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
    if (std::ssize(open_) >= limits_.depth) {
      throw SpecError("", "nested deeper than " + std::to_string(limits_.depth) + " levels");
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
    if (++values_ > limits_.values) throw SpecError("", "more than " + std::to_string(limits_.values) + " values");
    if (open_.empty()) return root_;
    return open_.back()->is_array() ? open_.back()->emplace_back() : *member_;
  }

  Json& root_;
  JsonLimits limits_;
  std::vector<Json*> open_;  // the containers around the next value; none of them moves before it is closed
  Json* member_ = nullptr;   // the member of the innermost object whose key was read last
  std::int64_t values_ = 0;
};

}  // namespace perfbench::spec
