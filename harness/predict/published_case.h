// A published row as the predictor sees it: the whole setup of a step, resolved, beside the published step time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/matrix/published.h"
#include "harness/predict/rates.h"
#include "harness/predict/software_stack.h"
#include "workloads/spec/model_spec.h"
#include "workloads/spec/published_setup.h"

namespace perfbench::predict {

// One training step of one program. All sizes are counts; `device` and `stack` belong to PredictorData.
struct TrainingSetup {
  const DeviceModel* device = nullptr;
  const SoftwareStack* stack = nullptr;
  spec::ModelSpec model;
  std::int64_t devices = 1;
  std::int64_t seq_len = 0;
  double microbatch = 1;          // sequences of one data-parallel replica
  std::int64_t microbatches = 1;  // of a step
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t cp = 1;
  std::int64_t interleaving = 1;  // chunks of layers of a pipeline stage
  std::int64_t replicas = 1;      // copies of the sharded weights
  spec::ShardingKind sharding = spec::ShardingKind::full_shard;
  bool sequence_parallel = true;
  double tp_overlap_fraction = 0;
  std::string attention_kernel;
  spec::Recomputation recompute = spec::Recomputation::none;
  bool recomputes_last_product = false;
  bool fp8 = false;
  bool scan = false;
  bool lora = false;
  double gradient_bytes = 2;
  double node_network_bytes_per_s = 0;

  bool shards_weights() const {
    return sharding == spec::ShardingKind::full_shard || sharding == spec::ShardingKind::shard_grad_op;
  }
  std::int64_t data_parallel() const { return devices / (tp * pp * cp); }
  // The ranks that one copy of the weights is divided over.
  std::int64_t shards() const { return shards_weights() ? devices / (tp * pp * replicas) : 1; }
};

struct PublishedCase {
  std::string name;    // "maxtext/llama2-7b-8xh100"
  std::string source;  // document
  std::string family;  // system, or a part of it with software of its own
  std::string group;   // family, device and release: the rows that share two fitted constants
  spec::RowRole role = spec::RowRole::external;
  TrainingSetup setup;
  double step_s = 0;                 // as published
  std::vector<std::string> unknown;  // assumed facts; not empty: the row is under-specified

  bool well_specified() const { return unknown.empty(); }
};

// A row with a published speed that cannot be predicted.
struct UnpredictedRow {
  std::string name;
  std::string family;
  std::string reason;
};

struct PredictorData {
  std::map<std::string, DeviceModel> devices;
  std::map<std::string, SoftwareStack> stacks;
};

struct PublishedCases {
  std::vector<PublishedCase> cases;
  std::vector<UnpredictedRow> unpredicted;
};

// `models` finds the shapes that a row takes from a script. Rows without a published speed of training are left out.
// Throws InputError for a row whose setup names an unknown stack, device, model or attention kernel.
PublishedCases published_cases(const std::vector<harness::PublishedEntry>& entries, const PredictorData& data,
                               const harness::ModelCatalog& models);

}  // namespace perfbench::predict
