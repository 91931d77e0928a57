// The settings of a site: what every job of a launcher needs here. So matrices and command lines stay the same at other
// sites.
//
//     slurm: {partition: gpu, options: [--gres=gpu:8, --account=llm]}
//     podman: {image: localhost/perfbench, options: [--memory=64g]}
//     docker: {image: registry/perfbench}
//     kubernetes: {image: registry/perfbench, claim: results, folder: /mnt/results, resources: {nvidia.com/gpu: 8}}
//     xpk: {image: registry/perfbench, cluster: big, device_type: h100-80gb-8}
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/launch/session_folder.h"
#include "workloads/spec/fields.h"

namespace perfbench::harness {

struct SlurmSite {
  std::string partition;
  std::vector<std::string> options;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"partition", "partition of jobs for which none is named"}, self.partition);
    f(Field{"options", "words for sbatch, before those of --launch-option"}, self.options);
  }
};

struct ContainerSite {
  std::string image;
  std::vector<std::string> options;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"image", "image of jobs for which none is named"}, self.image);
    f(Field{"options", "words for `run`, before those of --launch-option"}, self.options);
  }
};

// Settings of --launcher kubernetes and, without `name_space`, `options` and `job.folder`, of
// `perfbench launch --render kubernetes` and `jobset`.
struct KubernetesSite {
  std::string image;
  std::string name_space;
  std::vector<std::string> options;
  KubernetesJob job;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"image", "image of jobs for which none is named"}, self.image);
    f(Field{"namespace", "namespace of jobs for which none is named"}, self.name_space);
    f(Field{"options", "words for kubectl, before those of --launch-option"}, self.options);
    KubernetesJob::fields(self.job, f);
  }
};

// Settings of `perfbench launch --render xpk`.
struct XpkSite {
  std::string image;
  std::string cluster;
  std::string device_type;
  std::vector<std::string> options;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"image", "image of jobs for which none is named"}, self.image);
    f(Field{"cluster", "cluster of XPK"}, self.cluster);
    f(Field{"device_type", "value of --device-type"}, self.device_type);
    f(Field{"options", "words for `xpk workload create`, before those of --launch-option"}, self.options);
  }
};

struct Site {
  SlurmSite slurm;
  ContainerSite podman;
  ContainerSite docker;
  KubernetesSite kubernetes;
  XpkSite xpk;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"slurm", "jobs of Slurm"}, self.slurm);
    f(Field{"podman", "containers of podman"}, self.podman);
    f(Field{"docker", "containers of docker"}, self.docker);
    f(Field{"kubernetes", "jobs of Kubernetes"}, self.kubernetes);
    f(Field{"xpk", "workloads of XPK"}, self.xpk);
  }
};

// perfbench/ of XDG_CONFIG_HOME or ~/.config; nullopt if neither XDG_CONFIG_HOME nor HOME is set.
std::optional<std::filesystem::path> config_folder();

// PERFBENCH_SITE of the environment, or else site.yaml in perfbench/ of XDG_CONFIG_HOME or ~/.config; nullopt if none
// of these variables is set.
std::optional<std::filesystem::path> site_file();

// The file's settings; the default without a file, unless PERFBENCH_SITE names it. Throws InputError with file, line
// and column.
Site load_site();

// The request with the site's settings in all places that it leaves open.
LaunchRequest with_site(LaunchRequest request, const Site& site);

}  // namespace perfbench::harness
