// The functions of NCCL that the engine calls, between the emulated devices of the processes that mpirun started.
// Linked in place of NCCL. Work on a stream is a rank's part of a collective, which starts when the stream gets there:
// it then reads and writes the device's memory, and ends when every message has been received. So ranks that submit
// collectives in different orders wait for ever, as on devices. Sums are made in f32, or in the values' own type, in
// the order of the ranks.
#include <cuda_bf16.h>
#include <mpi.h>
#include <nccl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "tests/engine/emulation/launch.h"

// The type behind the handle. Messages between two ranks arrive in order under each tag, and each communicator has its
// own tag.
struct ncclComm {
  std::vector<int> ranks;  // in MPI's world, in their order here
  int index = 0;
  int tag = 0;
};

namespace perfbench::emulation {
namespace {

constexpr int kFirstTag = 1;  // no other code sends messages within MPI's world

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

// The contents of ncclUniqueId. Its maker is the first rank of the communicator.
struct Id {
  int maker = 0;
  int tag = 0;
};

struct Message {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  int peer = 0;  // in MPI's world
};

// Begins at its first call.
class Exchange {
 public:
  explicit Exchange(int tag) : tag_(tag) {}
  void send(const void* from, std::size_t bytes, int peer) {
    sends_.push_back({const_cast<std::byte*>(static_cast<const std::byte*>(from)), bytes, peer});
  }
  void receive(void* to, std::size_t bytes, int peer) {
    receives_.push_back({static_cast<std::byte*>(to), bytes, peer});
  }
  void join(const Exchange& other) {
    sends_.insert(sends_.end(), other.sends_.begin(), other.sends_.end());
    receives_.insert(receives_.end(), other.receives_.begin(), other.receives_.end());
  }

  bool is_over() {
    if (!begun_) begin();
    int all = 0;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, MPI_STATUSES_IGNORE);
    return all != 0;
  }

 private:
  // Synchronous: a message must be received, not buffered.
  void begin() {
    begun_ = true;
    for (const auto& m : receives_) {
      MPI_Irecv(m.data, static_cast<int>(m.bytes), MPI_BYTE, m.peer, tag_, MPI_COMM_WORLD, &requests_.emplace_back());
    }
    for (const auto& m : sends_) {
      MPI_Issend(m.data, static_cast<int>(m.bytes), MPI_BYTE, m.peer, tag_, MPI_COMM_WORLD, &requests_.emplace_back());
    }
  }

  int tag_;
  bool begun_ = false;
  std::vector<Message> sends_;
  std::vector<Message> receives_;
  std::vector<MPI_Request> requests_;
};

std::size_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclFloat64:
      return 8;
    case ncclFloat32:
    case ncclInt32:
      return 4;
    case ncclBfloat16:
      return 2;
    default:
      return 1;
  }
}

// to = the sum of `parts`, each of `count` values.
template <class T, class Sum>
void add_up(void* to, const std::vector<const std::byte*>& parts, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Sum sum = 0;
    for (const auto* part : parts) {
      T value;
      std::memcpy(&value, part + i * sizeof(T), sizeof(T));
      sum += static_cast<Sum>(value);
    }
    const auto rounded = static_cast<T>(sum);
    std::memcpy(static_cast<std::byte*>(to) + i * sizeof(T), &rounded, sizeof(T));
  }
}

void add_up(void* to, const std::vector<const std::byte*>& parts, std::size_t count, ncclDataType_t type) {
  switch (type) {
    case ncclFloat64:
      return add_up<double, double>(to, parts, count);
    case ncclFloat32:
      return add_up<float, float>(to, parts, count);
    case ncclInt32:
      return add_up<std::int32_t, std::int32_t>(to, parts, count);
    case ncclBfloat16:
      return add_up<__nv_bfloat16, float>(to, parts, count);
    default:
      throw KernelFault("a sum of a type that the emulation of NCCL does not have");
  }
}

void greatest(void* to, const std::vector<const std::byte*>& parts, std::size_t count, ncclDataType_t type) {
  if (type != ncclFloat32) throw KernelFault("a maximum of a type that the emulation of NCCL does not have");
  for (std::size_t i = 0; i < count; ++i) {
    float most = 0;
    std::memcpy(&most, parts.front() + i * sizeof(float), sizeof(float));
    for (const auto* part : parts) {
      float value = 0;
      std::memcpy(&value, part + i * sizeof(float), sizeof(float));
      most = std::max(most, value);
    }
    std::memcpy(static_cast<std::byte*>(to) + i * sizeof(float), &most, sizeof(float));
  }
}

// to[count] = the sum, or the maximum, of the values that all ranks have for this one. `from` is what this rank has for
// rank 0, and `apart` the distance to what it has for the next rank.
struct Sum {
  const ncclComm* comm;
  void* to;
  const std::byte* from;
  std::size_t apart_bytes;
  std::size_t count;
  ncclDataType_t type;
  ncclRedOp_t operation;
};

Work sum_up(const Sum& sum) {
  struct State {
    Exchange exchange;
    std::vector<std::vector<std::byte>> arrived;  // empty before it has begun
  };
  return [sum, state = State{Exchange(sum.comm->tag), {}}]() mutable {
    const auto ranks = sum.comm->ranks.size();
    const auto own = static_cast<std::size_t>(sum.comm->index);
    const std::size_t bytes = sum.count * bytes_of(sum.type);
    if (state.arrived.empty()) {
      state.arrived.assign(ranks, std::vector<std::byte>(bytes));
      for (std::size_t r = 0; r < ranks; ++r) {
        if (r == own) continue;
        state.exchange.receive(state.arrived[r].data(), bytes, sum.comm->ranks[r]);
        state.exchange.send(sum.from + r * sum.apart_bytes, bytes, sum.comm->ranks[r]);
      }
    }
    if (!state.exchange.is_over()) return false;
    std::vector<const std::byte*> parts;
    for (const auto& part : state.arrived) parts.push_back(part.data());
    parts[own] = sum.from + own * sum.apart_bytes;
    if (sum.operation == ncclMax) {
      greatest(sum.to, parts, sum.count, sum.type);
    } else {
      add_up(sum.to, parts, sum.count, sum.type);
    }
    return true;
  };
}

