#include "harness/system/machine_keys.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "harness/system/files.h"
#include "harness/system/input_error.h"
#include "harness/system/sha256.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kKeyDigits = 64;
constexpr std::size_t kLongestName = 63;

bool is_alphanumeric(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool is_machine_name(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName && is_alphanumeric(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

bool is_key(const std::string& key) {
  return key.size() == kKeyDigits &&
         std::all_of(key.begin(), key.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
}

void require_private(const std::filesystem::path& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) {
    throw InputError(fmt::format("[push] the keys in {} cannot be read: {}", file.string(), std::strerror(errno)));
  }
  if (!S_ISREG(found.st_mode)) throw InputError("[push] " + file.string() + " is not a file");
  if ((found.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    throw InputError(fmt::format("[push] other users may read or change the keys in {}: chmod 600 {}", file.string(),
                                 file.string()));
  }
}

}  // namespace

std::vector<MachineKey> read_machine_keys(const std::filesystem::path& file) {
  require_private(file);
  std::ifstream in(file);
  std::vector<MachineKey> out;
  std::set<std::string> names;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    std::istringstream words(line);
    MachineKey one;
    std::string rest;
    if (!(words >> one.machine) || one.machine.starts_with('#')) continue;
    const auto refuse = [&](const std::string& why) {
      return InputError(fmt::format("[push] {}:{}: {}", file.string(), number, why));
    };
    if (!is_machine_name(one.machine)) throw refuse("the line does not begin with the name of a machine");
    if (!(words >> one.key) || !is_key(one.key) || words >> rest) {
      throw refuse("after the machine there must be one key of 64 hex digits; `perfbench push --new-key` makes it");
    }
    if (!names.insert(one.machine).second) throw refuse("'" + one.machine + "' already has a key above");
    out.push_back(std::move(one));
  }
  if (in.bad()) throw InputError("[push] " + file.string() + " cannot be read");
  if (out.empty()) throw InputError("[push] " + file.string() + " has no key; `perfbench push --new-key` makes one");
  return out;
}

std::string new_machine_key_line(const std::string& machine) {
  if (!is_machine_name(machine)) {
    throw InputError(fmt::format("[push] '{}' cannot name a machine: use letters, digits and . _ -, at most {}",
                                 machine, kLongestName));
  }
  std::array<unsigned char, kKeyDigits / 2> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw std::runtime_error("[push] the system gives no random numbers");
  }
  std::string out = machine + " ";
  for (const auto byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

void write_key_file(const std::filesystem::path& file, const std::string& line) {
  std::error_code error;
  if (!file.parent_path().empty()) std::filesystem::create_directories(file.parent_path(), error);
  const FileDescriptor fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  const auto text = line + "\n";
  if (fd.is_open() && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) return;
  throw InputError(fmt::format("[push] the key cannot be written to {}: {}", file.string(), std::strerror(errno)));
}

std::int64_t signature_time() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string request_signature(const MachineKey& key, const SignedParts& parts) {
  return hmac_sha256_hex(key.key, fmt::format("{}\n{}\n{}\n{}\n{}", key.machine, parts.method, parts.target,
                                              parts.time_s, sha256_hex(parts.body)));
}

}  // namespace perfbench::harness
