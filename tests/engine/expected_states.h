// Closed forms of the state that a run keeps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/spec/parameter_table.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {

inline std::int64_t up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// If the ranks along tp do not divide the key and value heads, each rank has all of them.
inline bool has_few_heads(const spec::RunSpec& run) {
  return run.model.n_kv_heads % run.mesh.tp() != 0;
}

inline bool is_cut_over_tp(const spec::RunSpec& run, const spec::ParameterSpec& parameter) {
  const auto& dims = parameter.dims;
  if (run.mesh.tp() == 1 || dims.find("/tp") == std::string::npos) return false;
  return dims.find("kv_heads") == std::string::npos || !has_few_heads(run);
}

inline bool is_looked_up(const spec::ParameterSpec& parameter) {
  if (parameter.layer >= 0) return false;  // a relative bias
  return parameter.kind == spec::ParameterKind::embedding || parameter.kind == spec::ParameterKind::position;
}

// The size of a unit's shard on one rank: the largest part of each parameter, aligned to 16 elements, and the whole
// divided into shards that are also multiples of 16 (unit.h).
inline std::int64_t shard_elements(const spec::RunSpec& run, const std::vector<spec::ParameterSpec>& unit) {
  std::int64_t end = 0;
  for (const auto& parameter : unit) {
    std::int64_t elements = 1;
    const bool over_tp = is_cut_over_tp(run, parameter);
    const auto axes = parameter.axes();
    for (std::size_t i = 0; i < parameter.shape.size(); ++i) {
      std::int64_t ranks = over_tp && axes[i] == "tp" ? run.mesh.tp() : 1;
      if (axes[i] == "ep") ranks = run.mesh.ep();
      elements *= up(parameter.shape[i], ranks) / ranks;
    }
    end += up(elements, 16);
  }
  return up(end, 16 * run.mesh.fsdp()) / run.mesh.fsdp();
}

// The units of a stage: chunks of layers go around the stages; if they do not divide the layers, the first chunks have
// one more.
inline std::vector<std::vector<spec::ParameterSpec>> units_of(const spec::RunSpec& run, std::int64_t stage) {
  const std::int64_t stages = run.mesh.pp();
  const std::int64_t chunks = stages * run.pipeline_chunks;
  std::vector<spec::ParameterSpec> embedding;
  std::vector<spec::ParameterSpec> head;
  for (auto& parameter : spec::outer_parameters(run.model)) {
    (is_looked_up(parameter) ? embedding : head).push_back(parameter);
  }
  std::vector<std::vector<spec::ParameterSpec>> out;
  const bool last = stage + 1 == stages;
  if (stage == 0 || (last && run.model.tied_embedding)) out.push_back(embedding);
  if (last) out.push_back(head);
  std::int64_t layer = 0;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    std::int64_t layers = run.model.layers / chunks;
    if (chunk < run.model.layers % chunks) ++layers;
    for (const auto end = layer + layers; layer < end; ++layer) {
      if (chunk % stages != stage) continue;
      out.push_back(spec::layer_parameters(run.model, layer));
      if (run.lora.used()) out.push_back(spec::layer_adapters(run.model, run.lora, layer));
    }
  }
  return out;
}

// For precision fp8, by the names of parameters: f32 amax, scale and inverse scale of inputs, weights and gradients of
// layers that read one input, with the inverses 16 bytes apart; with delayed scaling a history of each amax, separate
// for gradients. In blocks of the arena.
inline std::int64_t fp8_state_bytes(const spec::RunSpec& run,
                                    const std::vector<std::vector<spec::ParameterSpec>>& units) {
  if (run.precision != spec::Precision::fp8) return 0;
  std::int64_t inputs = 0;
  for (const auto& unit : units) {
    for (const auto& parameter : unit) {
      if (parameter.kind == spec::ParameterKind::expert) continue;
      for (const char* name : {".query.weight", ".out.weight", ".up.weight", ".down.weight"}) {
        if (parameter.name.ends_with(name)) ++inputs;
      }
    }
  }
  const auto block = [](std::int64_t floats) { return up(4 * floats, 256); };
  const std::int64_t states = 2 * block(3 * inputs) + block(4 * 3 * inputs);
  if (run.fp8_scaling == spec::Fp8Scaling::current) return states;
  return states + block(run.fp8_amax_history * 2 * inputs) + block(run.fp8_amax_history * inputs);
}

}  // namespace perfbench::engine
