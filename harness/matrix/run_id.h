// The identity of a run: what it computes, not when or where.
#pragma once

#include <string>
#include <string_view>

#include "workloads/spec/run_spec.h"

namespace perfbench::harness {

// SHA-256 (FIPS 180-4) of `bytes` as 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

// sha256_hex of the canonical JSON of `run`.
std::string run_id(const spec::RunSpec& run);

}  // namespace perfbench::harness
