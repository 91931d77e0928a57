// The keys with which machines sign what they push to a server (`perfbench push`, `perfbench serve --accept`).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace perfbench::harness {

struct MachineKey {
  std::string machine;  // letters, digits and . _ - ; begins with a letter or digit; at most 63
  std::string key;      // 64 hex digits
};

// Reads a file with "MACHINE KEY" on each line; lines that begin with # and empty ones are skipped. Throws InputError
// with file and line, for a machine that is named twice, and if somebody else than the owner may read the file. The
// message never has a key.
std::vector<MachineKey> read_machine_keys(const std::filesystem::path& file);

// A line of such a file with a new key from the system's random number generator. Throws InputError for a name that is
// not valid.
std::string new_machine_key_line(const std::string& machine);

// Writes the line to a new file that only its owner may read, in a folder that is made if needed. Throws InputError if
// the file exists.
void write_key_file(const std::filesystem::path& file, const std::string& line);

// The headers of a signed request.
inline constexpr const char* kMachineHeader = "X-Perfbench-Machine";
inline constexpr const char* kTimeHeader = "X-Perfbench-Time";  // seconds since 1970, UTC
inline constexpr const char* kSignatureHeader = "X-Perfbench-Signature";

// A signature is accepted this long before and after its time, so that a recorded request is of no use later.
inline constexpr std::int64_t kSignatureSeconds = 300;

// The present time of signatures.
std::int64_t signature_time();

struct SignedParts {
  std::string_view method;  // "POST"
  std::string_view target;  // path and query: "/push/0123?offset=0"
  std::int64_t time_s = 0;
  std::string_view body;
};

// HMAC-SHA-256 over the parts, with the SHA-256 of the body.
std::string request_signature(const MachineKey& key, const SignedParts& parts);

}  // namespace perfbench::harness
