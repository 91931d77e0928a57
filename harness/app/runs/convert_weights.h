// Weights between files of the ecosystem and checkpoints: by the engine, which knows both.
#pragma once

#include <filesystem>
#include <string>

#include "harness/app/installation.h"

namespace perfbench::harness {

// Makes a checkpoint of step 0 in `out` of a safetensors file, or a folder with such. `model` is a name or a file.
// Throws InputError with what the engine says. Returns what was done, a line.
std::string import_weights(const Installation& installation, const std::filesystem::path& weights,
                           const std::string& model, const std::filesystem::path& out);
// Makes `out` with model.safetensors and config.json of a checkpoint, or of the newest one in a folder. `dtype`: f32 or
// bf16.
std::string export_weights(const Installation& installation, const std::filesystem::path& checkpoint,
                           const std::string& dtype, const std::filesystem::path& out);

}  // namespace perfbench::harness
