#include "harness/launch/launch_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "harness/launch/kubernetes_file.h"
#include "harness/launch/node_script.h"
#include "harness/launch/site.h"
#include "harness/system/input_error.h"
#include "reports/render/format/escape.h"

namespace perfbench::harness {
namespace {

using reports::shell_word;

std::string joined(const std::vector<std::string>& lines, const std::string& between) {
  std::string out;
  for (const auto& line : lines) out += (out.empty() ? "" : between) + line;
  return out;
}

std::string remarks_of(const NodeWork& work, const std::string& usage) {
  return remark_lines(work) + "# " + usage + "\n";
}

// Lines that end a script if a variable is missing that the program needs.
std::string checks_of_needs(const NodeWork& work) {
  std::string out;
  for (const auto& name : work.needs) out += fmt::format(": \"${{{}:?must be set}}\"\n", name);
  return out;
}

// The script as the value of a variable.
std::string script_variable(const std::string& script) {
  const auto end = end_of_text(script);
  return fmt::format("script=$(cat <<'{}'\n{}\n{}\n)\n", end, script, end);
}

// "2-03:00:00" or "00:20:00", rounded up to a second.
std::string slurm_time(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  const auto days = whole / 86400;
  const auto clock = fmt::format("{:02}:{:02}:{:02}", whole / 3600 % 24, whole / 60 % 60, whole % 60);
  return days > 0 ? fmt::format("{}-{}", days, clock) : clock;
}

std::string image_of(const NodeWork& work, const LaunchFileRequest& request) {
  return request.image.empty() ? work.image : request.image;
}

std::string required_image(const NodeWork& work, const LaunchFileRequest& request) {
  auto image = image_of(work, request);
  if (image.empty()) {
    throw InputError(fmt::format("[launch] --render {}: name an image that has the program with --image",
                                 spec::enum_name(request.form)));
  }
  return image;
}

void refuse_ranks_on_other_nodes(const NodeWork& work, const LaunchFileRequest& request) {
  if (work.nodes == 1 || work.started_on == StartedOn::every_node) return;
  throw InputError(
      fmt::format("[launch] --render {}: {} starts its ranks on {} nodes itself, which needs an allocation of Slurm: "
                  "--render slurm",
                  spec::enum_name(request.form), work.command.front(), work.nodes));
}

// Slurm starts the script on the first node. `srun` starts a program that each node needs.
LaunchFile slurm_file(const NodeWork& work, const LaunchFileRequest& request) {
  const bool on_first = work.started_on == StartedOn::first_node;
  const auto image = image_of(work, request);
  if (on_first && !image.empty() && work.nodes > 1) {
    throw InputError(
        fmt::format("[launch] --render slurm: {} inside an image cannot start ranks on other nodes; leave the image "
                    "out, and install the program on the nodes",
                    work.command.front()));
  }
  std::string out = "#!/bin/bash\n" + remarks_of(work, "Submit: sbatch " + work.name + ".sub");
  const auto option = [&out](const std::string& text) { out += "#SBATCH " + text + "\n"; };
  option("--job-name=" + work.name);
  option(fmt::format("--nodes={}", work.nodes));
  option(fmt::format("--ntasks-per-node={}", on_first ? work.devices_per_node : 1));
  if (work.on_gpus) option(fmt::format("--gpus-per-node={}", work.devices_per_node));
  option("--exclusive");
  option("--mem=0");
  option("--no-requeue");
  option("--open-mode=append");
  option("--output=%x-%j.log");
  if (request.time_limit_s) option("--time=" + slurm_time(*request.time_limit_s));
  if (!request.partition.empty()) option("--partition=" + shell_word(request.partition));
  for (const auto& word : request.options) option(shell_word(word));
  out += "set -eu\n";
  out += "export RUN_DIR=\"${PERFBENCH_RUN_DIR:-$SLURM_SUBMIT_DIR/$SLURM_JOB_NAME-$SLURM_JOB_ID}\"\n";
  out += checks_of_needs(work);
  if (work.nodes > 1) {
    out += "COORDINATOR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\nexport COORDINATOR\n";
  }
  const auto script = joined(node_script(work, Variables::quoted), "\n");
  if (on_first && image.empty()) {
    out += "export NODE_RANK=0\n" + script + "\n";
  } else {
    out += "mkdir -p \"$RUN_DIR\"\n" + script_variable("set -eu\nexport NODE_RANK=\"$SLURM_NODEID\"\n" + script);
    // A step takes over the number of tasks of the job, and binds a single task to one core, unless both are said.
    out += fmt::format(
        "exec srun --nodes={0} --ntasks={0} --ntasks-per-node=1 --cpu-bind=none --kill-on-bad-exit=1 --label",
        work.nodes);
    if (!image.empty()) {
      out += fmt::format(" --container-image={} --container-mounts=\"$RUN_DIR:$RUN_DIR\"", shell_word(image));
    }
    out += " sh -c \"$script\"\n";
  }
  return {.name = work.name + ".sub", .text = std::move(out)};
}

LaunchFile docker_file(const NodeWork& work, const LaunchFileRequest& request) {
  refuse_ranks_on_other_nodes(work, request);
  const auto image = required_image(work, request);
  const auto file = work.name + ".sh";
  std::string out = "#!/bin/bash\n";
  if (work.nodes == 1) {
    out += remarks_of(work, "Start: bash " + file);
  } else {
    out += remarks_of(work, fmt::format("Start on each of the {} nodes: NODE_RANK=N COORDINATOR=HOST bash {}, with "
                                        "numbers from 0 and the name of node 0",
                                        work.nodes, file));
  }
  out += "set -eu\n";
  out += fmt::format("RUN_DIR=\"${{PERFBENCH_RUN_DIR:-$PWD/{}}}\"\n", work.name);
  if (work.nodes == 1) {
    out += "export NODE_RANK=0\n";
  } else {
    out += ": \"${NODE_RANK:?number of this node, from 0}\" \"${COORDINATOR:?name of node 0}\"\n";
    out += "export NODE_RANK COORDINATOR\n";
  }
  out += checks_of_needs(work);
  out += "mkdir -p \"$RUN_DIR\"\nRUN_DIR=$(realpath \"$RUN_DIR\")\nexport RUN_DIR\n";
  out += script_variable("set -eu\n" + joined(node_script(work, Variables::quoted), "\n"));
  out += "exec docker run --rm --init --name=" + work.name + "-\"$NODE_RANK\"";
  if (work.on_gpus) out += fmt::format(" --gpus={}", work.devices_per_node);
  if (work.in_own_image) out += " --user=\"$(id -u):$(id -g)\"";
  out += " --net=host --ipc=host --ulimit=memlock=-1 --volume=\"$RUN_DIR:$RUN_DIR\" --env=RUN_DIR --env=NODE_RANK";
  if (work.nodes > 1) out += " --env=COORDINATOR";
  for (const auto& name : work.needs) out += " --env=" + name;
  for (const auto& word : request.options) out += " " + shell_word(word);
  out += " --entrypoint=sh " + shell_word(image) + " -c \"$script\"\n";
  return {.name = file, .text = std::move(out)};
}

// XPK puts the command into a double-quoted text of YAML without escaping it.
std::string xpk_command(const NodeWork& work) {
  if (!work.matrix_text.empty()) {
    throw InputError(
        "[launch] --render xpk: a command has no place for a matrix of your own; put the file into the image, or use "
        "--render jobset");
  }
  std::vector<std::string> lines{"export NODE_RANK=${NODE_RANK:-0} RUN_DIR=/tmp/perfbench"};
  if (work.nodes > 1) lines.emplace_back("export COORDINATOR=$JAX_COORDINATOR_ADDRESS");
  for (auto& line : node_script(work, Variables::bare)) lines.push_back(std::move(line));
  auto out = joined(lines, " && ");
  for (const auto* expanded : {"$$", "$("}) {
    if (out.find(expanded) == std::string::npos) continue;
    throw InputError(fmt::format(
        "[launch] --render xpk: Kubernetes would change '{}' in the command; use --render jobset", expanded));
  }
  if (const auto at = out.find_first_of("\"\\\n"); at != std::string::npos) {
    throw InputError(
        fmt::format("[launch] --render xpk: XPK cannot pass a command with {}, which '{}' has; use --render jobset",
                    out[at] == '"'    ? "a double quote"
                    : out[at] == '\\' ? "a backslash or a single quote"
                                      : "a line break",
                    out.substr(at < 20 ? 0 : at - 20, 40)));
  }
  return out;
}

LaunchFile xpk_file(const NodeWork& work, const LaunchFileRequest& request) {
  refuse_ranks_on_other_nodes(work, request);
  const auto image = required_image(work, request);
  const auto file = work.name + ".sh";
  const auto variable = [](const std::string& name, const std::string& value, const std::string& what) {
    return value.empty() ? fmt::format(": \"${{{}:?{}}}\"\n", name, what)
                         : fmt::format("{0}=${{{0}:-{1}}}\n", name, shell_word(value));
  };
  std::string out = "#!/bin/bash\n" + remarks_of(work, "Start: bash " + file) + "set -eu\n";
  out += variable("CLUSTER", request.cluster, "name of the cluster of XPK");
  out += variable("DEVICE_TYPE", request.device_type,
                  "type of the nodes, such as h100-80gb-8 (xpk workload create --help)");
  out += script_variable(xpk_command(work));
  out += fmt::format(
      "exec xpk workload create --workload={} --cluster=\"$CLUSTER\" --device-type=\"$DEVICE_TYPE\" "
      "--num-nodes={} --docker-image={} --max-restarts=0",
      work.name, work.nodes, shell_word(image));
  if (!work.needs.empty()) out += fmt::format(" --env-file=<(printf '%s\\n' {})", joined(work.needs, " "));
  for (const auto& word : request.options) out += " " + shell_word(word);
  out += " --command=\"$script\"\n";
  return {.name = file, .text = std::move(out)};
}

void take(std::string& value, const std::string& of_site) {
  if (value.empty()) value = of_site;
}

}  // namespace

void check_launch_file_request(const LaunchFileRequest& request) {
  using F = LaunchForm;
  struct Given {
    const char* option;
    bool is_given;
    std::vector<F> forms;
  };
  const std::vector<F> kubernetes{F::kubernetes, F::jobset};
  for (const auto& [option, is_given, forms] :
       {Given{"--partition", !request.partition.empty(), {F::slurm}},
        Given{"--launch-option", !request.options.empty(), {F::slurm, F::docker, F::xpk}},
        Given{"--time", request.time_limit_s.has_value(), {F::slurm, F::kubernetes, F::jobset}},
        Given{"--queue", !request.queue.empty(), kubernetes}, Given{"--secret", !request.secret.empty(), kubernetes},
        Given{"--claim", !request.claim.empty(), kubernetes},
        Given{"--resource", !request.resources.empty(), kubernetes},
        Given{"--cluster", !request.cluster.empty(), {F::xpk}},
        Given{"--device-type", !request.device_type.empty(), {F::xpk}}}) {
    if (is_given && std::find(forms.begin(), forms.end(), request.form) == forms.end()) {
      throw InputError(
          fmt::format("[launch] {}: a file of --render {} has no place for it", option, spec::enum_name(request.form)));
    }
  }
  for (const auto& word : request.options) {
    if (word.find_first_of("\r\n") == std::string::npos) continue;
    throw InputError("[launch] --launch-option: a word cannot have a line break");
  }
}

LaunchFileRequest with_site(LaunchFileRequest request, const Site& site, ImageHolds holds) {
  const auto image = [&](const std::string& of_site) {
    if (holds == ImageHolds::perfbench) take(request.image, of_site);
  };
  const auto options_first = [&request](const std::vector<std::string>& options) {
    request.options.insert(request.options.begin(), options.begin(), options.end());
  };
  switch (request.form) {
    case LaunchForm::slurm:
      take(request.partition, site.slurm.partition);
      options_first(site.slurm.options);
      break;
    case LaunchForm::docker:
      image(site.docker.image);
      options_first(site.docker.options);
      break;
    case LaunchForm::kubernetes:
    case LaunchForm::jobset:
      image(site.kubernetes.image);
      take(request.queue, site.kubernetes.job.queue);
      take(request.secret, site.kubernetes.job.secret);
      take(request.claim, site.kubernetes.job.claim);
      request.resources.insert(site.kubernetes.job.resources.begin(), site.kubernetes.job.resources.end());
      break;
    case LaunchForm::xpk:
      image(site.xpk.image);
      take(request.cluster, site.xpk.cluster);
      take(request.device_type, site.xpk.device_type);
      options_first(site.xpk.options);
      break;
  }
  return request;
}

LaunchFile render_launch_file(const NodeWork& work, const LaunchFileRequest& request) {
  switch (request.form) {
    case LaunchForm::slurm:
      return slurm_file(work, request);
    case LaunchForm::docker:
      return docker_file(work, request);
    case LaunchForm::xpk:
      return xpk_file(work, request);
    case LaunchForm::kubernetes:
    case LaunchForm::jobset:
      break;
  }
  refuse_ranks_on_other_nodes(work, request);
  return kubernetes_file(work, request, required_image(work, request));
}

}  // namespace perfbench::harness
