// One row of a published performance table, as its authors print it. All values except `setup` are theirs: rates under
// our own definitions come from harness/matrix/published.h. The data is in workloads/published.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/spec/dropout_spec.h"
#include "workloads/spec/fields.h"
#include "workloads/spec/lora_spec.h"
#include "workloads/spec/published_setup.h"
#include "workloads/spec/run_kinds.h"

namespace perfbench::spec {

// 0 or empty: the source does not tell.
struct PublishedRow {
  std::string id;           // unique within its system: "llama2-7b-8xh100"
  std::string model;        // file of workloads/models
  std::string model_name;   // as printed
  std::string hardware;     // file of workloads/hardware
  std::string device_name;  // as printed
  std::int64_t devices = 0;
  std::int64_t dp = 0;
  std::int64_t fsdp = 0;
  std::int64_t tp = 0;
  std::int64_t pp = 0;
  Precision precision = Precision::bf16;
  std::string precision_name;   // as printed: "TE FP8"
  std::int64_t seq_len = 0;     // tokens
  double batch_per_device = 0;  // sequences; below 1 if devices share a sequence
  std::int64_t global_batch = 0;
  std::string attention;  // flash or dot_product
  std::string remat;      // a policy of remat_policy.h, or the system's own name for one
  std::string scan;       // on or off
  Task task = Task::pretrain;
  LoraSpec lora;        // task lora
  DropoutSpec dropout;  // zero: no dropout, or the source does not tell
  double step_time_s = 0;
  double sequences_per_s = 0;
  double tokens_per_s_per_device = 0;
  double stated_flops_per_s_per_device = 0;
  double stated_mfu_fraction = 0;
  double stated_hfu_fraction = 0;
  double stated_sol_fraction = 0;  // of the speed of light, by the dtypes of each product
  std::string stated_definition;   // FLOP definition of the stated figures, if it is known
  double estimated_days = 0;       // of the whole training
  std::string accuracy;
  std::string notes;
  std::vector<std::string> flags;  // errors or doubts about the row
  PublishedSetup setup;            // what the predictor needs and the table does not print

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"id", "name of the row within its system"}, self.id);
    f(Field{"model", "file of workloads/models"}, self.model);
    f(Field{"model_name", "model as printed"}, self.model_name);
    f(Field{"hardware", "file of workloads/hardware"}, self.hardware);
    f(Field{"device_name", "device as printed"}, self.device_name);
    f(Field{"devices", "devices", 0, 1e7}, self.devices);
    f(Field{"dp", "data parallel", 0, 1e7}, self.dp);
    f(Field{"fsdp", "fully sharded data parallel", 0, 1e7}, self.fsdp);
    f(Field{"tp", "tensor parallel", 0, 1e7}, self.tp);
    f(Field{"pp", "pipeline parallel", 0, 1e7}, self.pp);
    f(Field{"precision", "fp32, tf32, bf16 or fp8"}, self.precision);
    f(Field{"precision_name", "precision as printed"}, self.precision_name);
    f(Field{"seq_len", "tokens of a sequence", 0, 1e8}, self.seq_len);
    f(Field{"batch_per_device", "sequences per device and step", 0, 1e7}, self.batch_per_device);
    f(Field{"global_batch", "sequences of a step over all devices", 0, 1e9}, self.global_batch);
    f(Field{"attention", "flash or dot_product"}, self.attention);
    f(Field{"remat", "rematerialisation policy"}, self.remat);
    f(Field{"scan", "on or off"}, self.scan);
    f(Field{"task", "pretrain, sft, lora or eval"}, self.task);
    f(Field{"lora", "task lora: the adapters"}, self.lora);
    f(Field{"dropout", "what becomes 0 by chance"}, self.dropout);
    f(Field{"step_time_s", "time of a step", 0.0}, self.step_time_s);
    f(Field{"sequences_per_s", "over all devices", 0.0}, self.sequences_per_s);
    f(Field{"tokens_per_s_per_device", "tokens per second and device", 0.0}, self.tokens_per_s_per_device);
    f(Field{"stated_flops_per_s_per_device", "FLOP/s as printed", 0.0}, self.stated_flops_per_s_per_device);
    f(Field{"stated_mfu_fraction", "MFU as printed", 0.0}, self.stated_mfu_fraction);
    f(Field{"stated_hfu_fraction", "HFU as printed", 0.0}, self.stated_hfu_fraction);
    f(Field{"stated_sol_fraction", "part of the speed of light as printed", 0.0}, self.stated_sol_fraction);
    f(Field{"stated_definition", "FLOP definition of the stated figures"}, self.stated_definition);
    f(Field{"estimated_days", "days for the whole training", 0.0}, self.estimated_days);
    f(Field{"accuracy", "accuracy reached"}, self.accuracy);
    f(Field{"notes", "what else the source says"}, self.notes);
    f(Field{"flags", "what is wrong or doubtful"}, self.flags);
    f(Field{"setup", "what the predictor needs and the table does not print"}, self.setup);
  }
};

}  // namespace perfbench::spec
