#include "engine/parallel/mpi_groups.h"

#include <array>
#include <climits>
#include <cstring>
#include <vector>

#include "engine/parallel/ordered_sum.h"
#include "engine/parallel/shared_memory_group.h"

namespace perfbench::engine {
namespace {

int size_of(MPI_Comm group) {
  int size = 0;
  mpi_check(MPI_Comm_size(group, &size), "MPI_Comm_size");
  return size;
}

int rank_in(MPI_Comm group) {
  int rank = 0;
  mpi_check(MPI_Comm_rank(group, &rank), "MPI_Comm_rank");
  return rank;
}

bool on_one_node(MPI_Comm group) {
  MPI_Comm node = MPI_COMM_NULL;
  mpi_check(MPI_Comm_split_type(group, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  const int size = size_of(node);
  mpi_check(MPI_Comm_free(&node), "MPI_Comm_free");
  return size == size_of(group);
}

// A shared-memory group and the window that holds its areas.
class WindowGroup : public RankGroup {
 public:
  explicit WindowGroup(MPI_Comm group) : comm_(group) {
    MPI_Info info = MPI_INFO_NULL;
    mpi_check(MPI_Info_create(&info), "MPI_Info_create");
    mpi_check(MPI_Info_set(info, "alloc_shared_noncontig", "true"), "MPI_Info_set");
    // Leaves room to align the area, whatever alignment the library gives.
    constexpr MPI_Aint kBytes = SharedMemoryGroup::kAreaBytes + kAlignment;
    void* own = nullptr;
    mpi_check(MPI_Win_allocate_shared(kBytes, 1, info, group, &own, &window_), "MPI_Win_allocate_shared");
    mpi_check(MPI_Info_free(&info), "MPI_Info_free");
    mpi_check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
    const std::size_t shift = (kAlignment - reinterpret_cast<std::uintptr_t>(own) % kAlignment) % kAlignment;
    SharedMemoryGroup::prepare(static_cast<std::byte*>(own) + shift);

    // Other ranks' areas are mapped to other addresses in this process, with another alignment: each rank tells where
    // its own begins.
    const auto ranks = static_cast<std::size_t>(size_of(group));
    std::vector<std::uint64_t> shifts(ranks);
    const std::uint64_t own_shift = shift;
    mpi_check(MPI_Allgather(&own_shift, 1, MPI_UINT64_T, shifts.data(), 1, MPI_UINT64_T, group), "MPI_Allgather");
    std::vector<std::byte*> areas;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      MPI_Aint bytes = 0;
      int unit = 0;
      void* base = nullptr;
      mpi_check(MPI_Win_shared_query(window_, static_cast<int>(rank), &bytes, &unit, &base), "MPI_Win_shared_query");
      areas.push_back(static_cast<std::byte*>(base) + shifts[rank]);
    }
    mpi_check(MPI_Barrier(group), "MPI_Barrier");
    group_ = std::make_unique<SharedMemoryGroup>(std::move(areas), rank_in(group));
  }
  ~WindowGroup() override {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
    MPI_Comm_free(&comm_);
  }
  WindowGroup(const WindowGroup&) = delete;
  WindowGroup& operator=(const WindowGroup&) = delete;

  void all_gather(std::span<std::byte> full, std::span<const std::byte> shard) override {
    group_->all_gather(full, shard);
  }
  void all_to_all(std::span<std::byte> out, std::span<const std::byte> in) override { group_->all_to_all(out, in); }
  void reduce_scatter(std::span<float> shard, std::span<const float> full) override {
    group_->reduce_scatter(shard, full);
  }
  void reduce_scatter(std::span<Bf16> shard, std::span<const Bf16> full) override {
    group_->reduce_scatter(shard, full);
  }
  void all_reduce(std::span<float> buffer) override { group_->all_reduce(buffer); }
  void all_reduce(std::span<Bf16> buffer) override { group_->all_reduce(buffer); }
  void all_reduce(std::span<double> buffer) override { group_->all_reduce(buffer); }

 private:
  // Counters in two mappings of one page must fall into the same cache lines: 64 divides the page size.
  static constexpr std::size_t kAlignment = 64;
  MPI_Comm comm_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::unique_ptr<SharedMemoryGroup> group_;
};

// A group whose ranks are on several nodes: pairs exchange pieces by messages. A reduction receives the pieces of all
// ranks and sums them by index, chunk k while chunk k+1 is under way.
class MessageGroup : public RankGroup {
 public:
  MessageGroup(MPI_Comm group, MpiAccess& mpi, std::int64_t largest_message_bytes)
      : mpi_(mpi),
        comm_(group),
        ranks_(size_of(group)),
        index_(rank_in(group)),
        largest_message_bytes_(largest_message_bytes) {}
  ~MessageGroup() override { MPI_Comm_free(&comm_); }
  MessageGroup(const MessageGroup&) = delete;
  MessageGroup& operator=(const MessageGroup&) = delete;

  void all_gather(std::span<std::byte> full, std::span<const std::byte> shard) override {
    const auto bytes = static_cast<std::int64_t>(shard.size());
    std::byte* own_place = full.data() + index_ * bytes;
    if (own_place != shard.data()) std::memmove(own_place, shard.data(), shard.size());
    if (static_cast<std::int64_t>(full.size()) <= largest_message_bytes_) {
      gather_whole(MPI_IN_PLACE, full.data(), bytes);
      return;
    }
    gather_pieces(full.data(), static_cast<std::int64_t>(full.size()), bytes);
  }

  void all_to_all(std::span<std::byte> out, std::span<const std::byte> in) override {
    const std::int64_t part = static_cast<std::int64_t>(in.size()) / ranks_;
    std::memcpy(out.data() + index_ * part, in.data() + index_ * part, static_cast<std::size_t>(part));
    std::vector<MPI_Request> requests;
    for (std::int64_t at = 0; at < part; at += largest_message_bytes_) {
      const std::int64_t size = std::min(part - at, largest_message_bytes_);
      for (std::int64_t step = 1; step < ranks_; ++step) {
        const std::int64_t from = (index_ + ranks_ - step) % ranks_;
        receive(out.data() + from * part + at, size, from, requests);
      }
      for (std::int64_t step = 1; step < ranks_; ++step) {
        const std::int64_t to = (index_ + step) % ranks_;
        send(in.data() + to * part + at, size, to, requests);
      }
      mpi_.finish(requests);
    }
  }

  void reduce_scatter(std::span<float> shard, std::span<const float> full) override {
    reduce_pieces(shard.data(), full.data(), std::ssize(full), std::ssize(shard));
  }
  void reduce_scatter(std::span<Bf16> shard, std::span<const Bf16> full) override {
    reduce_pieces(shard.data(), full.data(), std::ssize(full), std::ssize(shard));
  }

  void all_reduce(std::span<float> buffer) override { reduce_everywhere(buffer); }
  void all_reduce(std::span<Bf16> buffer) override { reduce_everywhere(buffer); }
  void all_reduce(std::span<double> buffer) override { reduce_everywhere(buffer); }

 private:
  static constexpr int kTag = 1;

  // A piece has `piece_size` elements, except for the last ones of `whole`.
  std::int64_t size_at(std::int64_t whole, std::int64_t piece_size, std::int64_t rank) const {
    return std::clamp(whole - rank * piece_size, std::int64_t{0}, piece_size);
  }

  void send(const void* data, std::int64_t bytes, std::int64_t to, std::vector<MPI_Request>& requests) {
    if (bytes == 0) return;
    requests.emplace_back();
    mpi_.call([&] {
      mpi_check(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(to), kTag, comm_, &requests.back()),
                "MPI_Isend");
    });
  }
  void receive(void* data, std::int64_t bytes, std::int64_t from, std::vector<MPI_Request>& requests) {
    if (bytes == 0) return;
    requests.emplace_back();
    mpi_.call([&] {
      mpi_check(
          MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(from), kTag, comm_, &requests.back()),
          "MPI_Irecv");
    });
  }

