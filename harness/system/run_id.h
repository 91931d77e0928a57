// The identity of a run: what it computes, independent of time and place.
#pragma once

#include <string>

#include "harness/system/sha256.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::harness {

// sha256_hex of the canonical JSON of `run`.
std::string run_id(const spec::RunSpec& run);

}  // namespace perfbench::harness
