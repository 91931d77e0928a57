#include "workloads/datasets/zarr_array.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <string>

#include "workloads/datasets/blosc_codec.h"
#include "workloads/datasets/dataset_error.h"
#include "workloads/datasets/whole_file.h"

namespace perfbench::spec {
namespace {

static_assert(std::endian::native == std::endian::little, "chunks are read as they lie in memory");

// Windows in shuffled order rarely read a chunk twice in a short time; a small cache serves neighbours within one
// chunk.
constexpr std::int64_t kCacheBytes = std::int64_t{32} << 20;

std::filesystem::path chunk_file(const std::filesystem::path& array, std::int64_t index) {
  return array / std::to_string(index);
}

}  // namespace

template <class T>
ZarrReader<T>::ZarrReader(std::filesystem::path array)
    : array_(std::move(array)), layout_(read_layout(array_, kTypeName<T>)) {}

template <class T>
std::vector<T> ZarrReader<T>::load(std::int64_t index) const {
  const auto file = chunk_file(array_, index);
  const std::int64_t bytes = layout_.chunk_elements * static_cast<std::int64_t>(sizeof(T));
  constexpr std::int64_t kBloscOverhead = 16;
  const auto stored =
      read_bytes(file, bytes + (layout_.compressor == ChunkCompressor::blosc ? kBloscOverhead : std::int64_t{0}));
  if (layout_.compressor == ChunkCompressor::none && static_cast<std::int64_t>(stored.size()) != bytes) {
    throw DatasetError(file, "has " + std::to_string(stored.size()) + " bytes, but a chunk of its array has " +
                                 std::to_string(bytes) + "; the file is cut off");
  }
  std::vector<T> elements(static_cast<std::size_t>(layout_.chunk_elements));
  if (layout_.compressor == ChunkCompressor::blosc) {
    blosc_decompress_chunk(file, stored, std::as_writable_bytes(std::span(elements)));
  } else {
    std::memcpy(elements.data(), stored.data(), stored.size());
  }
  // Differences wrap around, as unsigned sums do.
  if (layout_.filter == ChunkFilter::delta) std::partial_sum(elements.begin(), elements.end(), elements.begin());
  return elements;
}

template <class T>
const std::vector<T>& ZarrReader<T>::chunk(std::int64_t index) {
  const auto held = std::find_if(recent_.begin(), recent_.end(), [&](const Chunk& c) { return c.index == index; });
  if (held != recent_.end()) {
    recent_.splice(recent_.begin(), recent_, held);
  } else {
    recent_.push_front({index, load(index)});
    const std::int64_t bytes = layout_.chunk_elements * static_cast<std::int64_t>(sizeof(T));
    const auto most = static_cast<std::size_t>(std::max(std::int64_t{1}, kCacheBytes / bytes));
    if (recent_.size() > most) recent_.pop_back();
  }
  return recent_.front().elements;
}

template <class T>
void ZarrReader<T>::read(std::int64_t begin, std::span<T> out) {
  auto left = static_cast<std::int64_t>(out.size());
  if (begin < 0 || left > size() || begin > size() - left) {
    throw DatasetError(array_, "has " + std::to_string(size()) + " elements; " + std::to_string(left) + " from " +
                                   std::to_string(begin) + " on were requested");
  }
  T* to = out.data();
  while (left > 0) {
    const std::int64_t offset = begin % layout_.chunk_elements;
    const std::int64_t count = std::min(left, layout_.chunk_elements - offset);
    const auto& from = chunk(begin / layout_.chunk_elements);
    to = std::copy_n(from.data() + offset, count, to);
    begin += count;
    left -= count;
  }
}

template <class T>
ZarrWriter<T>::ZarrWriter(std::filesystem::path array, const ArrayLayout& layout)
    : array_(std::move(array)), layout_(layout) {
  layout_.elements = 0;
  std::error_code error;
  std::filesystem::create_directories(array_, error);
  if (error) throw DatasetError(array_, "cannot be made: " + error.message());
}

template <class T>
void ZarrWriter<T>::append(T element) {
  buffer_.push_back(element);
  ++layout_.elements;
  if (static_cast<std::int64_t>(buffer_.size()) == layout_.chunk_elements) flush();
}

template <class T>
void ZarrWriter<T>::flush() {
  const auto file = chunk_file(array_, layout_.chunks() - 1);
  buffer_.resize(static_cast<std::size_t>(layout_.chunk_elements));
  if (layout_.filter == ChunkFilter::delta) {
    std::adjacent_difference(buffer_.begin(), buffer_.end(), buffer_.begin());
  }
  const auto bytes = std::as_bytes(std::span(buffer_));
  if (layout_.compressor == ChunkCompressor::blosc) {
    write_bytes(file, blosc_compress_chunk(file, bytes, sizeof(T)));
  } else {
    write_bytes(file, bytes);
  }
  buffer_.clear();
}

template <class T>
void ZarrWriter<T>::finish() {
  if (!buffer_.empty()) flush();
  write_layout(array_, layout_, kTypeName<T>);
}

template class ZarrReader<std::uint32_t>;
template class ZarrReader<std::uint64_t>;
template class ZarrWriter<std::uint32_t>;
template class ZarrWriter<std::uint64_t>;

}  // namespace perfbench::spec