  // all = `own` of every rank, which may be MPI_IN_PLACE; one message for each.
  void gather_whole(const void* own, void* all, std::int64_t bytes) {
    std::vector<MPI_Request> requests(1);
    const auto count = static_cast<int>(bytes);
    mpi_.call([&] {
      mpi_check(MPI_Iallgather(own, count, MPI_BYTE, all, count, MPI_BYTE, comm_, &requests.front()), "MPI_Iallgather");
    });
    mpi_.finish(requests);
  }

  // Sends every rank's piece of `full` to every other rank; this rank's own piece is in place.
  void gather_pieces(std::byte* full, std::int64_t bytes, std::int64_t piece_bytes) {
    std::vector<MPI_Request> requests;
    for (std::int64_t at = 0; at < piece_bytes; at += largest_message_bytes_) {
      const auto part = [&](std::int64_t rank) {
        return std::clamp(size_at(bytes, piece_bytes, rank) - at, std::int64_t{0}, largest_message_bytes_);
      };
      for (std::int64_t step = 1; step < ranks_; ++step) {
        const std::int64_t from = (index_ + ranks_ - step) % ranks_;
        receive(full + from * piece_bytes + at, part(from), from, requests);
      }
      for (std::int64_t step = 1; step < ranks_; ++step) {
        send(full + index_ * piece_bytes + at, part(index_), (index_ + step) % ranks_, requests);
      }
      mpi_.finish(requests);
    }
  }

