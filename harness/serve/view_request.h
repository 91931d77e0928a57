// What a browser asks a server for.
#pragma once

#include <compare>
#include <map>
#include <string>

namespace perfbench::harness {

struct ViewRequest {
  std::string path;                                      // "/run/3f09ac12d4e5"
  std::map<std::string, std::string> parameters = {};    // "?matrix=llama", decoded
  auto operator<=>(const ViewRequest&) const = default;  // NOLINT(modernize-use-nullptr): of what it expands to
};

}  // namespace perfbench::harness
