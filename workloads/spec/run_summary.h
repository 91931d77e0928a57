// result.json: what the engine itself reports about a whole run. The harness's own judgement of an attempt (state,
// signal, times) is harness/evidence/attempt.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/spec/checkpoint_record.h"
#include "workloads/spec/fields.h"
#include "workloads/spec/memory_record.h"
#include "workloads/spec/work_record.h"

namespace perfbench::spec {

// The memory of one rank in a run of several.
struct RankMemory {
  std::int64_t rank = 0;
  MemoryPeaks peak;
  std::int64_t arena_bytes = 0;
  std::int64_t resident_bytes = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"rank", "the rank", 0}, self.rank);
    f(Field{"peak", "memory peaks by the ledger"}, self.peak);
    f(Field{"arena_bytes", "address range of the allocator", 0}, self.arena_bytes);
    f(Field{"resident_bytes", "peak resident set of the process", 0}, self.resident_bytes);
  }
};

// The result of an evaluation. In a data set of choices, each candidate of a question is a row, and only the right ones
// count in the likelihoods.
struct EvaluationResult {
  std::int64_t rows = 0;       // rows scored; 0: there was no evaluation
  std::int64_t questions = 0;  // in a data set of choices
  std::int64_t tokens = 0;     // that the likelihoods cover
  double nll_sum = 0;          // negative log-likelihood, nats; NaN or infinite if the model diverged
  double perplexity = 0;       // exp(nll_sum / tokens)
  // The share of rows whose targets are all greedy choices, or of questions whose right candidate is the likeliest. A
  // tie does not count.
  double accuracy = 0;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"rows", "rows scored", 0}, self.rows);
    f(Field{"questions", "questions with candidates", 0}, self.questions);
    f(Field{"tokens", "tokens that the likelihoods are of", 0}, self.tokens);
    f(Field{"nll_sum", "negative log-likelihood of them, nats"}, self.nll_sum);
    f(Field{"perplexity", "exp of its mean"}, self.perplexity);
    f(Field{"accuracy", "share of the rows, or questions, that are right"}, self.accuracy);
  }
};

// result.json: how the engine itself says that a run ended. It is absent after a crash. Memory is that of the rank that
// took the most.
struct RunSummary {
  std::string status;  // ok, input_error, infeasible, out_of_memory, failed
  std::string message;
  std::int64_t steps = 0;
  std::int64_t startup_ns = 0;  // from process start to the first step
  MemoryPeaks peak;
  std::int64_t arena_bytes = 0;
  std::int64_t resident_bytes = 0;  // peak resident set of the process
  bool emulated = false;            // the precision is computed by conversion, because the chip has no units for it
  FlopCounts flops;                 // of a rank; mean over ranks
  std::vector<AxisTraffic> traffic;
  std::int64_t parameters = 0;
  std::int64_t matmul_parameters = 0;
  std::vector<AttentionKernel> attention_kernels;  // each direction once; empty if there is no choice, as on a CPU
  std::vector<RankMemory> ranks;                   // of several ranks, in their order
  EvaluationResult evaluation;
  CheckpointCosts checkpoint;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"status", "ok, input_error, infeasible, out_of_memory or failed"}, self.status);
    f(Field{"message", "what went wrong"}, self.message);
    f(Field{"steps", "steps finished", 0}, self.steps);
    f(Field{"startup_ns", "process start to first step", 0}, self.startup_ns);
    f(Field{"peak", "memory peaks by the ledger"}, self.peak);
    f(Field{"arena_bytes", "address range of the allocator", 0}, self.arena_bytes);
    f(Field{"resident_bytes", "peak resident set of the process", 0}, self.resident_bytes);
    f(Field{"emulated", "precision emulated by conversion"}, self.emulated);
    f(Field{"flops", "floating point operations of a step on a rank, mean over them"}, self.flops);
    f(Field{"traffic", "collectives of the last step on rank 0"}, self.traffic);
    f(Field{"parameters", "parameters of the model", 0}, self.parameters);
    f(Field{"matmul_parameters", "parameters that multiply each token", 0}, self.matmul_parameters);
    f(Field{"attention_kernels", "who computed flash attention on a GPU"}.omitted_at_default(), self.attention_kernels);
    f(Field{"ranks", "memory of each of several ranks"}.omitted_at_default(), self.ranks);
    f(Field{"evaluation", "what an evaluation found"}.omitted_at_default(), self.evaluation);
    f(Field{"checkpoint", "what checkpoints cost"}.omitted_at_default(), self.checkpoint);
  }
};

}  // namespace perfbench::spec
