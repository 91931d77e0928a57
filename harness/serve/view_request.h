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

// Of a request for `target`, a path and perhaps a query, percent-encoded: "/runs?where=state%3Dok". A name is what
// comes before the first "=", so that people may write the ones in a value as they are: "/runs?where=state=ok". Of a
// name that is there twice the last value counts.
ViewRequest view_request(const std::string& target);

}  // namespace perfbench::harness
