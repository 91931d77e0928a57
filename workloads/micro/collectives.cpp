// Collectives between the ranks of one node, by payload: mpirun -n 2 perfbench-micro-collectives [messages]. With
// `messages` ranks communicate as those on different nodes do, otherwise through shared memory. Rank 0 reports.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "engine/parallel/processes.h"

namespace perfbench::micro {
namespace {

using engine::Axis;
using engine::Collectives;
using engine::DType;
using engine::Lane;
using engine::Processes;
using engine::Shape;
using engine::TensorView;

enum class Kind { all_gather, reduce_scatter, all_reduce };
constexpr std::pair<Kind, const char*> kKinds[] = {
    {Kind::all_gather, "all_gather"}, {Kind::reduce_scatter, "reduce_scatter"}, {Kind::all_reduce, "all_reduce"}};

// Ranks must agree on the number of iterations, so it does not depend on measurements.
std::int64_t iterations(std::int64_t bytes) {
  return std::clamp<std::int64_t>((std::int64_t{1} << 30) / bytes, 10, 2000);
}

void collective(benchmark::State& state, Collectives& collectives, Kind kind) {
  const std::int64_t ranks = collectives.mesh().size(Axis::fsdp);
  const std::int64_t shard_elements = state.range(0) / 4 / ranks;
  std::vector<float> full(static_cast<std::size_t>(shard_elements * ranks), 1.0F);
  std::vector<float> shard(static_cast<std::size_t>(shard_elements), 1.0F);
  const TensorView full_view{full.data(), DType::f32, Shape{shard_elements * ranks}};
  const TensorView shard_view{shard.data(), DType::f32, Shape{shard_elements}};
  const auto once = [&] {
    switch (kind) {
      case Kind::all_gather:
        return collectives.all_gather("U/fsdp -> U", full_view, shard_view, Lane::background).wait();
      case Kind::reduce_scatter:
        return collectives.reduce_scatter("U -> U/fsdp", shard_view, full_view, Lane::background).wait();
      case Kind::all_reduce:
        return collectives.all_reduce(Axis::fsdp, full_view, Lane::background).wait();
    }
  };
  once();  // makes the buffers that ranks share
  for (auto _ : state) once();
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

// For the ranks that take part but do not report.
class Silence : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

void run(Processes& processes) {
  spec::MeshSpec mesh;
  mesh.ici.fsdp = processes.size();
  constexpr std::array<engine::Declared, 1> kDeclared{{{Axis::fsdp, Lane::background}}};
  const auto collectives = processes.make_collectives(engine::Mesh(mesh, processes.rank()), kDeclared);
  for (const auto& [kind, name] : kKinds) {
    // 64 KiB, and the size of a layer of 7 M and of 200 M parameters in f32.
    for (const std::int64_t bytes : {std::int64_t{1} << 16, std::int64_t{28} << 20, std::int64_t{800} << 20}) {
      benchmark::RegisterBenchmark(
          name, [&collectives, kind = kind](benchmark::State& state) { collective(state, *collectives, kind); })
          ->Arg(bytes)
          ->Iterations(iterations(bytes))
          ->UseRealTime();
    }
  }
  Silence silence;
  processes.rank() == 0 ? benchmark::RunSpecifiedBenchmarks() : benchmark::RunSpecifiedBenchmarks(&silence);
  benchmark::ClearRegisteredBenchmarks();
}

}  // namespace
}  // namespace perfbench::micro

int main(int argc, char** argv) {
  using namespace perfbench;
  benchmark::Initialize(&argc, argv);
  engine::MpiOptions options;
  if (argc == 2 && std::strcmp(argv[1], "messages") == 0) {
    options.on_node = engine::OnNode::messages;
  } else if (argc != 1) {
    benchmark::ReportUnrecognizedArguments(argc, argv);
    return 3;
  }
  try {
    const auto processes = engine::make_mpi_processes(options);
    micro::run(*processes);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "perfbench-micro-collectives: %s\n", e.what());
    return 4;
  }
  return 0;
}
