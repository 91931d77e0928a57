// Files of named tensors as Hugging Face's tools write them: 8 bytes with the length of a JSON header, little-endian,
// the header with the type, shape and place of each tensor, then their bytes in row-major order
// (github.com/huggingface/safetensors, README, "Format"). A model may be divided among several, with a
// model.safetensors.index.json that says which has what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace perfbench::engine {

inline constexpr const char* kWeightsFile = "model.safetensors";  // in a folder
inline constexpr const char* kPartialEnding = ".partial";         // of a file that is still being written

enum class WeightType { f32, bf16, f16 };

class Safetensors {
 public:
  // A file, or a folder that has model.safetensors or an index of several. Throws BadInput naming the file and what is
  // wrong with it: places that overlap, leave the file, or do not fit their shape.
  explicit Safetensors(const std::filesystem::path& path);

  struct Entry {
    std::filesystem::path file;
    std::string dtype;  // as the file names it: "BF16"
    std::optional<WeightType>
        type;  // nothing: no type of a weight, as that of a mask, so that the tensor cannot be read
    std::vector<std::int64_t> shape;
    std::int64_t offset = 0;  // in the file, bytes

    std::int64_t elements() const;
  };
  const std::map<std::string, Entry>& entries() const { return entries_; }
  // Throws BadInput if there is no such tensor, or its type is not a weight's.
  const Entry& weight(const std::string& name) const;
  // Values of one weight, as f32 whatever their type. Throws as weight() does.
  std::vector<float> read(const std::string& name) const;

 private:
  void add_file(const std::filesystem::path& file);

  std::filesystem::path path_;
  std::map<std::string, Entry> entries_;
};

struct TensorToWrite {
  std::string name;
  std::vector<std::int64_t> shape;
  std::function<std::vector<float>()> values;  // called once, when it is its turn
};
// One file of all, written beside and renamed. f16 is refused, as weights need not fit it. Throws EngineError.
void write_safetensors(const std::filesystem::path& file, const std::vector<TensorToWrite>& tensors, WeightType type);

}  // namespace perfbench::engine
