// One-dimensional zarr arrays of whole numbers, read and written chunk by chunk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <span>
#include <vector>

#include "workloads/datasets/zarr_metadata.h"

namespace perfbench::spec {

// T: std::uint32_t or std::uint64_t. One thread at a time may use it.
template <class T>
class ZarrReader {
 public:
  // Throws DatasetError if the array's description cannot be used.
  explicit ZarrReader(std::filesystem::path array);

  std::int64_t size() const { return layout_.elements; }
  // Reads elements [begin, begin + out.size()), which must exist. Throws DatasetError for a missing or damaged chunk:
  // zarr would read a missing one as zeros, but a data set of tokens has no such chunks, and an incomplete copy has.
  void read(std::int64_t begin, std::span<T> out);

 private:
  struct Chunk {
    std::int64_t index = -1;
    std::vector<T> elements;
  };
  const std::vector<T>& chunk(std::int64_t index);
  std::vector<T> load(std::int64_t index) const;

  std::filesystem::path array_;
  ArrayLayout layout_;
  std::list<Chunk> recent_;  // latest first
};

template <class T>
class ZarrWriter {
 public:
  // Makes the folder. `layout.elements` is ignored: the number of appended elements counts.
  ZarrWriter(std::filesystem::path array, const ArrayLayout& layout);

  std::int64_t size() const { return layout_.elements; }
  void append(T element);
  // Writes the last chunk and the description. Nothing may be appended afterwards.
  void finish();

 private:
  void flush();

  std::filesystem::path array_;
  ArrayLayout layout_;
  std::vector<T> buffer_;
};

}  // namespace perfbench::spec
