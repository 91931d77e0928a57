// The files of a checkpoint. A checkpoint is a folder, step_00000120 for the state after 120 steps:
//   checkpoint.json   CheckpointManifest
//   rank00003.json    CheckpointShard: which elements of which parameters rank 3 wrote
//   rank00003.bin     those elements, one part behind the other, little-endian
// It is written as step_00000120.partial and renamed once all of it is on the disk: a folder without that ending is
// whole. No file depends on the mesh that wrote it: a parameter is identified by its name, and its elements by their
// places in the whole parameter, so any other mesh can read it. Every element of a parameter is in exactly one part.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/spec/fields.h"
#include "workloads/spec/lora_spec.h"
#include "workloads/spec/model_spec.h"

namespace perfbench::spec {

inline constexpr const char* kCheckpointFile = "checkpoint.json";

// The kinds of values kept for a parameter. amax_history: the largest magnitudes in previous steps, newest first, of
// what precision fp8 rounds ("layers.3.qkv.input").
enum class CheckpointedState { weight, first_moment, second_moment, amax_history };
template <>
struct EnumNames<CheckpointedState> {
  static constexpr std::array kNames{std::pair{CheckpointedState::weight, "weight"},
                                     std::pair{CheckpointedState::first_moment, "first_moment"},
                                     std::pair{CheckpointedState::second_moment, "second_moment"},
                                     std::pair{CheckpointedState::amax_history, "amax_history"}};
};

// Elements of one parameter: i of [skip, skip + count) is element first + i / run * stride + i % run of the whole
// parameter (engine/sharding/parameter_slice.h).
struct CheckpointPart {
  std::string parameter;  // "layers.3.query.weight"
  CheckpointedState state = CheckpointedState::weight;
  std::string dtype;  // "f32", or "bf16" if the run kept it in that type
  std::int64_t first = 0;
  std::int64_t run = 1;
  std::int64_t stride = 1;
  std::int64_t skip = 0;
  std::int64_t count = 0;
  std::int64_t offset = 0;  // in the file, bytes
  std::string xxh3;         // checksum of its bytes, XXH3 of 64 bits, 16 hexadecimal digits

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"parameter", "name"}, self.parameter);
    f(Field{"state", "weight, first_moment, second_moment or amax_history"}, self.state);
    f(Field{"dtype", "element type"}, self.dtype);
    f(Field{"first", "element of the parameter at which the rank's slice begins", 0}, self.first);
    f(Field{"run", "elements of the slice that follow each other in the parameter", 1}, self.run);
    f(Field{"stride", "elements of the parameter from one such run to the next", 1}, self.stride);
    f(Field{"skip", "elements of the slice before this part", 0}, self.skip);
    f(Field{"count", "elements of this part", 1}, self.count);
    f(Field{"offset", "where it begins in the file, bytes", 0}, self.offset);
    f(Field{"xxh3", "checksum of its bytes, XXH3 of 64 bits"}, self.xxh3);
  }
};

struct CheckpointShard {
  static constexpr std::int64_t kVersion = 1;
  std::int64_t version = kVersion;
  std::int64_t step = 0;
  std::int64_t rank = 0;
  std::int64_t bytes = 0;  // size of its .bin file
  std::vector<CheckpointPart> parts;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"version", "version of this file", 1, 1}, self.version);
    f(Field{"step", "steps taken before", 0}, self.step);
    f(Field{"rank", "rank that wrote it", 0}, self.rank);
    f(Field{"bytes", "size of the file with the values", 0}, self.bytes);
    f(Field{"parts", "what it holds"}, self.parts);
  }
};

struct CheckpointManifest {
  static constexpr std::int64_t kVersion = 1;
  std::int64_t version = kVersion;
  std::int64_t step = 0;
  std::int64_t ranks = 0;
  std::int64_t bytes = 0;           // size of all ranks' .bin files
  std::vector<std::string> shards;  // XXH3 of each rank's .json file
  ModelSpec model;
  LoraSpec lora;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"version", "version of this file", 1, 1}, self.version);
    f(Field{"step", "steps taken before", 0}, self.step);
    f(Field{"ranks", "ranks that wrote it", 1}, self.ranks);
    f(Field{"bytes", "size of all values", 0}, self.bytes);
    f(Field{"shards", "checksum of each rank's list, XXH3 of 64 bits"}, self.shards);
    f(Field{"model", "the architecture"}, self.model);
    f(Field{"lora", "the adapters"}, self.lora);
  }
};

// The time and space that checkpoints take in a run, in result.json.
struct CheckpointCosts {
  std::int64_t saves = 0;
  std::int64_t bytes = 0;       // size of the last one, all ranks' values
  std::int64_t save_ns = 0;     // mean time of a save: from its beginning to the whole checkpoint on the disk
  std::int64_t restore_ns = 0;  // time to restore the one that the run began from
  std::int64_t first_step = 0;  // first step that this run took

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"saves", "checkpoints written", 0}, self.saves);
    f(Field{"bytes", "values of the last one, of all ranks", 0}, self.bytes);
    f(Field{"save_ns", "from the beginning of a save to the whole checkpoint, mean", 0}, self.save_ns);
    f(Field{"restore_ns", "reading the checkpoint the run began from", 0}, self.restore_ns);
    f(Field{"first_step", "first step of this run", 0}, self.first_step);
  }
};

}  // namespace perfbench::spec
