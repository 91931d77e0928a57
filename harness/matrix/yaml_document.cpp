#include "harness/matrix/yaml_document.h"

#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "harness/matrix/yaml_builder.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kMaxFileBytes = 4U << 20U;

// Length of the well-formed UTF-8 sequence at the start of `text` (Unicode 15, table 3-7), 0 if there is none.
std::size_t utf8_sequence(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto continues = [&byte](std::size_t i) { return byte(i) >= 0x80 && byte(i) <= 0xBF; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = first == 0xED && byte(1) > 0x9F;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && byte(1) < 0x90;
    const bool beyond = first == 0xF4 && byte(1) > 0x8F;
    return continues(1) && continues(2) && continues(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

// The control characters below 0x80 that YAML 1.2 (c-printable) forbids. yaml-cpp would take 0x04 for the end of the
// file.
bool is_forbidden_control(char c) {
  const auto u = static_cast<unsigned char>(c);
  return (u < 0x20 && c != '\t' && c != '\n' && c != '\r') || u == 0x7F;
}

void check_text(std::string_view text) {
  SourcePosition at;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_sequence(text.substr(i));
    if (length == 0) throw YamlMistake{at, "the file is not UTF-8 text: invalid byte sequence"};
    if (length == 1 && is_forbidden_control(text[i])) {
      throw YamlMistake{at, "the file contains the control character " +
                                std::to_string(static_cast<unsigned char>(text[i])) + ", which YAML does not allow"};
    }
    if (text[i] == '\n') {
      at = {at.line + 1, 1};
    } else {
      at.column += static_cast<std::int64_t>(length);
    }
    i += length;
  }
}

YamlTree build_tree(std::string_view text) {
  if (text.size() > kMaxFileBytes) {
    throw YamlMistake{{},
                      "the file has " + std::to_string(text.size()) + " bytes; at most " +
                          std::to_string(kMaxFileBytes) + " are read"};
  }
  check_text(text);
  YamlTree tree;
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    YamlBuilder builder(tree);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& e) {
    if (e.mark.is_null()) throw YamlMistake{{}, "not YAML: " + e.msg};
    throw YamlMistake{{e.mark.line + 1, e.mark.column + 1}, "not YAML: " + e.msg};
  }
  return tree;
}

std::string message_at(const std::string& kind, const std::string& file, SourcePosition at,
                       const std::string& message) {
  return "[" + kind + "] " + file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + " " + message;
}

std::string read_file(const std::filesystem::path& file, const std::string& kind) {
  const auto refuse = [&](const std::string& why) { throw InputError("[" + kind + "] " + file.string() + ": " + why); };
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) refuse("is a folder, but a YAML file is needed");
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) refuse(std::string("cannot be opened: ") + std::strerror(errno));
  // One byte more than allowed, so that a file that is too large is reported and not truncated.
  std::string text(kMaxFileBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) refuse("cannot be read");
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kMaxFileBytes) refuse("is larger than " + std::to_string(kMaxFileBytes) + " bytes");
  return text;
}

}  // namespace

struct YamlDocument::Content {
  std::string kind;
  std::string file;
  YamlTree tree;
};

YamlDocument::YamlDocument(std::unique_ptr<Content> content) : content_(std::move(content)) {}
YamlDocument::YamlDocument(YamlDocument&&) noexcept = default;
YamlDocument& YamlDocument::operator=(YamlDocument&&) noexcept = default;
YamlDocument::~YamlDocument() = default;

YamlDocument YamlDocument::parse(std::string_view text, std::string kind, std::string file) {
  try {
    auto tree = build_tree(text);
    return YamlDocument(std::make_unique<Content>(Content{std::move(kind), std::move(file), std::move(tree)}));
  } catch (const YamlMistake& mistake) {
    throw InputError(message_at(kind, file, mistake.at, mistake.message));
  }
}

YamlDocument YamlDocument::load(const std::filesystem::path& file, std::string kind) {
  const std::string text = read_file(file, kind);
  return parse(text, std::move(kind), file.string());
}

const std::string& YamlDocument::file() const {
  return content_->file;
}

const nlohmann::json& YamlDocument::root() const {
  return content_->tree.root;
}

const std::vector<std::string>& YamlDocument::keys(std::string_view pointer) const {
  static const std::vector<std::string> kNone;
  const auto found = content_->tree.keys.find(std::string(pointer));
  return found == content_->tree.keys.end() ? kNone : found->second;
}

SourcePosition YamlDocument::position(std::string_view pointer) const {
  const auto& positions = content_->tree.positions;
  for (std::string key(pointer);;) {
    const auto found = positions.find(key);
    if (found != positions.end()) return found->second;
    const auto slash = key.rfind('/');
    if (slash == std::string::npos) return {};
    key.resize(slash);
  }
}

InputError YamlDocument::error(std::string_view pointer, const std::string& message) const {
  return InputError(message_at(content_->kind, content_->file, position(pointer), message));
}

InputError YamlDocument::error(const spec::SpecError& error, const std::string& root) const {
  return this->error(root + error.pointer(), error.what());
}

}  // namespace perfbench::harness
