#include "harness/predict/planned_setup.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/predict/numbers.h"

namespace perfbench::predict {
namespace {

using spec::Precision;
using spec::Recomputation;
using spec::RunSpec;

// Policies of workloads/spec/remat_policy.h, and the work that the backward pass then repeats.
constexpr std::array kRecomputations{
    std::pair{std::string_view("none"), Recomputation::none},
    std::pair{std::string_view("full"), Recomputation::full},
    std::pair{std::string_view("minimal"), Recomputation::dots},
    std::pair{std::string_view("save_dot_with_no_batch_dims"), Recomputation::dots},
    std::pair{std::string_view("minimal_flash"), Recomputation::minimal_flash},
    std::pair{std::string_view("seqax"), Recomputation::keep_projections},
};

std::optional<Recomputation> recomputation_of(const std::string& policy) {
  for (const auto& [name, recomputation] : kRecomputations) {
    if (name == policy) return recomputation;
  }
  return std::nullopt;
}

// The formulas know where shards are, and take tensor parallel ranks inside a node, replicas of shards and pipeline
// stages across nodes.
std::optional<std::string> why_not_mesh(const spec::MeshSpec& mesh, const DeviceModel& device) {
  if (mesh.dcn.tp > 1) return "tensor parallel ranks across nodes are not predicted";
  if (mesh.ici.pp > 1) return "pipeline stages inside a node are not predicted";
  if (mesh.fsdp() > 1 && mesh.ici.dp > 1) return "replicas of sharded weights inside a node are not predicted";
  if (device.is_tpu() && mesh.dcn.size() > 1) return "several slices of TPUs are not predicted";
  return std::nullopt;
}

// Why the predictor cannot have the run, apart from attention and memory traffic; nullopt if it can.
std::optional<std::string> why_not(const RunSpec& run, const DeviceModel* device) {
  if (device == nullptr) return "workloads/predictor/rates.yaml has no figures for the hardware " + run.hardware;
  if (run.model.moe.n_experts > 0 || run.mesh.ep() > 1) return "models with experts are not predicted";
  if (run.precision != Precision::bf16 && run.precision != Precision::fp8) {
    return fmt::format("there are figures for bf16 and fp8, and not for {}", spec::enum_name(run.precision));
  }
  if (run.precision == Precision::fp8 && device->architecture.sustained_fraction_fp8 <= 0) {
    return "there is no figure for products in fp8 on " + device->figures.name;
  }
  const auto recomputation = recomputation_of(run.remat);
  if (!recomputation) return "the predictor has no counts for remat=" + run.remat;
  const bool keeps_all = *recomputation == Recomputation::none || *recomputation == Recomputation::minimal_flash;
  if (run.scan && keeps_all) return "the predictor has no counts for scan=true with remat=" + run.remat;
  if (!run.trains()) return "an evaluation is not predicted";
  return why_not_mesh(run.mesh, *device);
}

}  // namespace

std::variant<TrainingSetup, std::string> setup_of_run(const RunSpec& run, const SoftwareStack& stack,
                                                      const PredictorData& data) {
  const auto found = data.devices.find(run.hardware);
  const auto* device = found == data.devices.end() ? nullptr : &found->second;
  if (auto reason = why_not(run, device)) return *std::move(reason);
  const bool is_flash = run.attention == spec::AttentionKind::flash;
  const auto& kernel = is_flash ? stack.flash_kernel : stack.dot_product_kernel;
  if (!device->architecture.attention.contains(kernel) && !device->materialised.contains(kernel)) {
    return fmt::format("there are no figures for attention={} by {} on {}", spec::enum_name(run.attention), stack.name,
                       device->figures.name);
  }
  const auto& mesh = run.mesh;
  TrainingSetup out;
  out.device = device;
  out.stack = &stack;
  out.model = run.model;
  out.devices = mesh.devices();
  out.seq_len = run.seq_len;
  out.microbatches = run.grad_accum;
  out.microbatch = real(run.global_batch) / real(mesh.data_shards() * run.grad_accum);
  out.tp = mesh.tp();
  out.pp = mesh.pp();
  out.interleaving = run.pipeline_chunks;
  out.replicas = mesh.fsdp() > 1 ? mesh.dp() : 1;
  out.sharding = mesh.fsdp() > 1 ? spec::ShardingKind::full_shard : stack.data_parallel;
  out.attention_kernel = kernel;
  out.recompute = *recomputation_of(run.remat);
  out.fp8 = run.precision == Precision::fp8;
  out.scan = run.scan;
  out.lora = run.task == spec::Task::lora;
  out.tp_overlap_fraction = stack.tp_overlap_fraction;
  out.recomputes_last_product = stack.recomputes_last_product;
  out.gradient_bytes = stack.gradient_bytes;
  out.node_network_bytes_per_s = device->figures.node_network_bytes_per_s;
  return out;
}

}  // namespace perfbench::predict
