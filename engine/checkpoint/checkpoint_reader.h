// Reads the values of a checkpoint by parameter, whichever ranks wrote them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/checkpoint/checkpoint_files.h"
#include "engine/checkpoint/element_places.h"
#include "engine/core/dtype.h"

namespace perfbench::engine {

class CheckpointReader {
 public:
  explicit CheckpointReader(CheckpointContents contents);
  CheckpointReader(const CheckpointReader&) = delete;
  CheckpointReader& operator=(const CheckpointReader&) = delete;

  struct Values {
    DType dtype = DType::f32;
    std::vector<std::byte> bytes;  // of places.count elements, in the order of `places`
  };
  // Throws BadInput if the checkpoint lacks some of the elements, or if they are damaged.
  Values read(const std::string& parameter, spec::CheckpointedState state, const ElementPlaces& places) const;
  // The number of elements of a parameter, 0 if the checkpoint does not have it.
  std::int64_t elements(const std::string& parameter, spec::CheckpointedState state) const;
  // Weights imported from other formats have no moments.
  bool has_moments() const { return has_moments_; }
  const CheckpointContents& contents() const { return contents_; }

 private:
  struct Saved {
    std::int64_t rank = 0;
    const spec::CheckpointPart* part = nullptr;
  };

  CheckpointContents contents_;
  std::map<std::pair<std::string, spec::CheckpointedState>, std::vector<Saved>> parts_;
  bool has_moments_ = false;
};

}  // namespace perfbench::engine
