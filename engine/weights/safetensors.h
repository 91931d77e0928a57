// Files of named tensors as Hugging Face's tools write them: 8 bytes with the length of a JSON header, little-endian;
// the header with the type, shape and place of each tensor; then their bytes in row-major order
// (github.com/huggingface/safetensors, README, "Format"). A model may be split into several files, with a
// model.safetensors.index.json that says which file has which tensor.
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
  // Opens a file, or a folder that has model.safetensors or an index of several. Throws BadInput naming the file and
  // the problem: places that overlap, leave the file, or do not fit their shape.
  explicit Safetensors(const std::filesystem::path& path);

  struct Entry {
    std::filesystem::path file;
    std::string dtype;  // as spelled in the file: "BF16"
    std::optional<WeightType>
        type;  // absent for a type that weights do not have, such as that of a mask; such a tensor cannot be read
    std::vector<std::int64_t> shape;
    std::int64_t offset = 0;  // in the file, bytes

    std::int64_t elements() const;
  };
  const std::map<std::string, Entry>& entries() const { return entries_; }
  // Throws BadInput if there is no such tensor, or if its type is not that of a weight.
  const Entry& weight(const std::string& name) const;
  // The values of one weight, converted to f32. Throws as weight() does.
  std::vector<float> read(const std::string& name) const;

 private:
  void add_file(const std::filesystem::path& file);

  std::filesystem::path path_;
  std::map<std::string, Entry> entries_;
};

struct TensorToWrite {
  std::string name;
  std::vector<std::int64_t> shape;
  std::function<std::vector<float>()> values;  // called once, at its turn
};
// Writes all tensors to one file, under a temporary name and then renamed. f16 is refused, because weights need not fit
// it. Throws EngineError.
void write_safetensors(const std::filesystem::path& file, const std::vector<TensorToWrite>& tensors, WeightType type);

}  // namespace perfbench::engine
