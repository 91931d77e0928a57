#include "engine/checkpoint/checkpoint_saver.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "engine/core/error.h"
#include "engine/core/monotonic_clock.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

// The record of a part without the fields that are known only after the write.
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

CheckpointSaver::CheckpointSaver(const Context& context, const spec::RunSpec& run, const ParameterStore& store,
                                 const Fp8Scales* fp8)
    : context_(context), run_(run), store_(store), parts_(state_parts(context, store, Replicas::once)) {
  for (const auto& part : parts_) {
    const UnitState& unit = store.units()[part.unit];
    make_snapshot(unit.layout.name + "." + std::string(spec::enum_name(part.state)), state_tensor(unit, part.state));
  }
  if (fp8 != nullptr && context.collectives.mesh().index(kLayerAxes) == 0) histories_ = fp8->histories();
  for (const auto& history : histories_) {
    make_snapshot(history.name.ends_with("gradient") ? "fp8_gradient_amax_history" : "fp8_amax_history",
                  history.rows_HS);
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

// Parts of one tensor share its copy. A dry walk tells them apart by name, because its tensors have no address.
void CheckpointSaver::make_snapshot(const std::string& name, const TensorView& source) {
  const std::string full_name = "checkpoint." + name;
  const auto same = [&](const Snapshot& snapshot) { return snapshot.name == full_name; };
  if (std::any_of(snapshots_.begin(), snapshots_.end(), same)) return;
  snapshots_.push_back(
      {full_name, source, Tensor(context_.memory, {full_name, MemoryScope::host, source.dtype, source.shape})});
}

const TensorView& CheckpointSaver::snapshot_of(const TensorView& source) const {
  for (const auto& snapshot : snapshots_) {
    if (snapshot.source.data == source.data) return snapshot.values;
  }
  throw LogicFault("checkpoint: the values to save have not been copied");
}

void CheckpointSaver::take_snapshot() {
  std::vector<Pending> copies;
  for (const auto& snapshot : snapshots_) copies.push_back(context_.ops.transfer(snapshot.values, snapshot.source));
  for (auto& copy : copies) copy.wait();
  context_.ops.synchronize();
}

PartToWrite CheckpointSaver::part_to_write(const StatePart& part) const {
  const TensorView& all = snapshot_of(state_tensor(store_.units()[part.unit], part.state));
  const TensorView values = all.slice(part.first, Shape{part.places.count});
  return {record_of(part, values.dtype),
          [values] { return std::span(values.as<const std::byte>(), static_cast<std::size_t>(values.bytes())); }};
}

// The history of one column, gathered into contiguous memory.
PartToWrite CheckpointSaver::part_to_write(const Fp8Scales::History& history) const {
  const TensorView& rows = snapshot_of(history.rows_HS);
  spec::CheckpointPart record;
  record.parameter = history.name;
  record.state = spec::CheckpointedState::amax_history;
  record.dtype = dtype_name(rows.dtype);
  record.run = record.stride = record.count = rows.shape[0];
  auto values = std::make_shared<std::vector<float>>();
  return {std::move(record), [rows, column = history.column, values] {
            for (std::int64_t row = 0; row < rows.shape[0]; ++row) {
              values->push_back(rows.as<const float>()[row * rows.shape[1] + column]);
            }
            return std::as_bytes(std::span<const float>(*values));
          }};
}

void CheckpointSaver::write(std::int64_t step, std::int64_t begun_ns) {
  try {
    const std::int64_t rank = context_.collectives.mesh().rank();
    std::vector<PartToWrite> parts;
    for (const auto& part : parts_) parts.push_back(part_to_write(part));
    for (const auto& history : histories_) parts.push_back(part_to_write(history));
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
