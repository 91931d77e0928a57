// The request for a launch file (launch_file.h), and the file.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workloads/spec/enum_names.h"

namespace perfbench::harness {

enum class LaunchForm {
  slurm,       // a batch script for sbatch; an image is started by the plugin pyxis
  docker,      // a shell script that is started on each node
  kubernetes,  // an indexed Job with a headless Service
  jobset,      // a JobSet
  xpk,         // a shell script with `xpk workload create`
};

// Empty texts are not given.
struct LaunchFileRequest {
  LaunchForm form = LaunchForm::slurm;
  std::string image;
  std::string partition;                          // of Slurm
  std::vector<std::string> options;               // more words of sbatch, docker run or xpk workload create
  std::optional<double> time_limit_s;             // of the job
  std::string queue;                              // of Kueue
  std::string secret;                             // the Secret of Kubernetes that has NodeWork::needs
  std::string claim;                              // the PersistentVolumeClaim of Kubernetes for {run_dir}
  std::map<std::string, std::int64_t> resources;  // of Kubernetes, for each node, beside GPUs
  std::string cluster;                            // of XPK
  std::string device_type;                        // of XPK
};

struct LaunchFile {
  std::string name;  // "maxtext-1f0c55aa.sub"
  std::string text;
};

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::LaunchForm> {
  using F = perfbench::harness::LaunchForm;
  static constexpr std::array kNames{std::pair{F::slurm, "slurm"}, std::pair{F::docker, "docker"},
                                     std::pair{F::kubernetes, "kubernetes"}, std::pair{F::jobset, "jobset"},
                                     std::pair{F::xpk, "xpk"}};
};
