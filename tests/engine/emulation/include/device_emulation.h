// What engine/ops/cuda/device/launch.cuh asks the include path for where nvcc is not what compiles it.
#pragma once

#include "tests/engine/emulation/device_code.h"
#include "tests/engine/emulation/launch.h"
#include "tests/engine/emulation/shared_memory.h"
