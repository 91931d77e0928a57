// Text of one format into which data comes only through the escaping of that format. What a literal says is markup,
// what a value says is data; putting two texts together escapes nothing twice. `Plain` (terminals, logs) and `Markdown`
// (markdown.h) are what every renderer builds its text from.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <type_traits>

#include "reports/format/shown.h"

namespace perfbench::reports {

template <class T>
concept TextData = std::is_convertible_v<const T&, std::string_view>;

template <std::string (*Escape)(std::string_view)>
class EscapedText {
 public:
  // What a value is formatted as: text of the same format as it stands, other text escaped, numbers as numbers.
  template <class T>
  using Formatted = std::conditional_t<std::is_same_v<T, EscapedText> || TextData<T>, std::string, T>;

  EscapedText() = default;
  // Data, one line of it.
  template <TextData Text>
  EscapedText(const Text& data) : text_(Escape(data)) {}

  // As fmt::format; the literal is markup.
  template <class... Args>
  static EscapedText format(fmt::format_string<Formatted<Args>...> literal, const Args&... values) {
    return vformat(literal, formatted(values)...);
  }

  EscapedText& operator+=(const EscapedText& more) {
    text_ += more.text_;
    return *this;
  }
  // Markup or data? Say format("...") for the one and EscapedText("...") for the other.
  EscapedText& operator+=(const char* unclear) = delete;
  friend EscapedText operator+(EscapedText left, const EscapedText& right) { return left += right; }

  const std::string& text() const { return text_; }
  operator const std::string&() const { return text_; }
  bool empty() const { return text_.empty(); }

 private:
  template <class T>
  static Formatted<T> formatted(const T& value) {
    if constexpr (std::is_same_v<T, EscapedText>) {
      return value.text_;
    } else if constexpr (TextData<T>) {
      return Escape(value);
    } else {
      return value;
    }
  }
  template <class... Values>
  static EscapedText vformat(fmt::string_view literal, const Values&... values) {
    EscapedText out;
    out.text_ = fmt::vformat(literal, fmt::make_format_args(values...));
    return out;
  }

  std::string text_;
};

using Plain = EscapedText<&shown>;

}  // namespace perfbench::reports
