// One field of a CSV line (RFC 4180).
#pragma once

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>

#include "reports/render/format/shown.h"

namespace perfbench::reports {

// As shown() shows it, so that a record is a line of printable text; in quotes where the text holds what separates
// fields or a quote. Spreadsheets compute what begins with "=", "@", "+" or "-": such text gets an apostrophe in front,
// which they take for "this is text", unless it is an amount such as "-3.2 %". JSON has the text as it is.
std::string csv_field(std::string_view text);

// Text that XML can hold.
// XML 1.0, production 2 (Char): of what shown() and shown_lines() leave, U+FFFE and U+FFFF are no characters. They are
// replaced, as what is no UTF-8.
std::string xml_text(const std::string& text);

// A word of a command that people read, mend and paste.
// As it is where a shell takes it so, else in single quotes.
std::string shell_word(const std::string& word);

// JSON as it is printed: exact data, in characters that may stand on a terminal. Include in .cpp files only: it pulls
// in the JSON library.
// What shown() would write out, inside the strings of a JSON text, as "\u009b" and the like: the same data.
std::string with_escapes(std::string_view json);

// A line of its own after `indent` spaces for each value, and a last line end. Bytes that are no UTF-8 become U+FFFD.
template <class Json>
std::string json_text(const Json& value, int indent) {
  return with_escapes(value.dump(indent, ' ', false, Json::error_handler_t::replace)) + "\n";
}

// Text of one format into which data comes only through the escaping of that format. What a literal says is markup,
// what a value says is data; putting two texts together escapes nothing twice. `Plain` (terminals, logs) and `Markdown`
// (markdown.h) are what every renderer builds its text from.
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
