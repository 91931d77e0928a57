// Converts weights between common file formats and checkpoints, using the engine, which supports both.
#pragma once

#include <filesystem>
#include <string>

#include "harness/app/installation.h"

namespace perfbench::harness {

// Makes a checkpoint of step 0 in `out` from a safetensors file, or from a folder with such files. `model` is a name or
// a file. Throws InputError with the engine's message. Returns a summary in one line.
std::string import_weights(const Installation& installation, const std::filesystem::path& weights,
                           const std::string& model, const std::filesystem::path& out);
// Makes the folder `out` with model.safetensors and config.json from a checkpoint, or from the newest one in a folder.
// `dtype`: f32 or bf16.
std::string export_weights(const Installation& installation, const std::filesystem::path& checkpoint,
                           const std::string& dtype, const std::filesystem::path& out);

}  // namespace perfbench::harness
