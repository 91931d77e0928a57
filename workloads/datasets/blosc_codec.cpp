#include "workloads/datasets/blosc_codec.h"

#include <blosc.h>

#include <string>

#include "workloads/datasets/dataset_error.h"

namespace perfbench::spec {

// The *_ctx functions keep no global state. They use one thread: the cores belong to the computation.

BloscSupport blosc_support() {
  return BloscSupport::found;
}

void blosc_decompress_chunk(const std::filesystem::path& file, std::span<const std::byte> compressed,
                            std::span<std::byte> out) {
  std::size_t bytes = 0;
  if (compressed.size() < BLOSC_MIN_HEADER_LENGTH ||
      blosc_cbuffer_validate(compressed.data(), compressed.size(), &bytes) != 0) {
    throw DatasetError(file, "is not a Blosc buffer of its " + std::to_string(compressed.size()) +
                                 " bytes; the chunk is damaged or cut off");
  }
  if (bytes != out.size()) {
    throw DatasetError(
        file, "holds " + std::to_string(bytes) + " bytes, but a chunk of its array has " + std::to_string(out.size()));
  }
  const int got = blosc_decompress_ctx(compressed.data(), out.data(), out.size(), 1);
  if (got < 0 || static_cast<std::size_t>(got) != out.size()) {
    throw DatasetError(file, "cannot be decompressed (Blosc says " + std::to_string(got) + "); the chunk is damaged");
  }
}

std::vector<std::byte> blosc_compress_chunk(const std::filesystem::path& file, std::span<const std::byte> chunk,
                                            std::size_t element_bytes) {
  std::vector<std::byte> compressed(chunk.size() + BLOSC_MAX_OVERHEAD);
  const int bytes = blosc_compress_ctx(kBloscLevel, kBloscShuffle, element_bytes, chunk.size(), chunk.data(),
                                       compressed.data(), compressed.size(), kBloscCompressor, 0, 1);
  if (bytes <= 0) throw DatasetError(file, "cannot be compressed (Blosc says " + std::to_string(bytes) + ")");
  compressed.resize(static_cast<std::size_t>(bytes));
  return compressed;
}

}  // namespace perfbench::spec
