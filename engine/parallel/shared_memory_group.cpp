#include "engine/parallel/shared_memory_group.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cstring>
#include <new>

#include "engine/parallel/ordered_sum.h"

namespace perfbench::engine {
namespace {

using Word = std::atomic<std::uint32_t>;
static_assert(sizeof(Word) == sizeof(std::uint32_t) && Word::is_always_lock_free, "a futex is a plain 32-bit word");

// Not a private futex, which would not wake other processes.
void futex_wait(Word& word, std::uint32_t while_it_is) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT, while_it_is, nullptr, nullptr, 0);
}
void futex_wake_all(Word& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Correct also when counters wrap around.
bool reached(std::uint32_t epoch, std::uint32_t wanted) {
  return static_cast<std::int32_t>(epoch - wanted) >= 0;
}

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// A peer that is running arrives within a few microseconds; going to sleep and waking up takes about ten times that.
bool reached_soon(const Word& word, std::uint32_t wanted) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kSpin = std::chrono::microseconds(20);
  const auto until = Clock::now() + kSpin;
  do {
    for (int i = 0; i < 32; ++i) {
      if (reached(word.load(std::memory_order_acquire), wanted)) return true;
      pause();
    }
  } while (Clock::now() < until);
  return false;
}

// The part of a chunk [at, at + chunk) that lies within a piece of `size`.
std::int64_t part(std::int64_t size, std::int64_t at, std::int64_t chunk) {
  return std::clamp(size - at, std::int64_t{0}, chunk);
}

std::size_t unsigned_size(std::int64_t bytes) {
  return static_cast<std::size_t>(bytes);
}

}  // namespace

void SharedMemoryGroup::prepare(std::byte* area) {
  static_assert(sizeof(Header) <= kHeaderBytes);
  new (area) Header{};
  // Pages are placed where they are first touched: near the rank that writes them.
  std::memset(area + kHeaderBytes, 0, kSlots * kSlotBytes);
}

SharedMemoryGroup::SharedMemoryGroup(std::vector<std::byte*> areas, std::int64_t index)
    : areas_(std::move(areas)), index_(index) {}

SharedMemoryGroup::Header& SharedMemoryGroup::header(std::int64_t rank) const {
  return *std::launder(reinterpret_cast<Header*>(areas_[unsigned_size(rank)]));
}

std::byte* SharedMemoryGroup::slot(std::int64_t rank) const {
  return areas_[unsigned_size(rank)] + kHeaderBytes + slot_index_ * kSlotBytes;
}

// One meeting per chunk is enough with two slots: a rank that has published chunk k has finished reading chunk k-1, so
// after the meeting of chunk k the slot of chunk k-1 is free for chunk k+1.
void SharedMemoryGroup::publish_and_meet() {
  ++epoch_;
  Header& own = header(index_);
  own.epoch.store(epoch_);
  if (own.sleepers.load() > 0) futex_wake_all(own.epoch);
  for (std::int64_t rank = 0; rank < ranks(); ++rank) {
    Header& peer = header(rank);
    if (rank == index_ || reached_soon(peer.epoch, epoch_)) continue;
    peer.sleepers.fetch_add(1);
    for (auto seen = peer.epoch.load(); !reached(seen, epoch_); seen = peer.epoch.load()) futex_wait(peer.epoch, seen);
    peer.sleepers.fetch_sub(1);
  }
}

// out = the sum over all ranks of this rank's piece. Pieces have `piece_elements`, except for the last ones.
template <class T>
void SharedMemoryGroup::reduce_pieces(T* out, const T* full, std::int64_t elements, std::int64_t piece_elements) {
  const std::int64_t chunk = chunk_bytes() / static_cast<std::int64_t>(sizeof(T));
  const auto piece = [&](std::int64_t rank) {
    return Piece{rank * piece_elements, std::clamp(elements - rank * piece_elements, std::int64_t{0}, piece_elements)};
  };
  const auto staged = [&](std::int64_t from, std::int64_t to) { return reinterpret_cast<T*>(slot(from)) + to * chunk; };
  std::vector<const T*> sources(areas_.size());
  for (std::int64_t at = 0; at < piece_elements; at += chunk) {
    for (std::int64_t to = 0; to < ranks(); ++to) {
      if (to != index_) std::copy_n(full + piece(to).begin + at, part(piece(to).size, at, chunk), staged(index_, to));
    }
    publish_and_meet();
    for (std::int64_t from = 0; from < ranks(); ++from) {
      sources[unsigned_size(from)] = from == index_ ? full + piece(index_).begin + at : staged(from, index_);
    }
    ordered_sum<T>(out + at, sources, part(piece(index_).size, at, chunk));
    next_slot();
  }
}