void put_sum(ncclComm_t comm, const void* from, void* to, std::size_t apart_bytes, std::size_t count,
             ncclDataType_t type, ncclRedOp_t operation, cudaStream_t stream) {
  enqueue(sum_up({comm, to, static_cast<const std::byte*>(from), apart_bytes, count, type, operation}), stream);
}

// Between ncclGroupStart and ncclGroupEnd, messages of one stream begin together.
struct Grouped {
  cudaStream_t stream;
  Exchange exchange;
};
int open_groups = 0;
std::vector<Grouped> grouped;

void put(Exchange exchange, cudaStream_t stream) {
  enqueue([own = std::move(exchange)]() mutable { return own.is_over(); }, stream);
}

void put_message(const Exchange& message, cudaStream_t stream) {
  if (open_groups == 0) return put(message, stream);
  for (auto& group : grouped) {
    if (group.stream == stream) return group.exchange.join(message);
  }
  grouped.push_back({stream, message});
}

}  // namespace
}  // namespace perfbench::emulation

extern "C" {

using perfbench::emulation::bytes_of;
using perfbench::emulation::enqueue;
using perfbench::emulation::Exchange;
using perfbench::emulation::Id;
using perfbench::emulation::put_sum;

const char* ncclGetErrorString(ncclResult_t code) {
  return code == ncclSuccess ? "no error" : "an error of the emulated NCCL";
}
const char* ncclGetLastError(ncclComm_t) {
  return "";
}
ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* out) {
  static int made = 0;
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Id id{.maker = perfbench::emulation::world_rank(), .tag = 0};
  id.tag = perfbench::emulation::kFirstTag + made++ * size + id.maker;
  std::memcpy(out->internal, &id, sizeof(id));
  return ncclSuccess;
}

// Ranks tell the first one where they are, and receive the list of all.
ncclResult_t ncclCommInitRankConfig(ncclComm_t* out, int ranks, ncclUniqueId unique, int index, ncclConfig_t*) {
  Id id;
  std::memcpy(&id, unique.internal, sizeof(id));
  auto comm = std::make_unique<ncclComm>();
  comm->ranks.resize(static_cast<std::size_t>(ranks));
  comm->index = index;
  comm->tag = id.tag;
  comm->ranks[static_cast<std::size_t>(index)] = perfbench::emulation::world_rank();
  if (index != 0) {
    MPI_Send(&index, 1, MPI_INT, id.maker, id.tag, MPI_COMM_WORLD);
    MPI_Recv(comm->ranks.data(), ranks, MPI_INT, id.maker, id.tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    for (int other = 1; other < ranks; ++other) {
      int its_index = 0;
      MPI_Status status;
      MPI_Recv(&its_index, 1, MPI_INT, MPI_ANY_SOURCE, id.tag, MPI_COMM_WORLD, &status);
      comm->ranks.at(static_cast<std::size_t>(its_index)) = status.MPI_SOURCE;
    }
    for (int other = 1; other < ranks; ++other) {
      MPI_Send(comm->ranks.data(), ranks, MPI_INT, comm->ranks[static_cast<std::size_t>(other)], id.tag,
               MPI_COMM_WORLD);
    }
  }
  *out = comm.release();
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* state) {
  *state = ncclSuccess;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  const std::size_t bytes = count * bytes_of(type);
  auto* const whole = static_cast<std::byte*>(to);
  Exchange exchange(comm->tag);
  for (std::size_t r = 0; r < comm->ranks.size(); ++r) {
    if (r == static_cast<std::size_t>(comm->index)) continue;
    exchange.send(from, bytes, comm->ranks[r]);
    exchange.receive(whole + r * bytes, bytes, comm->ranks[r]);
  }
  auto* const own = whole + static_cast<std::size_t>(comm->index) * bytes;
  enqueue(
      [=]() mutable {
        if (!exchange.is_over()) return false;
        std::memmove(own, from, bytes);
        return true;
      },
      stream);
  return ncclSuccess;
}

ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  put_sum(comm, from, to, count * bytes_of(type), count, type, operation, stream);
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t operation,
                           ncclComm_t comm, cudaStream_t stream) {
  put_sum(comm, from, to, 0, count, type, operation, stream);
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++perfbench::emulation::open_groups;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (--perfbench::emulation::open_groups > 0) return ncclSuccess;
  for (const auto& group : std::exchange(perfbench::emulation::grouped, {})) {
    perfbench::emulation::put(group.exchange, group.stream);
  }
  return ncclSuccess;
}
ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  Exchange message(comm->tag);
  message.send(from, count * bytes_of(type), comm->ranks.at(static_cast<std::size_t>(peer)));
  perfbench::emulation::put_message(message, stream);
  return ncclSuccess;
}
ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  Exchange message(comm->tag);
  message.receive(to, count * bytes_of(type), comm->ranks.at(static_cast<std::size_t>(peer)));
  perfbench::emulation::put_message(message, stream);
  return ncclSuccess;
}

}  // extern "C"
