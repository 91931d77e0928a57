#include "workloads/spec/json_pieces.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "workloads/spec/json_tree.h"

namespace perfbench::spec {
namespace {

// The input iterator that the parser wants.
class ByteIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  ByteIterator() = default;
  explicit ByteIterator(QuotedWords& words) : words_(&words) {}

  char operator*() const { return words_->current(); }
  ByteIterator& operator++() {
    words_->next();
    return *this;
  }
  void operator++(int) { words_->next(); }
  bool operator==(const ByteIterator& other) const { return is_end() == other.is_end(); }

 private:
  bool is_end() const { return words_ == nullptr || words_->at_end(); }

  QuotedWords* words_ = nullptr;
};

std::vector<std::string> parts_of(std::string_view pattern) {
  std::vector<std::string> parts;
  while (!pattern.empty()) {
    pattern.remove_prefix(1);
    const auto end = std::min(pattern.find('/'), pattern.size());
    parts.emplace_back(pattern.substr(0, end));
    pattern.remove_prefix(end);
  }
  return parts;
}

// Follows the parser's events. Inside of a piece they go to the builder of its tree.
class PieceReader final : public nlohmann::json_sax<Json> {
 public:
  PieceReader(const std::vector<std::string>& patterns, const std::function<void(JsonPiece)>& take) : take_(take) {
    for (const auto& pattern : patterns) patterns_.push_back(parts_of(pattern));
  }

  bool null() override {
    return scalar([](auto& tree) { tree.null(); });
  }
  bool boolean(bool value) override {
    return scalar([value](auto& tree) { tree.boolean(value); });
  }
  bool number_integer(number_integer_t value) override {
    return scalar([value](auto& tree) { tree.number_integer(value); });
  }
  bool number_unsigned(number_unsigned_t value) override {
    return scalar([value](auto& tree) { tree.number_unsigned(value); });
  }
  bool number_float(number_float_t value, const string_t& text) override {
    return scalar([&](auto& tree) { tree.number_float(value, text); });
  }
  bool string(string_t& value) override {
    return scalar([&value](auto& tree) { tree.string(value); });
  }
  bool binary(binary_t& value) override {
    return scalar([&value](auto& tree) { tree.binary(value); });
  }
  bool start_object(std::size_t size) override {
    return open([size](auto& tree) { tree.start_object(size); }, false);
  }
  bool start_array(std::size_t size) override {
    return open([size](auto& tree) { tree.start_array(size); }, true);
  }
  bool end_object() override {
    return close([](auto& tree) { tree.end_object(); });
  }
  bool end_array() override {
    return close([](auto& tree) { tree.end_array(); });
  }
  bool key(string_t& name) override {
    if (tree_) return tree_->key(name);
    places_.back().name = name;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception& error) override { throw_not_json(error); }

  std::string pointer() const {
    std::string out;
    for (const auto& name : names()) out += "/" + name;
    return out;
  }

 private:
  // A container around the next value, outside of a piece.
  struct Place {
    bool is_array = false;
    std::string name;       // of an object: the last key
    std::size_t index = 0;  // of an array: of the next element
  };

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& place : places_) out.push_back(place.is_array ? std::to_string(place.index) : place.name);
    return out;
  }

  bool matches(const std::vector<std::string>& parts) const {
    if (parts.size() != places_.size()) return false;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] == "*") continue;
      if (places_[i].is_array ? parts[i] != std::to_string(places_[i].index) : parts[i] != places_[i].name)
        return false;
    }
    return true;
  }

  // Begins a piece if the next value is one.
  void look() {
    const auto found = std::ranges::find_if(patterns_, [this](const auto& parts) { return matches(parts); });
    if (found == patterns_.end()) return;
    piece_ = {.pattern = static_cast<std::size_t>(found - patterns_.begin()), .names = names(), .value = {}};
    tree_.emplace(piece_.value, JsonLimits{.depth = kJsonMaxDepth, .values = kJsonMaxValues});
    depth_ = 0;
  }

  template <class Event>
  bool scalar(const Event& event) {
    if (!tree_) look();
    if (tree_) event(*tree_);
    if (!tree_ || depth_ == 0) end_value();
    return true;
  }

  template <class Event>
  bool open(const Event& event, bool is_array) {
    if (!tree_) look();
    if (tree_) {
      event(*tree_);
      ++depth_;
      return true;
    }
    if (std::ssize(places_) >= kJsonMaxDepth) {
      throw SpecError("", "nested deeper than " + std::to_string(kJsonMaxDepth) + " levels");
    }
    places_.push_back({.is_array = is_array, .name = {}, .index = 0});
    return true;
  }

  template <class Event>
  bool close(const Event& event) {
    if (!tree_) {
      places_.pop_back();
      end_value();
      return true;
    }
    event(*tree_);
    if (--depth_ == 0) end_value();
    return true;
  }

  void end_value() {
    if (tree_) {
      tree_.reset();
      take_(std::move(piece_));
    }
    if (!places_.empty() && places_.back().is_array) ++places_.back().index;
  }

  const std::function<void(JsonPiece)>& take_;
  std::vector<std::vector<std::string>> patterns_;
  std::vector<Place> places_;
  JsonPiece piece_;
  std::optional<TreeBuilder> tree_;  // present inside of a piece
  int depth_ = 0;                    // of containers inside of the piece
};

}  // namespace

std::string PieceError::text() const {
  return (pointer().empty() ? "" : "at " + pointer() + ": ") + what();
}

void read_json_pieces(const ByteReader& bytes, const std::vector<std::string>& patterns,
                      const std::function<void(JsonPiece)>& take) {
  QuotedWords words(bytes);
  PieceReader reader(patterns, take);
  try {
    Json::sax_parse(ByteIterator(words), ByteIterator(), &reader);
  } catch (const NotJson& e) {
    throw PieceError(words.line(), "", e.what());
  } catch (const SpecError& e) {
    throw PieceError(words.line(), reader.pointer() + e.pointer(), e.what());
  }
}

}  // namespace perfbench::spec