void SharedMemoryGroup::gather_pieces(std::byte* full, const std::byte* own, std::int64_t bytes,
                                      std::int64_t piece_bytes) {
  const auto size = [&](std::int64_t rank) {
    return std::clamp(bytes - rank * piece_bytes, std::int64_t{0}, piece_bytes);
  };
  if (own != full + index_ * piece_bytes) {
    std::memmove(full + index_ * piece_bytes, own, unsigned_size(size(index_)));
  }
  for (std::int64_t at = 0; at < piece_bytes; at += kSlotBytes) {
    std::memcpy(slot(index_), own + at, unsigned_size(part(size(index_), at, kSlotBytes)));
    publish_and_meet();
    for (std::int64_t step = 1; step < ranks(); ++step) {
      const std::int64_t from = (index_ + step) % ranks();  // so that not all ranks read from the same one at once
      std::memcpy(full + from * piece_bytes + at, slot(from), unsigned_size(part(size(from), at, kSlotBytes)));
    }
    next_slot();
  }
}

template <class T>
void SharedMemoryGroup::reduce_everywhere(std::span<T> buffer) {
  const auto elements = static_cast<std::int64_t>(buffer.size());
  const auto bytes = static_cast<std::int64_t>(buffer.size_bytes());
  // below this size a second meeting takes longer than computing the sums on every rank
  constexpr std::int64_t kSmallBytes = 32768;
  if (bytes > kSmallBytes) {
    const std::int64_t piece = piece_of(elements, ranks(), 0).size;
    const std::int64_t begin = std::min(elements, index_ * piece);
    reduce_pieces(buffer.data() + begin, buffer.data(), elements, piece);
    auto* raw = reinterpret_cast<std::byte*>(buffer.data());
    const auto width = static_cast<std::int64_t>(sizeof(T));
    gather_pieces(raw, raw + begin * width, bytes, piece * width);
    return;
  }
  std::copy_n(buffer.data(), elements, reinterpret_cast<T*>(slot(index_)));
  publish_and_meet();
  std::vector<const T*> sources;
  for (std::int64_t rank = 0; rank < ranks(); ++rank) sources.push_back(reinterpret_cast<const T*>(slot(rank)));
  ordered_sum<T>(buffer.data(), sources, elements);
  next_slot();
}

void SharedMemoryGroup::all_gather(std::span<std::byte> full, std::span<const std::byte> shard) {
  gather_pieces(full.data(), shard.data(), static_cast<std::int64_t>(full.size()),
                static_cast<std::int64_t>(shard.size()));
}

void SharedMemoryGroup::all_to_all(std::span<std::byte> out, std::span<const std::byte> in) {
  const std::int64_t part_bytes = static_cast<std::int64_t>(in.size()) / ranks();
  std::memcpy(out.data() + index_ * part_bytes, in.data() + index_ * part_bytes, unsigned_size(part_bytes));
  const std::int64_t chunk = chunk_bytes();
  for (std::int64_t at = 0; at < part_bytes; at += chunk) {
    const std::size_t size = unsigned_size(part(part_bytes, at, chunk));
    for (std::int64_t step = 1; step < ranks(); ++step) {
      const std::int64_t to = (index_ + step) % ranks();
      std::memcpy(slot(index_) + to * chunk, in.data() + to * part_bytes + at, size);
    }
    publish_and_meet();
    for (std::int64_t step = 1; step < ranks(); ++step) {
      const std::int64_t from = (index_ + step) % ranks();
      std::memcpy(out.data() + from * part_bytes + at, slot(from) + index_ * chunk, size);
    }
    next_slot();
  }
}

}  // namespace perfbench::engine
