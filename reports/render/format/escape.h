// One field of a CSV line (RFC 4180).
#pragma once

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>

#include "reports/render/format/shown.h"

namespace perfbench::reports {

// Escaped by shown(), so that a record is a line of printable text, and quoted if the text contains a quote or a
// separator. Spreadsheets evaluate text that begins with "=", "@", "+" or "-". Such text gets an apostrophe in front,
// which marks it as text, unless it is an amount such as "-3.2 %". JSON has the text unchanged.
std::string csv_field(std::string_view text);

// Text that is valid in XML. By XML 1.0, production 2 (Char), U+FFFE and U+FFFF are not characters, though shown() and
// shown_lines() leave them. They are replaced, like invalid UTF-8.
std::string xml_text(const std::string& text);

// A word of a command that people read, edit and paste. Unchanged if a shell takes it literally, otherwise in single
// quotes.
std::string shell_word(const std::string& word);

// JSON for printing: exact data, in characters that are safe on a terminal. Include this in .cpp files only, because it
// needs the JSON library. with_escapes writes characters that shown() would escape as "\u009b" and the like inside the
// strings of a JSON text, which keeps the data the same.
std::string with_escapes(std::string_view json);

// Each value on a line of its own, indented by `indent` spaces, and a final line end. Invalid UTF-8 becomes U+FFFD.
template <class Json>
std::string json_text(const Json& value, int indent) {
  return with_escapes(value.dump(indent, ' ', false, Json::error_handler_t::replace)) + "\n";
}

// Text of one format, into which data gets only through the escaping of that format. Literals are markup, values are
// data, and joining two texts escapes nothing twice. All renderers build their text from `Plain` (terminals, logs) and
// `Markdown` (markdown.h).
template <class T>
concept TextData = std::is_convertible_v<const T&, std::string_view>;

template <std::string (*Escape)(std::string_view)>
class EscapedText {
 public:
  // How a value is formatted: text of the same format is unchanged, other text is escaped, numbers stay numbers.
  template <class T>
  using Formatted = std::conditional_t<std::is_same_v<T, EscapedText> || TextData<T>, std::string, T>;

  EscapedText() = default;
  // Data of one line.
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
  // Ambiguous between markup and data: write format("...") for markup and EscapedText("...") for data.
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
