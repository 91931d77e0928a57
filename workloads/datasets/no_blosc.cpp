// Stands in for blosc_codec.cpp in builds without Blosc.
#include "workloads/datasets/blosc_codec.h"
#include "workloads/datasets/dataset_error.h"

namespace perfbench::spec {

BloscSupport blosc_support() {
  return BloscSupport::absent;
}

void blosc_decompress_chunk(const std::filesystem::path& file, std::span<const std::byte>, std::span<std::byte>) {
  throw DatasetError(file, "is compressed by Blosc, which this build lacks; install libblosc-dev and build again");
}

std::vector<std::byte> blosc_compress_chunk(const std::filesystem::path& file, std::span<const std::byte>,
                                            std::size_t) {
  throw DatasetError(file, "cannot be compressed: this build lacks Blosc; install libblosc-dev and build again");
}

}  // namespace perfbench::spec
