// Communication between ranks. Collectives are submitted and run in the order of submission, beside the computation;
// `wait` makes their result usable. Every rank of a group submits the same sequence.
//
// A call states the layout before and after, as in "U/fsdp -> U": dims, and after a slash the mesh axis a dim is
// sharded over. It is parsed when the program is compiled and checked against the buffers when it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/pending.h"
#include "engine/core/tensor.h"
#include "engine/parallel/layout_change.h"
#include "engine/parallel/mesh.h"
#include "engine/trace/trace_sink.h"
#include "workloads/spec/record.h"

namespace perfbench::engine {

class Collectives {
 public:
  virtual ~Collectives() = default;

  const Mesh& mesh() const { return mesh_; }

  // change: "U/fsdp -> U". full holds size(axis) times shard's elements, in rank order. Any type.
  Pending all_gather(LayoutChange change, TensorView full, TensorView shard);
  // change: "U -> U/fsdp". shard[i] = sum over ranks of full[index*shard.elements() + i]; f32. The sum's order is fixed
  // by the ranks' indices, so that the bits repeat.
  Pending reduce_scatter(LayoutChange change, TensorView shard, TensorView full);
  // In place sum over the axis; f32 or f64. Equal bits on every rank.
  Pending all_reduce(MeshAxis axis, TensorView buffer);

  // Since the last reset, in the order of first use. An axis of one rank has no traffic.
  const std::vector<spec::AxisTraffic>& traffic() const { return traffic_; }
  void reset_traffic() { traffic_.clear(); }
  // Of collectives that were not called one by one: a replayed recording's.
  void add_traffic(const std::vector<spec::AxisTraffic>& rows);

  // Call when a recording that holds collectives was enqueued: they were not called, and yet are not to hang for ever.
  virtual void watch_replay() {}

  // Every collective along an axis of several ranks is handed over in a span of `sink`, and runs in another, on the
  // lane of the thread that runs it. Set it while none is under way.
  void set_trace(TraceSink* sink) { trace_ = sink; }

 protected:
  explicit Collectives(const Mesh& mesh) : mesh_(mesh) {}

  virtual std::unique_ptr<Pending::State> do_all_gather(MeshAxis axis, TensorView full, TensorView shard) = 0;
  virtual std::unique_ptr<Pending::State> do_reduce_scatter(MeshAxis axis, TensorView shard, TensorView full) = 0;
  virtual std::unique_ptr<Pending::State> do_all_reduce(MeshAxis axis, TensorView buffer) = 0;

  // For the do_* functions: null unless traced, and the span of the collective that is being handed over.
  TraceSink* trace() const { return trace_; }
  const TraceSpan& handed_over() const { return handed_over_; }

 private:
  template <class Start>
  Pending hand_over(std::string_view name, MeshAxis axis, std::int64_t bytes, const Start& start);
  spec::AxisTraffic& row(std::string_view axis, std::string_view collective);
  void count(MeshAxis axis, std::string_view collective, std::int64_t payload_bytes, std::int64_t ring_passes);

  Mesh mesh_;
  std::vector<spec::AxisTraffic> traffic_;
  TraceSink* trace_ = nullptr;
  TraceSpan handed_over_;
};

// Copies within one rank.
std::unique_ptr<Collectives> make_single_collectives();
// Counts, moves nothing; any rank of any mesh.
std::unique_ptr<Collectives> make_dry_collectives(const Mesh& mesh);

// One process per rank under mpirun. What it makes must go before it. Destroyed by an exception, it ends all ranks: to
// part in good order takes every rank, and the others wait for this one.
class Processes {
 public:
  virtual ~Processes() = default;
  virtual std::int64_t rank() const = 0;
  virtual std::int64_t size() const = 0;
  virtual std::int64_t ranks_on_node() const = 0;
  virtual std::int64_t rank_on_node() const = 0;
  // all = own of every rank, in their order; a few bytes, by which ranks introduce themselves to other libraries.
  virtual void all_gather(std::span<std::byte> all, std::span<const std::byte> own) = 0;
  virtual std::unique_ptr<Collectives> make_collectives(const Mesh& mesh) = 0;
  // Ends all ranks of the run at once.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

// With how many ranks a launcher of MPI started this process, by its environment: OMPI_COMM_WORLD_SIZE (Open MPI),
// PMI_SIZE (MPICH, srun --mpi=pmi2), SLURM_STEP_NUM_TASKS beside PMIX_RANK (srun --mpi=pmix). 1 without a launcher.
std::int64_t launched_ranks();
// How ranks of one node exchange data: through memory they share, or by messages as ranks of different nodes must.
enum class OnNode { shared_memory, messages };
struct MpiOptions {
  OnNode on_node = OnNode::shared_memory;
  std::int64_t largest_message_bytes = std::int64_t{1} << 30;  // MPI counts in int
};
// Initialises MPI. Throws EngineError when the engine was built without it.
std::unique_ptr<Processes> make_mpi_processes(MpiOptions options = {});
// Name and version of the MPI library, or "absent".
std::string mpi_version();

}  // namespace perfbench::engine
