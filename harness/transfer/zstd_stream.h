// zstd over streams of any length, in constant memory.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace perfbench::harness {

// Bytes that are no zstd frame, or not the whole of one.
class ZstdError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Fills the string with the next bytes, up to any length; empty at the end.
using ByteSource = std::function<void(std::string& bytes)>;
using ByteSink = std::function<void(std::string_view bytes)>;

// One frame.
void zstd_compress(const ByteSource& source, const ByteSink& sink);

// Throws ZstdError.
void zstd_decompress(const ByteSource& source, const ByteSink& sink);

}  // namespace perfbench::harness
