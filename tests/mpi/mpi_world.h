// The processes of this test run, created once by main.
#pragma once

#include "engine/parallel/processes.h"

namespace perfbench::engine {

Processes& world();

}  // namespace perfbench::engine
