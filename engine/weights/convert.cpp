#include "engine/weights/convert.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/checkpoint/checkpoint_files.h"
#include "engine/checkpoint/checkpoint_reader.h"
#include "engine/core/error.h"
#include "engine/metrics/record_files.h"
#include "engine/weights/config_check.h"
#include "engine/weights/layout.h"
#include "workloads/spec/parameter_table.h"

namespace perfbench::engine {
namespace fs = std::filesystem;
namespace {

// Calls f(element of the block, element of their tensor).
template <class F>
void for_each_element(const WeightBlock& block, F&& f) {
  for (std::int64_t r = 0; r < block.rows; ++r) {
    const std::int64_t row = block.their_first + block.place(r) * block.row_stride;
    for (std::int64_t c = 0; c < block.columns; ++c) {
      f(static_cast<std::size_t>(r * block.columns + c), static_cast<std::size_t>(row + c * block.column_stride));
    }
  }
}

// Files already in the folder would be taken for a part of what is written there. `own` recognises what a killed
// attempt may have left.
template <class Own>
void require_fresh_folder(const fs::path& folder, const Own& own) {
  std::error_code failure;
  if (!fs::exists(fs::symlink_status(folder, failure))) return;
  if (!fs::is_directory(folder, failure)) throw BadInput("weights: " + folder.string() + " is not a folder");
  for (const auto& entry : fs::directory_iterator(folder, failure)) {
    const auto name = entry.path().filename().string();
    if (own(name)) continue;
    throw BadInput("weights: " + folder.string() + " must be empty, but contains " + name +
                   "; use a new folder or an empty one");
  }
  if (failure) throw BadInput("weights: cannot read " + folder.string() + ": " + failure.message());
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const auto dim : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + "]";
}

// Files of a model without its head leave out the first part of each name.
std::string name_in(const Safetensors& files, const std::string& name) {
  if (files.entries().contains(name)) return name;
  for (const std::string prefix : {"transformer.", "model."}) {
    if (name.starts_with(prefix) && files.entries().contains(name.substr(prefix.size()))) {
      return name.substr(prefix.size());
    }
  }
  return name;
}

void check_files(const Safetensors& files, const WeightLayout& layout, const fs::path& path) {
  std::map<std::string, int> expected;
  for (const auto& tensor : layout.tensors) {
    const auto name = name_in(files, tensor.name);
    const auto& found = files.weight(name);
    if (found.shape != tensor.shape) {
      throw BadInput("weights: " + path.string() + " has " + name + " " + shape_text(found.shape) +
                     ", but the model has " + shape_text(tensor.shape));
    }
    ++expected[name];
  }
  for (const auto& name : layout.ignored) ++expected[name_in(files, name)];
  for (const auto& [name, entry] : files.entries()) {
    if (expected.contains(name)) continue;
    throw BadInput("weights: " + path.string() + " has " + name + " " + shape_text(entry.shape) +
                   ", which is not a tensor of the model");
  }
}

// Where the elements of one of our parameters lie.
struct Source {
  const TheirTensor* tensor;
  const WeightBlock* block;
};

std::vector<float> parameter_values(const Safetensors& files, const std::vector<Source>& sources,
                                    std::int64_t elements) {
  std::vector<float> out(static_cast<std::size_t>(elements));
  for (const auto& [tensor, block] : sources) {
    const auto theirs = files.read(name_in(files, tensor->name));
    float* const ours = out.data() + block->first;
    for_each_element(*block, [&](std::size_t own, std::size_t their) { ours[own] = theirs[their]; });
  }
  return out;
}

std::vector<float> tensor_values(const CheckpointReader& checkpoint, const TheirTensor& tensor) {
  std::int64_t elements = 1;
  for (const auto dim : tensor.shape) elements *= dim;
  std::vector<float> out(static_cast<std::size_t>(elements));
  for (const auto& block : tensor.blocks) {
    const std::int64_t count = block.rows * block.columns;
    const auto values = checkpoint.read(block.parameter, spec::CheckpointedState::weight,
                                        {.first = block.first, .run = count, .stride = count, .count = count});
    if (values.dtype != DType::f32) throw LogicFault("weights: " + block.parameter + " is not saved in f32");
    for_each_element(block, [&](std::size_t own, std::size_t their) {
      std::memcpy(&out[their], values.bytes.data() + own * sizeof(float), sizeof(float));
    });
  }
  return out;
}

}  // namespace

std::string import_weights(const fs::path& weights, const spec::ModelSpec& model, const fs::path& folder) {
  const auto layout = weight_layout(model);
  const Safetensors files(weights);
  check_files(files, layout, weights);
  check_config(weights, layout.config_json, model.max_seq_len);
  require_fresh_folder(folder, is_unfinished_checkpoint);
  const CheckpointFolder claim(folder, 0);
  require_fresh_folder(folder, is_unfinished_checkpoint);  // another import may have finished first
  std::map<std::string, std::vector<Source>> sources;
  for (const auto& tensor : layout.tensors) {
    for (const auto& block : tensor.blocks) sources[block.parameter].push_back({&tensor, &block});
  }
  std::vector<PartToWrite> parts;
  std::vector<float> values;  // values of the part that is being written
  for (const auto& parameter : spec::parameter_table(model)) {
    spec::CheckpointPart part;
    part.parameter = parameter.name;
    part.dtype = dtype_name(DType::f32);
    part.run = part.stride = part.count = parameter.elements();
    parts.push_back({std::move(part), [&files, &values, &from = sources.at(parameter.name), n = parameter.elements()] {
                       values = parameter_values(files, from, n);
                       return std::as_bytes(std::span<const float>(values));
                     }});
  }
  const std::size_t tensors = layout.tensors.size();
  write_shard(folder, 0, 0, std::move(parts));
  const std::atomic<bool> never = false;
  const auto bytes = complete_checkpoint(folder, {.step = 0, .ranks = 1, .model = model, .lora = {}},
                                         std::numeric_limits<std::int64_t>::max(), never);
  return std::to_string(tensors) + " tensors of " + weights.string() + ", " + std::to_string(bytes / 4) +
         " parameters, are the checkpoint of step 0 in " + folder.string();
}

std::string export_weights(const fs::path& checkpoint, const fs::path& folder, WeightType type) {
  const CheckpointReader saved(read_contents(find_checkpoint(checkpoint)));
  const auto& manifest = saved.contents().manifest;
  if (manifest.lora.used()) {
    throw BadInput("weights: " + saved.contents().folder.string() +
                   " contains adapters, which these files cannot store");
  }
  const auto layout = weight_layout(manifest.model);
  require_fresh_folder(folder,
                       [](const std::string& name) { return name == std::string(kWeightsFile) + kPartialEnding; });
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) throw BadInput("weights: cannot make " + folder.string() + ": " + failure.message());
  std::vector<TensorToWrite> tensors;
  for (const auto& tensor : layout.tensors) {
    tensors.push_back({tensor.name, tensor.shape, [&saved, &tensor] { return tensor_values(saved, tensor); }});
  }
  write_safetensors(folder / kWeightsFile, tensors, type);
  write_whole_file(folder / "config.json", layout.config_json);
  return std::to_string(tensors.size()) + " tensors of step " + std::to_string(manifest.step) + " are in " +
         folder.string() + " (model.safetensors, config.json)";
}

}  // namespace perfbench::engine
