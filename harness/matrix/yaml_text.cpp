#include "harness/matrix/yaml_text.h"

#include <yaml-cpp/yaml.h>

#include <cstdint>

namespace perfbench::harness {
namespace {

using spec::Json;

void write_yaml(YAML::Emitter& out, const Json& value) {
  if (value.is_object()) {
    out << YAML::BeginMap;
    for (const auto& [key, member] : value.items()) {
      out << YAML::Key << key << YAML::Value;
      write_yaml(out, member);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    out << YAML::BeginSeq;
    for (const auto& member : value) write_yaml(out, member);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text.find('\n') != std::string::npos) {
      out << YAML::Literal << text;
    } else {
      out << YAML::DoubleQuoted << text;
    }
  } else if (value.is_boolean()) {
    out << value.get<bool>();
  } else {
    out << value.get<std::int64_t>();
  }
}

}  // namespace

std::string yaml_text(const Json& document) {
  YAML::Emitter out;
  write_yaml(out, document);
  return std::string(out.c_str()) + "\n";
}

}  // namespace perfbench::harness
