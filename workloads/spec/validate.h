// Rules across fields, which the range of a single field cannot express.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace perfbench::spec {

struct MeshSpec;
struct ModelSpec;
struct RunSpec;

// Ranks are counted in 64 bits everywhere; a larger product of axes is a mistake.
inline constexpr std::int64_t kMostDevices = 10'000'000;

// Checks the request for contradictions. Throws SpecError with the pointer of the field to change: heads that do not
// divide, an unknown remat policy, a batch that does not divide over the mesh, a sequence longer than the position
// table.
void validate(const ModelSpec& model);
void validate(const MeshSpec& mesh);
void validate(const RunSpec& run);

// The reason why this engine cannot run a valid request, because it has no kernels or collectives for it; absent if it
// can run. Such a cell is recorded as infeasible with this reason.
std::optional<std::string> unsupported(const RunSpec& run);

}  // namespace perfbench::spec
