#include "engine/main/backend.h"

namespace perfbench::engine {
namespace {

Backend make_cpu_backend(const spec::RunSpec& run, Processes* processes) {
  Backend backend;
  backend.device_memory = make_cpu_backing();
  backend.host_memory = make_cpu_backing();
  backend.ops = make_cpu_ops();
  backend.collectives = processes == nullptr
                            ? make_single_collectives()
                            : processes->make_collectives(Mesh(run.mesh, processes->rank()), communication(run));
  return backend;
}

}  // namespace

Backend make_backend(const spec::RunSpec& run, Processes* processes) {
  if (processes != nullptr) require_nodes(Mesh(run.mesh, processes->rank()), *processes);
  return run.device == spec::Device::cuda ? make_cuda_backend(run, processes) : make_cpu_backend(run, processes);
}

}  // namespace perfbench::engine
