#include "engine/checkpoint/checkpoint_saver.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "engine/core/error.h"
#include "engine/core/monotonic_clock.h"

namespace perfbench::engine {
namespace {

// Without what is known once it is written.
spec::CheckpointPart record_of(const StatePart& part, DType dtype) {
  spec::CheckpointPart record;
  record.parameter = part.parameter->spec.name;
  record.state = part.state;
  record.dtype = dtype_name(dtype);
  record.first = part.places.first;
  record.run = part.places.run;
  record.stride = part.places.stride;
  record.skip = part.places.skip;
  record.count = part.places.count;
  return record;
}

}  // namespace

CheckpointSaver::CheckpointSaver(const Context& context, const spec::RunSpec& run, const ParameterStore& store)
    : context_(context), run_(run), store_(store), parts_(state_parts(context, store, Replicas::once)) {
  for (const auto& part : parts_) {
    const bool taken = std::any_of(snapshots_.begin(), snapshots_.end(), [&](const Snapshot& snapshot) {
      return snapshot.unit == part.unit && snapshot.state == part.state;
    });
    if (taken) continue;
    const UnitState& unit = store.units()[part.unit];
    const TensorView& values = state_tensor(unit, part.state);
    const std::string name = "checkpoint." + unit.layout.name + "." + std::string(spec::enum_name(part.state));
    snapshots_.push_back(
        {part.unit, part.state, Tensor(context.memory, {name, MemoryScope::host, values.dtype, values.shape})});
  }
}

CheckpointSaver::~CheckpointSaver() {
  stop_ = true;
  if (writer_.joinable()) writer_.join();
}

void CheckpointSaver::open(const std::filesystem::path& folder, std::int64_t first_step) {
  folder_ = folder;
  if (context_.collectives.mesh().rank() == 0) claim_.emplace(folder, first_step);
}

std::int64_t CheckpointSaver::after_steps(std::int64_t steps) {
  if (steps % run_.checkpoint.every_steps != 0) return 0;
  const std::int64_t begun_ns = monotonic_ns();
  finish();
  take_snapshot();
  writer_ = std::thread([this, steps, begun_ns] { write(steps, begun_ns); });
  if (!run_.checkpoint.asynchronous) finish();
  return monotonic_ns() - begun_ns;
}

void CheckpointSaver::finish() {
  if (writer_.joinable()) writer_.join();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

const Tensor& CheckpointSaver::snapshot_of(const StatePart& part) const {
  for (const auto& snapshot : snapshots_) {
    if (snapshot.unit == part.unit && snapshot.state == part.state) return snapshot.values;
  }
  throw LogicFault("checkpoint: no copy of unit " + std::to_string(part.unit));
}

void CheckpointSaver::take_snapshot() {
  std::vector<Pending> copies;
  for (const auto& [unit, state, values] : snapshots_) {
    copies.push_back(context_.ops.transfer(values, state_tensor(store_.units()[unit], state)));
  }
  for (auto& copy : copies) copy.wait();
  context_.ops.synchronize();
}

void CheckpointSaver::write(std::int64_t step, std::int64_t begun_ns) {
  try {
    const std::int64_t rank = context_.collectives.mesh().rank();
    std::vector<PartToWrite> parts;
    for (const auto& part : parts_) {
      const TensorView values = snapshot_of(part).view().slice(part.first, Shape{part.places.count});
      parts.push_back({record_of(part, values.dtype), [values] {
                         return std::span(values.as<const std::byte>(), static_cast<std::size_t>(values.bytes()));
                       }});
    }
    write_shard(folder_, step, rank, std::move(parts));
    if (rank != 0) return;
    costs_.bytes = complete_checkpoint(
        folder_, {.step = step, .ranks = run_.mesh.devices(), .model = run_.model, .lora = run_.lora},
        run_.checkpoint.keep, stop_);
    if (stop_) return;
    save_ns_ += monotonic_ns() - begun_ns;
    costs_.save_ns = save_ns_ / ++costs_.saves;
  } catch (...) {
    failure_ = std::current_exception();
  }
}

}  // namespace perfbench::engine
