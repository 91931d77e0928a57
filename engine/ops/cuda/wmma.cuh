// nvcuda::wmma, the warps' matrix products on tensor cores, or its emulation.
#pragma once

#if defined(__CUDACC__)
#include <mma.h>
#else
#include "tests/engine/emulation/wmma.h"
#endif

namespace perfbench::engine::cuda {

namespace wmma = nvcuda::wmma;

}  // namespace perfbench::engine::cuda
