// One fully resolved training run: the contents of run.json, whose canonical JSON hashes to the run id.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "workloads/spec/checkpoint_spec.h"
#include "workloads/spec/dropout_spec.h"
#include "workloads/spec/fields.h"
#include "workloads/spec/lora_spec.h"
#include "workloads/spec/mesh_spec.h"
#include "workloads/spec/model_spec.h"
#include "workloads/spec/optimizer_spec.h"
#include "workloads/spec/run_kinds.h"

namespace perfbench::spec {

struct DataSpec {
  DataKind kind = DataKind::synthetic;
  std::string path;             // unless synthetic: the zarr group
  std::string split = "train";  // unless synthetic: train or validation
  std::int64_t seed = 1234;
  Packing packing = Packing::none;  // documents: not with synthetic

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"kind", "synthetic, flat_tokens or instruction"}, self.kind);
    f(Field{"path", "folder of a flat-tokens dataset, of instruction with prompts"}, self.path);
    f(Field{"split", "train or validation"}, self.split);
    f(Field{"seed", "order of the data", 0}.uncounted(), self.seed);
    f(Field{"packing", "none, or documents: several in a row, none of which sees another"}.omitted_at_default(),
      self.packing);
  }
};

// The evaluation that a run does after training: a data set as for task eval. Without a path there is none.
struct EvaluationSpec {
  std::string path;
  std::string split = "validation";

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"path", "folder of a data set with prompts, empty for none"}, self.path);
    f(Field{"split", "train or validation"}, self.split);
  }
};

// A window of steps among the timed ones that are traced and excluded from all timings. On a GPU whose steps replay
// recordings, the preceding step is excluded too: it records them once more, while the tracer learns their names.
struct ProfileSpec {
  // Step 0 chooses algorithms, step 1 records what untraced steps replay, step 2 what those of the window replay.
  static constexpr std::int64_t kEarliestStep = 3;

  std::int64_t first_step = 0;
  std::int64_t steps = 0;  // 0: no window

  constexpr bool has(std::int64_t step) const { return step >= first_step && step - first_step < steps; }
  constexpr bool is_prepared_in(std::int64_t step) const { return steps > 0 && step == first_step - 1; }

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"first_step", "first traced step, counted from 0", 0, 1e9}.uncounted(), self.first_step);
    f(Field{"steps", "traced steps, 0 for none; their events wait in memory", 0, 1e3}.uncounted(), self.steps);
  }
};

struct RunProgram;

struct RunSpec {
  static constexpr std::int64_t kSchemaVersion = 1;

