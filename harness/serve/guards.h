// A browser's request to the server.
#pragma once

#include <compare>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace perfbench::harness {

struct ViewRequest {
  std::string path;                                      // "/run/3f09ac12d4e5"
  std::map<std::string, std::string> parameters = {};    // "?matrix=llama", decoded
  auto operator<=>(const ViewRequest&) const = default;  // NOLINT(modernize-use-nullptr): of what it expands to
};

// Parses `target`, a path with an optional query, percent-encoded: "/runs?where=state%3Dok". A name ends at the first
// "=", so that users may write "=" in a value: "/runs?where=state=ok". If a name is repeated, its last value counts.
ViewRequest view_request(const std::string& target);

// Checks which requests are allowed. Pure functions of a request's headers. is_own_host: whether a Host header names
// this machine on purpose: "localhost", a numeric address, or `own_name`, with or without a port. A name of another
// site that resolves to this machine (DNS rebinding) is refused.
bool is_own_host(std::string_view host, std::string_view own_name);

// Whether an Origin header belongs to pages that `host` (the Host header of the request) serves.
bool is_own_origin(std::string_view origin, std::string_view host);

// Takes the same time wherever the texts differ.
bool same_token(std::string_view a, std::string_view b);

// The message with `name` in place of the file's path: clients must not learn about this machine's disk.
std::string with_name(std::string message, const std::filesystem::path& file, const std::string& name);

// 32 hex digits from the system's random number generator.
std::string new_token();

}  // namespace perfbench::harness
