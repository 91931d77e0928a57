// Definitions that engine/ops/cuda/device/launch.cuh includes if nvcc is not the compiler.
#pragma once

#include "tests/engine/emulation/device_code.h"
#include "tests/engine/emulation/launch.h"
#include "tests/engine/emulation/shared_memory.h"
