#include "engine/main/backend.h"

#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

Backend make_cpu_backend(const spec::RunSpec& run, Processes* processes, const std::filesystem::path& folder) {
  Backend backend;
  backend.device_memory = make_cpu_backing();
  backend.host_memory = make_file_backing(folder);
  backend.ops = make_cpu_ops();
  backend.collectives = processes == nullptr
                            ? make_single_collectives()
                            : processes->make_collectives(Mesh(run.mesh, processes->rank()), communication(run));
  return backend;
}

}  // namespace

Backend make_backend(const spec::RunSpec& run, Processes* processes, const std::filesystem::path& folder) {
  if (processes != nullptr) require_nodes(Mesh(run.mesh, processes->rank()), *processes);
  if (run.device == spec::Device::cuda) return make_cuda_backend(run, processes);
  return make_cpu_backend(run, processes, folder);
}

}  // namespace perfbench::engine