  std::int64_t schema_version = kSchemaVersion;
  ModelSpec model;
  MeshSpec mesh;
  Device device = Device::cpu;
  std::string hardware = "host";  // the peak that MFU and memory checks use: a file of workloads/hardware, or host
  Precision precision = Precision::fp32;
  Fp8Scaling fp8_scaling = Fp8Scaling::delayed;  // current: with precision fp8
  // steps that delayed scaling looks back; with precision fp8
  std::int64_t fp8_amax_history = 16;
  Fp8Accumulation fp8_accumulation = Fp8Accumulation::full;  // not full: with precision fp8 on a GPU
  Rounding rounding = Rounding::nearest;                     // stochastic: only for bf16 weights
  Bf16Weights bf16_weights = Bf16Weights::cast;              // kept: with precision bf16 or fp8 and rounding nearest
  LogitsType logits = LogitsType::compute;                   // fp32: with precision bf16 or fp8
  EmbeddingKind embedding = EmbeddingKind::lookup;
  bool fused_qkv = true;  // query, key and value are one product and one buffer, if a policy gives them the same place
  bool fused_mlp = true;  // so are gate and up of a gated dense block
  AttentionKind attention = AttentionKind::flash;
  AttentionChoice attention_kernel = AttentionChoice::automatic;  // cuda, with attention: flash
  std::string remat = "none";                                     // a policy of remat_policy.h, or custom
  std::map<std::string, SavePlace> remat_custom;                  // remat = custom: the place of each name
  bool scan = false;
  std::int64_t seq_len = 0;       // tokens of a sequence
  std::int64_t global_batch = 0;  // sequences of a step over all devices
  std::int64_t grad_accum = 1;    // microbatches of a step
  std::int64_t steps = 10;
  std::int64_t training_steps = 0;  // of the whole training that this run stands for, 0: not given
  std::int64_t trace_steps = 0;     // further steps, after the timed ones: traced, not timed (trace_record.h)
  ProfileSpec profile;
  std::int64_t seed = 1234;
  std::int64_t threads_per_rank = 0;     // 0: the node's cores divided among its ranks
  std::int64_t memory_limit_bytes = 0;   // per device, 0: no limit
  std::int64_t loss_chunk_tokens = 512;  // rows of logits held at once: as fast as 1024, with half the memory
  std::int64_t fsdp_prefetch = 1;        // layers gathered ahead and reduced behind, 0: no overlap, least memory
  // The most bytes of gradients in one all-reduce; 0: those of a layer, whatever their size.
  std::int64_t all_reduce_combine_bytes = 0;
  std::int64_t pipeline_chunks = 1;  // chunks of layers in each stage of pp; above 1 the schedule is interleaved
  // For a model that drops no token, with ep: rows for each rank's experts, relative to their even share. A token
  // without a row ends the run.
  double expert_buffer_factor = 2.0;
  bool device_graphs = true;  // cuda: a step (scan: a layer) is one graph instead of hundreds of launches
  bool deterministic = true;  // cuda: equal bits in every repetition; false: faster where that takes time
  Task task = Task::pretrain;
  LoraSpec lora;  // used only with task lora
  DropoutSpec dropout;
  DataSpec data;
  OptimizerSpec optimizer;
  EvaluationSpec evaluation;
  CheckpointSpec checkpoint;
  // The training program that runs instead of perfbench-engine; null for the engine. It is not in fields(): run.json of
  // a program has `program` and the fields that its user declared, and no others (run_program.h).
  std::shared_ptr<const RunProgram> program;

