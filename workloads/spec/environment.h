// env.json: the facts of the machine and the build that affect results. The engine writes it on the node where it runs;
// `perfbench-engine env` prints it for `perfbench doctor`.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "workloads/spec/fields.h"

namespace perfbench::spec {

struct EnvironmentRecord {
  std::int64_t version = 1;
  std::string hostname;
  std::string kernel;
  std::string os;
  std::string container;  // docker, podman, kubernetes, ... or none
  std::string cpu_model;
  std::string cpu_features;  // the vector extensions that matter to the kernels
  std::int64_t cores_online = 0;
  std::int64_t cores_allowed = 0;  // by affinity and cgroup
  std::int64_t threads_per_rank = 0;
  std::int64_t ranks = 1;
  std::string governor;  // of cpu0, or "unknown"
  double load_1m = 0;    // load average when the run began
  std::int64_t memory_bytes = 0;
  std::int64_t memory_available_bytes = 0;
  std::string transparent_huge_pages;
  std::string compiler;
  std::string compiler_flags;
  std::string build_type;
  std::string engine_version;
  std::string git_commit;
  bool git_dirty = false;
  std::string mpi;                               // library version, or "absent"
  std::string cuda;                              // version of the toolkit it was built with, or "absent"
  std::map<std::string, std::string> libraries;  // oneDNN, OpenBLAS, ... -> version
  double peak_flops_per_s = 0;        // fp32, measured: an FMA loop on the threads of one rank, best of several slices
  std::string gpu_model;              // of the first GPU
  std::int64_t gpus = 0;              // number that this process may use
  std::int64_t gpu_memory_bytes = 0;  // of the first GPU
  std::string gpu_driver;
  std::string gpu_problem;  // why a build with CUDA finds no GPU

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"version", "version of this record", 1, 1}, self.version);
    f(Field{"hostname", "node"}, self.hostname);
    f(Field{"kernel", "operating system kernel"}, self.kernel);
    f(Field{"os", "distribution"}, self.os);
    f(Field{"container", "kind of container, or none"}, self.container);
    f(Field{"cpu_model", "processor"}, self.cpu_model);
    f(Field{"cpu_features", "vector extensions"}, self.cpu_features);
    f(Field{"cores_online", "logical cores of the node", 0}, self.cores_online);
    f(Field{"cores_allowed", "logical cores this process may use", 0}, self.cores_allowed);
    f(Field{"threads_per_rank", "threads a rank computes with", 0}, self.threads_per_rank);
    f(Field{"ranks", "processes of the run", 1}, self.ranks);
    f(Field{"governor", "frequency governor"}, self.governor);
    f(Field{"load_1m", "load average at the start", 0.0}, self.load_1m);
    f(Field{"memory_bytes", "memory of the node", 0}, self.memory_bytes);
    f(Field{"memory_available_bytes", "free for new work at the start, at most the limit of the control group", 0},
      self.memory_available_bytes);
    f(Field{"transparent_huge_pages", "kernel setting"}, self.transparent_huge_pages);
    f(Field{"compiler", "compiler and version"}, self.compiler);
    f(Field{"compiler_flags", "flags of the kernels"}, self.compiler_flags);
    f(Field{"build_type", "CMake build type"}, self.build_type);
    f(Field{"engine_version", "version of perfbench-engine"}, self.engine_version);
    f(Field{"git_commit", "commit it was built from"}, self.git_commit);
    f(Field{"git_dirty", "built from a changed tree"}, self.git_dirty);
    f(Field{"mpi", "MPI library, or absent"}, self.mpi);
    f(Field{"cuda", "CUDA toolkit of the build, or absent"}, self.cuda);
    f(Field{"libraries", "versions of libraries"}, self.libraries);
    f(Field{"peak_flops_per_s", "measured fp32 peak of one rank's threads", 0.0}, self.peak_flops_per_s);
    f(Field{"gpu_model", "GPU"}.omitted_at_default(), self.gpu_model);
    f(Field{"gpus", "GPUs this process may use", 0}.omitted_at_default(), self.gpus);
    f(Field{"gpu_memory_bytes", "memory of a GPU", 0}.omitted_at_default(), self.gpu_memory_bytes);
    f(Field{"gpu_driver", "driver version"}.omitted_at_default(), self.gpu_driver);
    f(Field{"gpu_problem", "why no GPU can be used"}.omitted_at_default(), self.gpu_problem);
  }
};

}  // namespace perfbench::spec
