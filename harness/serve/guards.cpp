#include "harness/serve/guards.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fmt/core.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <memory>
#include <sstream>
#include <system_error>

namespace perfbench::harness {
namespace {

std::string decoded(const std::string& text) {
  int size = 0;
  const std::unique_ptr<char, decltype(&curl_free)> out(
      curl_easy_unescape(nullptr, text.c_str(), static_cast<int>(text.size()), &size), &curl_free);
  return out == nullptr ? text : std::string(out.get(), static_cast<std::size_t>(size));
}

}  // namespace

ViewRequest view_request(const std::string& target) {
  const auto mark = target.find('?');
  ViewRequest out{.path = decoded(target.substr(0, mark))};
  if (mark == std::string::npos) return out;
  auto text = target.substr(mark + 1);
  std::replace(text.begin(), text.end(), '+', ' ');
  std::istringstream query(text);
  for (std::string pair; std::getline(query, pair, '&');) {
    const auto equals = pair.find('=');
    const auto value = equals == std::string::npos ? "" : decoded(pair.substr(equals + 1));
    if (!pair.empty()) out.parameters[decoded(pair.substr(0, equals))] = value;
  }
  return out;
}

namespace {

bool is_number(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return ::inet_pton(AF_INET, text.c_str(), address.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), address.data()) == 1;
}

bool is_port(std::string_view text) {
  constexpr std::size_t kMostDigits = 5;
  return !text.empty() && text.size() <= kMostDigits && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The host of "HOST" or "HOST:PORT"; for "[::1]:80", the text in the brackets. Empty for any other text.
std::string host_alone(std::string_view text) {
  const bool has_brackets = text.starts_with('[');
  const auto end = has_brackets ? text.find(']') : std::min(text.find(':'), text.size());
  if (end == std::string_view::npos) return "";
  const auto host = has_brackets ? text.substr(1, end - 1) : text.substr(0, end);
  const auto rest = text.substr(has_brackets ? end + 1 : end);
  if (!rest.empty() && !(rest.front() == ':' && is_port(rest.substr(1)))) return "";
  if (has_brackets != (host.find(':') != std::string_view::npos)) return "";  // only IPv6 addresses have brackets
  return std::string(host);
}

}  // namespace

bool is_own_host(std::string_view host, std::string_view own_name) {
  // Host names ignore case, and browsers write them in lower case.
  const auto lower = [](std::string name) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return name;
  };
  const auto name = lower(host_alone(host));
  return name == "localhost" || (!name.empty() && name == lower(std::string(own_name))) || is_number(name);
}

bool is_own_origin(std::string_view origin, std::string_view host) {
  return !host.empty() && origin == "http://" + std::string(host);
}

bool same_token(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return different == 0;
}

std::string new_token() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  std::string out;
  for (const auto byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

std::string with_name(std::string message, const std::filesystem::path& file, const std::string& name) {
  const auto path = file.string();
  for (auto at = message.find(path); at != std::string::npos; at = message.find(path, at + name.size())) {
    message.replace(at, path.size(), name);
  }
  return message;
}

}  // namespace perfbench::harness
