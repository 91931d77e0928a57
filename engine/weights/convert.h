// Converts weights from other tools' files to a checkpoint, and back.
#pragma once

#include <filesystem>
#include <string>

#include "engine/weights/safetensors.h"
#include "workloads/spec/model_spec.h"

namespace perfbench::engine {

// Makes `folder`/step_00000000, in f32, from which runs of `model` begin (checkpoint.restore). Throws BadInput if the
// model has no such layout, if the files lack a tensor, have one of another shape or one that the model does not know,
// or if the folder is not empty. Returns a summary for people.
std::string import_weights(const std::filesystem::path& weights, const spec::ModelSpec& model,
                           const std::filesystem::path& folder);

// Makes `folder` with model.safetensors and config.json of the checkpoint's weights (the format has no place for
// moments). Throws BadInput for adapters, for models without such a layout, and if the folder is not empty. Returns a
// summary for people.
std::string export_weights(const std::filesystem::path& checkpoint, const std::filesystem::path& folder,
                           WeightType type);

}  // namespace perfbench::engine
