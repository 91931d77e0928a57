// nvcuda::wmma, the warps' matrix products on tensor cores.
#pragma once

#include <mma.h>

namespace perfbench::engine::cuda {

namespace wmma = nvcuda::wmma;

}  // namespace perfbench::engine::cuda
