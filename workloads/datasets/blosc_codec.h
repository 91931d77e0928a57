// The Blosc compressor of zarr chunks. blosc_codec.cpp is built if the library was found, otherwise no_blosc.cpp.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace perfbench::spec {

enum class BloscSupport { found, absent };
BloscSupport blosc_support();

// `out` has the size of the uncompressed chunk. `file` is for the error message. Throws DatasetError.
void blosc_decompress_chunk(const std::filesystem::path& file, std::span<const std::byte> compressed,
                            std::span<std::byte> out);
// zstd with byte shuffle over elements of `element_bytes`. Throws DatasetError.
std::vector<std::byte> blosc_compress_chunk(const std::filesystem::path& file, std::span<const std::byte> chunk,
                                            std::size_t element_bytes);

inline constexpr int kBloscLevel = 5;
inline constexpr int kBloscShuffle = 1;  // by bytes
inline constexpr const char* kBloscCompressor = "zstd";

}  // namespace perfbench::spec
