// SHA-256 (FIPS 180-4).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace perfbench::harness {

// The hash of bytes that arrive in pieces.
class Sha256 {
 public:
  Sha256();
  void add(std::string_view bytes);
  std::string hex();  // 64 lower-case digits; nothing can be added afterwards

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

// The hash of `bytes` as 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

// The hash of a file; nullopt if it cannot be read.
std::optional<std::string> sha256_of_file(const std::filesystem::path& file);

// HMAC-SHA-256 (RFC 2104) as 64 lower-case hex digits.
std::string hmac_sha256_hex(std::string_view key, std::string_view message);

}  // namespace perfbench::harness
