// What a browser asks a server for.
#pragma once

#include <compare>
#include <map>
#include <string>
#include <string_view>

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

// Who may ask a server for what. Pure functions of a request's headers.
// Whether a Host header names this machine as somebody would who means it: "localhost", an address by number, or
// `own_name`; with or without a port. A name of another site that resolves here (DNS rebinding) is none of these.
bool is_own_host(std::string_view host, std::string_view own_name);

// Whether an Origin header is that of pages which `host` (the request's own Host header) serves.
bool is_own_origin(std::string_view origin, std::string_view host);

// In a time that does not depend on where they differ.
bool same_token(std::string_view a, std::string_view b);

// 32 hex digits from the system's random numbers.
std::string new_token();

}  // namespace perfbench::harness
