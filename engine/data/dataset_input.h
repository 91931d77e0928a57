// A data set that cannot be used is bad input of a run.
#pragma once

#include "engine/core/error.h"
#include "workloads/datasets/dataset_error.h"

namespace perfbench::engine {

// What `read` returns. Throws BadInput for its DatasetError.
template <class Read>
auto from_dataset(const Read& read) {
  try {
    return read();
  } catch (const spec::DatasetError& e) {
    throw BadInput(e.what());
  }
}

}  // namespace perfbench::engine
