#include "harness/system/sha256.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <fstream>
#include <stdexcept>

namespace perfbench::harness {
namespace {

void check(int code) {
  if (code != 1) throw std::runtime_error("libcrypto could not compute a SHA-256");
}

std::string hex_of(const unsigned char* bytes, unsigned int size) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(std::size_t{2} * size);
  for (unsigned int i = 0; i < size; ++i) {
    hex += kDigits[bytes[i] >> 4U];
    hex += kDigits[bytes[i] & 0xFU];
  }
  return hex;
}

}  // namespace

void Sha256::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  check(context_ == nullptr ? 0 : EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr));
}

void Sha256::add(std::string_view bytes) {
  check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  check(EVP_DigestFinal_ex(context_.get(), digest.data(), &size));
  return hex_of(digest.data(), size);
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.hex();
}

std::optional<std::string> sha256_of_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  Sha256 sum;
  std::string piece(std::size_t{1} << 16, '\0');
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0) {
    sum.add({piece.data(), static_cast<std::size_t>(in.gcount())});
  }
  return in.bad() ? std::nullopt : std::optional(sum.hex());
}

std::string hmac_sha256_hex(std::string_view key, std::string_view message) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(message.data());
  check(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), data, message.size(), digest.data(), &size) ==
                nullptr
            ? 0
            : 1);
  return hex_of(digest.data(), size);
}

}  // namespace perfbench::harness
