#include "harness/adapter/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace perfbench::adapter {
namespace {

constexpr std::size_t kShortestSecret = 8;  // a shorter value could remove words such as "false" from a log
constexpr std::string_view kShown = "[secret]";

}  // namespace

bool is_secret_name(std::string_view variable) {
  constexpr std::array<std::string_view, 9> kWords{"_TOKEN_",      "_SECRET_",      "_PASSWORD_",
                                                   "_PASSWD_",     "_API_KEY_",     "_APIKEY_",
                                                   "_ACCESS_KEY_", "_PRIVATE_KEY_", "_SECRET_KEY_"};
  std::string name = "_";
  for (const char c : variable) name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  name += "_";
  return std::ranges::any_of(kWords, [&](auto word) { return name.find(word) != std::string::npos; });
}

std::vector<std::string> secret_values(const char* const* environment) {
  std::vector<std::string> values;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry(*environment);
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos || !is_secret_name(entry.substr(0, equals))) continue;
    const auto value = entry.substr(equals + 1);
    if (value.size() >= kShortestSecret) values.emplace_back(value);
  }
  return values;
}

Redactor::Redactor(std::vector<std::string> secrets) : secrets_(std::move(secrets)) {
  // The longest first, because another one may be its beginning.
  std::ranges::sort(secrets_, [](const auto& a, const auto& b) { return a.size() > b.size(); });
  if (!secrets_.empty()) longest_ = secrets_.front().size();
}

std::string_view Redactor::add(std::string_view chunk) {
  if (secrets_.empty()) return chunk;
  held_.append(chunk);
  for (const auto& secret : secrets_) {
    for (auto at = held_.find(secret); at != std::string::npos; at = held_.find(secret, at + kShown.size())) {
      held_.replace(at, secret.size(), kShown);
    }
  }
  const auto kept = std::min(held_.size(), longest_ - 1);
  shown_.assign(held_, 0, held_.size() - kept);
  held_.erase(0, held_.size() - kept);
  return shown_;
}

std::string_view Redactor::finish() {
  shown_ = std::move(held_);
  held_.clear();
  return shown_;
}

}  // namespace perfbench::adapter
