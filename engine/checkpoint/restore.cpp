#include "engine/checkpoint/restore.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "engine/checkpoint/checkpoint_files.h"
#include "engine/checkpoint/checkpoint_reader.h"
#include "engine/checkpoint/state_parts.h"
#include "engine/core/error.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::engine {
namespace {

// A model stays the same model under another name and with other initial values.
bool matters(const std::string& field) {
  return (field.starts_with("model.") || field.starts_with("lora.")) && field != "model.name" &&
         field != "model.init_std" && field != "lora.merge";
}

void require_same_model(const spec::RunSpec& run, const CheckpointContents& contents) {
  spec::RunSpec saved = run;
  saved.model = contents.manifest.model;
  saved.lora = contents.manifest.lora;
  std::string differences;
  for (const auto& [field, asked, found] : spec::difference(run, saved)) {
    if (!matters(field)) continue;
    differences += (differences.empty() ? "" : "; ") + field + " " + found + ", but the run has " + asked;
  }
  if (differences.empty()) return;
  throw BadInput("checkpoint: " + contents.folder.string() + " is of another model: " + differences);
}

// Values of another type are converted in a buffer of this many elements.
constexpr std::int64_t kConvertedAtOnce = std::int64_t{1} << 20;

void put(const Context& context, const TensorView& out, const CheckpointReader::Values& values) {
  if (out.dtype == values.dtype) {
    context.ops.upload(out, values.bytes.data());
    return;
  }
  const std::int64_t elements = out.elements();
  const Tensor staged(context.memory, {"restored_values", MemoryScope::workspace, values.dtype,
                                       Shape{std::min(elements, kConvertedAtOnce)}});
  for (std::int64_t first = 0; first < elements; first += kConvertedAtOnce) {
    const Shape piece{std::min(kConvertedAtOnce, elements - first)};
    const TensorView in = staged.view().slice(0, piece);
    context.ops.upload(in, values.bytes.data() + first * size_bytes(values.dtype));
    context.ops.copy(out.slice(first, piece), in);
  }
}

std::vector<float> amax_history(const CheckpointReader& saved, const std::string& name) {
  constexpr auto kState = spec::CheckpointedState::amax_history;
  const std::int64_t count = saved.elements(name, kState);
  std::vector<float> out(static_cast<std::size_t>(count));
  if (count == 0) return out;
  const auto values = saved.read(name, kState, {.run = count, .stride = count, .count = count});
  if (values.dtype != DType::f32) throw BadInput("checkpoint: " + name + " is saved in a type other than f32");
  std::memcpy(out.data(), values.bytes.data(), values.bytes.size());
  return out;
}

}  // namespace

std::int64_t restore_checkpoint(const Context& context, const spec::RunSpec& run, const ParameterStore& store,
                                Fp8Scales* fp8) {
  const CheckpointReader saved(read_contents(find_checkpoint(run.checkpoint.restore)));
  require_same_model(run, saved.contents());
  for (const auto& wanted : state_parts(context, store, Replicas::all)) {
    if (!saved.has_moments() && wanted.state != spec::CheckpointedState::weight) continue;
    const TensorView& state = state_tensor(store.units()[wanted.unit], wanted.state);
    put(context, state.slice(wanted.first, Shape{wanted.places.count}),
        saved.read(wanted.parameter->spec.name, wanted.state, wanted.places));
  }
  for (const auto& unit : store.units()) {
    if (unit.bf16_weight.defined()) context.ops.copy(unit.bf16_weight, unit.weight);
  }
  if (fp8 != nullptr) fp8->restore([&saved](const std::string& name) { return amax_history(saved, name); });
  return saved.contents().manifest.step;
}

}  // namespace perfbench::engine