  constexpr bool traces() const { return trace_steps > 0 || profile.steps > 0; }
  constexpr bool packs_documents() const { return data.packing == Packing::documents; }
  // Otherwise every token has a loss.
  constexpr bool counts_targets() const {
    return trains() && (task == Task::sft || data.kind == DataKind::instruction || packs_documents());
  }
  constexpr bool trains() const { return task != Task::eval; }
  bool evaluates_at_end() const { return !evaluation.path.empty(); }
  constexpr std::int64_t sequences_per_rank() const { return global_batch / mesh.data_shards(); }
  constexpr std::int64_t microbatch() const { return sequences_per_rank() / grad_accum; }

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"schema_version", "version of this format", 1, 1}, self.schema_version);
    f(Field{"model", "the architecture"}, self.model);
    f(Field{"mesh", "the arrangement of devices"}, self.mesh);
    f(Field{"device", "cpu or cuda"}, self.device);
    f(Field{"hardware", "device type whose peak and memory are assumed; host: this machine, measured"}, self.hardware);
    f(Field{"precision", "fp32, tf32, bf16 or fp8"}, self.precision);
    f(Field{"fp8_scaling",
            "of precision fp8: delayed, by the largest values of the steps before, or current, by those of the tensor "
            "itself as far as a rank has it"}
          .omitted_at_default(),
      self.fp8_scaling);
    f(Field{"fp8_amax_history", "of precision fp8 with delayed scaling: how many steps back", 1, 65536}
          .omitted_at_default(),
      self.fp8_amax_history);
    f(Field{"fp8_accumulation",
            "of precision fp8 on a GPU: full moves sums to f32 after every few terms; fast does not, nor does "
            "fast_forward in the forward pass"}
          .omitted_at_default(),
      self.fp8_accumulation);
    f(Field{"rounding", "of weights to bf16: nearest or stochastic"}.omitted_at_default(), self.rounding);
    f(Field{"bf16_weights",
            "of precision bf16 or fp8: cast whenever a layer is gathered, or kept beside the f32 ones (2 bytes a "
            "parameter "
            "more)"}
          .omitted_at_default(),
      self.bf16_weights);
    f(Field{"logits", "compute: in the type of products; fp32: of precision bf16 or fp8, their sums as they are"}
          .omitted_at_default(),
      self.logits);
    f(Field{"embedding", "lookup of rows, or one_hot: products over the vocabulary"}.omitted_at_default(),
      self.embedding);
    f(Field{"fused_qkv", "query, key and value are one product and one buffer, where a policy places them alike"}
          .omitted_at_default(),
      self.fused_qkv);
    f(Field{"fused_mlp", "of a gated dense block gate and up are one product and one buffer"}.omitted_at_default(),
      self.fused_mlp);
    f(Field{"attention", "dot_product or flash"}, self.attention);
    f(Field{"attention_kernel", "of attention: flash on a GPU: auto, cudnn or own"}.omitted_at_default(),
      self.attention_kernel);
    f(Field{"remat", "rematerialisation policy"}, self.remat);
    f(Field{"remat_custom", "remat: custom: device, remat or offload per name"}, self.remat_custom);
    f(Field{"scan", "reuse one layer's buffers and graph for all layers"}, self.scan);
    f(Field{"seq_len", "tokens of a sequence", 1, 1e8}, self.seq_len);
    f(Field{"global_batch", "sequences of a step over all devices", 1, 1e9}, self.global_batch);
    f(Field{"grad_accum", "microbatches of a step", 1, 1e6}, self.grad_accum);
    f(Field{"steps", "optimizer steps; of task eval as many batches as its data set has", 1, 1e9}.uncounted(),
      self.steps);
    f(Field{"training_steps",
            "steps of the whole training, of which this run takes a few: reports say how many days it takes", 0, 1e9}
          .omitted_at_default()
          .uncounted(),
      self.training_steps);
    f(Field{"trace_steps", "further steps that are traced, and not timed", 0, 1e6}.omitted_at_default().uncounted(),
      self.trace_steps);
    f(Field{"profile", "timed steps that are traced, and in no timing of the run"}.omitted_at_default().uncounted(),
      self.profile);
    f(Field{"seed", "seed of the initial weights", 0}.uncounted(), self.seed);
    f(Field{"threads_per_rank", "CPU threads of a rank, 0 for an even share", 0, 4096}, self.threads_per_rank);
    f(Field{"memory_limit_bytes", "bytes a device may hold, 0 for no limit", 0}, self.memory_limit_bytes);
    f(Field{"loss_chunk_tokens", "rows of logits held at once", 1, 1e9}, self.loss_chunk_tokens);
    f(Field{"fsdp_prefetch",
            "layers gathered ahead of their computation and reduced behind it; 0 takes the least memory", 0, 1},
      self.fsdp_prefetch);
    f(Field{"all_reduce_combine_bytes",
            "gradients of ranks that hold the same weights are summed at most this many bytes at a time; 0: a layer's "
            "at once",
            0}
          .omitted_at_default(),
      self.all_reduce_combine_bytes);
    f(Field{"pipeline_chunks",
            "chunks of layers to each stage of a pipeline; above 1 the schedule is interleaved: a smaller bubble for "
            "more messages and memory",
            1, 1e4}
          .omitted_at_default(),
      self.pipeline_chunks);
    f(Field{"expert_buffer_factor",
            "where experts drop no token and are divided over ep: rows for each rank's experts, over their even share; "
            "a token that finds none ends the run",
            1.0, 1e6}
          .omitted_at_default(),
      self.expert_buffer_factor);
    f(Field{"device_graphs", "replay a recorded step, or with scan a layer, where the device can"}.omitted_at_default(),
      self.device_graphs);
    f(Field{"deterministic",
            "the same bits with every repetition; false lets a GPU's library take a faster algorithm that adds in any "
            "order"}
          .omitted_at_default(),
      self.deterministic);
    f(Field{"task",
            "pretrain; sft: a loss where a prompt is completed; lora: adapters are trained; eval: completions are "
            "scored, nothing is learned"}
          .omitted_at_default(),
      self.task);
    f(Field{"lora", "task lora: the adapters"}.omitted_at_default(), self.lora);
    f(Field{"dropout", "what becomes 0 by chance while the run trains"}.omitted_at_default(), self.dropout);
    f(Field{"data", "where tokens come from"}, self.data);
    f(Field{"optimizer", "AdamW and its schedule"}, self.optimizer);
    f(Field{"evaluation", "what is scored after the last step"}.omitted_at_default(), self.evaluation);
    f(Field{"checkpoint", "what a run keeps of itself, and what it begins from"}.omitted_at_default(), self.checkpoint);
  }
};

}  // namespace perfbench::spec
