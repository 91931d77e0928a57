// Reports a data set that cannot be used as bad input of the run.
#pragma once

#include "engine/core/error.h"
#include "workloads/datasets/dataset_error.h"

namespace perfbench::engine {

// Returns the result of `read`. Turns its DatasetError into a BadInput.
template <class Read>
auto from_dataset(const Read& read) {
  try {
    return read();
  } catch (const spec::DatasetError& e) {
    throw BadInput(e.what());
  }
}

}  // namespace perfbench::engine