  template <class T>
  struct Exchange {
    std::vector<MPI_Request> requests;
    std::vector<T> received;  // one chunk of every rank
  };

  template <class T>
  void reduce_pieces(T* out, const T* full, std::int64_t elements, std::int64_t piece) {
    const auto width = static_cast<std::int64_t>(sizeof(T));
    const std::int64_t chunk = std::min(kChunkBytes, largest_message_bytes_) / width;
    const std::int64_t own_size = size_at(elements, piece, index_);
    std::array<Exchange<T>, 2> exchanges;
    const auto start = [&](Exchange<T>& exchange, std::int64_t at) {
      exchange.received.resize(static_cast<std::size_t>(chunk * ranks_));
      const auto part = [&](std::int64_t size) { return std::clamp(size - at, std::int64_t{0}, chunk); };
      for (std::int64_t step = 1; step < ranks_; ++step) {
        const std::int64_t from = (index_ + ranks_ - step) % ranks_;
        receive(exchange.received.data() + from * chunk, part(own_size) * width, from, exchange.requests);
      }
      for (std::int64_t step = 1; step < ranks_; ++step) {
        const std::int64_t to = (index_ + step) % ranks_;
        send(full + to * piece + at, part(size_at(elements, piece, to)) * width, to, exchange.requests);
      }
    };
    std::vector<const T*> sources(static_cast<std::size_t>(ranks_));
    start(exchanges[0], 0);
    for (std::int64_t at = 0, k = 0; at < piece; at += chunk, ++k) {
      Exchange<T>& now = exchanges[static_cast<std::size_t>(k % 2)];
      if (at + chunk < piece) start(exchanges[static_cast<std::size_t>((k + 1) % 2)], at + chunk);
      mpi_.finish(now.requests);
      for (std::int64_t rank = 0; rank < ranks_; ++rank) {
        sources[static_cast<std::size_t>(rank)] =
            rank == index_ ? full + index_ * piece + at : now.received.data() + rank * chunk;
      }
      ordered_sum<T>(out + at, sources, std::clamp(own_size - at, std::int64_t{0}, chunk));
    }
  }

  template <class T>
  void reduce_everywhere(std::span<T> buffer) {
    const auto elements = static_cast<std::int64_t>(buffer.size());
    const auto bytes = static_cast<std::int64_t>(buffer.size_bytes());
    if (bytes <= kSmallBytes && bytes * ranks_ <= largest_message_bytes_) {
      std::vector<T> all(buffer.size() * static_cast<std::size_t>(ranks_));
      gather_whole(buffer.data(), all.data(), bytes);
      std::vector<const T*> sources;
      for (std::int64_t rank = 0; rank < ranks_; ++rank) sources.push_back(all.data() + rank * elements);
      ordered_sum<T>(buffer.data(), sources, elements);
      return;
    }
    const std::int64_t piece = piece_of(elements, ranks_, 0).size;
    reduce_pieces(buffer.data() + std::min(elements, index_ * piece), buffer.data(), elements, piece);
    gather_pieces(reinterpret_cast<std::byte*>(buffer.data()), bytes, piece * static_cast<std::int64_t>(sizeof(T)));
  }

  static constexpr std::int64_t kChunkBytes = std::int64_t{1} << 18;
  static constexpr std::int64_t kSmallBytes = 16384;

  MpiAccess& mpi_;
  MPI_Comm comm_;
  std::int64_t ranks_;
  std::int64_t index_;
  std::int64_t largest_message_bytes_;
};

}  // namespace

std::unique_ptr<RankGroup> make_rank_group(MPI_Comm group, MpiAccess& mpi, const MpiOptions& options) {
  mpi_check(MPI_Comm_set_errhandler(group, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  if (options.on_node == OnNode::shared_memory && on_one_node(group)) return std::make_unique<WindowGroup>(group);
  return std::make_unique<MessageGroup>(group, mpi, options.largest_message_bytes);
}

}  // namespace perfbench::engine
