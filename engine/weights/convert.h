// Weights from files of the ecosystem to a checkpoint, and back.
#pragma once

#include <filesystem>
#include <string>

#include "engine/weights/safetensors.h"
#include "workloads/spec/model_spec.h"

namespace perfbench::engine {

// Makes `folder`/step_00000000, in f32, from which runs of `model` begin (checkpoint.restore). Throws BadInput: the
// model has no such layout, the files lack a tensor of it, have another shape, or a tensor that is none of it; or the
// folder holds anything. Returns what it did, for people.
std::string import_weights(const std::filesystem::path& weights, const spec::ModelSpec& model,
                           const std::filesystem::path& folder);

// Makes `folder` with model.safetensors and config.json of the checkpoint's weights (its moments have no place there).
// Throws BadInput for adapters, models without such a layout, and a folder that holds anything. Returns what it did,
// for people.
std::string export_weights(const std::filesystem::path& checkpoint, const std::filesystem::path& folder,
                           WeightType type);

}  // namespace perfbench::engine
