// Checks what the config.json of weights says of a model beyond the shapes of its tensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace perfbench::engine {

// Compares config.json beside `weights` (a file or a folder) with `ours`, the configuration that the engine would write
// for its model (WeightLayout::config_json). An absent key has the default of Hugging Face's transformers for the
// model's type. Also refuses keys that change the computation in ways that the engine does not implement, such as a
// sliding window shorter than `max_seq_len`. Without a config.json it checks nothing. Throws BadInput naming the key
// and both values.
void check_config(const std::filesystem::path& weights, const std::string& ours, std::int64_t max_seq_len);

}  // namespace perfbench::engine
