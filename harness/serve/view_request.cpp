#include "harness/serve/view_request.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>
#include <sstream>

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

}  // namespace perfbench::harness
