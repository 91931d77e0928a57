// The layout of a model's weights in other tools' files: the names and shapes of Hugging Face's implementations
// (transformers, src/transformers/models/{gpt2,llama,qwen2,qwen3,mixtral,qwen3_moe}), configured by config.json. The
// same model has the same logits: rows of queries and keys that are rotated in neighbouring pairs
// (RopeLayout::interleaved) are reordered to the halves that those implementations rotate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/spec/model_spec.h"

namespace perfbench::engine {

// A matrix [rows, columns] of one of our parameters, from element `first` on, and where its elements lie in their
// tensor: element (r, c) is at their_first + place(r) * row_stride + c * column_stride.
struct WeightBlock {
  std::string parameter;
  std::int64_t first = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t their_first = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t paired_rows = 0;  // head_dim if rows of a head are pairs of neighbours: 2i and 2i+1 go to i and i+D/2

  std::int64_t place(std::int64_t row) const;
};

// One of their tensors, made of one or more blocks.
struct TheirTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<WeightBlock> blocks;
};

struct WeightLayout {
  std::vector<TheirTensor> tensors;
  std::string config_json;           // the config.json with which transformers makes the model
  std::vector<std::string> ignored;  // additional tensors that files may contain: a tied head, buffers
};

// Throws BadInput for a model that no such implementation computes, naming the unsupported feature.
WeightLayout weight_layout(const spec::ModelSpec& model);

}  // namespace perfbench::engine
