#include <cstdio>
#include <string>
#include <utility>

#include "engine/core/error.h"
#include "engine/cuda/cuda_device.h"
#include "engine/cuda/cuda_memory.h"
#include "engine/cuda/cuda_timeline.h"
#include "engine/main/backend.h"
#include "engine/metrics/nvml.h"
#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/cuda/noise_probe.h"
#include "engine/parallel/cuda/nccl_collectives.h"
#include "engine/parallel/cuda/own_gpus.h"
#include "engine/train/dry_walk.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

std::unique_ptr<GpuTelemetry> watch(const CudaDevice& device, std::int64_t rank) {
  std::string reason;
  std::shared_ptr<Nvml> nvml = Nvml::open(reason);
  Nvml::Device gpu = nvml ? nvml->find(device.pci_bus_id(), reason) : nullptr;
  if (gpu == nullptr) {
    std::fprintf(stderr, "perfbench-engine: no telemetry of the GPU: %s\n", reason.c_str());
    return nullptr;
  }
  return std::make_unique<GpuTelemetry>([nvml, gpu] { return nvml->sample(gpu); }, GpuTelemetry::Options{.rank = rank});
}

// cuBLASLt multiplies 8-bit operands from compute capability 8.9 on.
void require_units(const CudaDevice& device, spec::Precision precision) {
  const auto& properties = device.properties();
  if (precision != spec::Precision::fp8 || properties.major * 10 + properties.minor >= 89) return;
  throw EngineError(EngineExit::infeasible, "precision: fp8 needs a GPU of compute capability 8.9 or later; this " +
                                                std::string(properties.name) + " has " +
                                                std::to_string(properties.major) + "." +
                                                std::to_string(properties.minor) + "; use precision: bf16");
}

}  // namespace

Backend make_cuda_backend(const spec::RunSpec& run, Processes* processes) {
  const std::int64_t rank = processes == nullptr ? 0 : processes->rank();
  const auto device =
      std::make_shared<CudaDevice>(processes == nullptr ? 0 : ordinal_of_rank(processes->rank_on_node()));
  require_units(*device, run.precision);
  if (processes != nullptr) require_own_gpus(*device, *processes);
  const auto extents = arena_extents(run, rank);
  Backend backend;
  backend.device = device;
  NcclMemory registered;
  if (processes != nullptr && nccl_registration_wanted()) registered = allocate_nccl_memory(extents.device_bytes);
  backend.device_memory = registered.base ? make_cuda_backing(registered.base, registered.bytes)
                                          : make_cuda_backing(*device, extents.device_bytes);
  backend.host_memory = make_cuda_host_backing(extents.host_bytes);
  backend.ops = cuda::make_cuda_ops(*device, {.precision = run.precision,
                                              .fp8_accumulation = run.fp8_accumulation,
                                              .summation = summation_of(run),
                                              .attention = run.attention_kernel});
  backend.collectives = processes == nullptr ? make_single_collectives()
                                             : make_nccl_collectives(Mesh(run.mesh, rank), communication(run), *device,
                                                                     *processes, {.registered = registered});
  backend.timeline = make_cuda_timeline(*device);
  backend.telemetry = watch(*device, rank);
  backend.noise_probe = [device, probe = std::make_shared<cuda::NoiseProbe>(*device)] { return probe->time_ns(); };
  if (run.traces()) backend.tracer = make_device_tracer();
  return backend;
}

void add_cuda_facts(spec::EnvironmentRecord& environment) {
  environment.cuda = cuda_toolkit_version();
  for (const auto& [name, version] : cuda_library_versions()) environment.libraries[name] = version;
  environment.libraries["NCCL"] = nccl_version();
  environment.libraries["NCCL user buffers"] = nccl_user_buffers();
  environment.libraries["CUPTI"] = cupti_version();
  const auto devices = find_cuda_devices();
  environment.gpus = devices.count;
  environment.gpu_problem = devices.reason;
  if (devices.count == 0) return;
  const auto facts = cuda_device_facts(0);
  environment.gpu_model = facts.name;
  environment.gpu_memory_bytes = facts.memory_bytes;
  std::string reason;
  const auto nvml = Nvml::open(reason);
  environment.gpu_driver = nvml ? nvml->driver_version() : "unknown: " + reason;
}

}  // namespace perfbench::engine
