// Rules across fields, which a field's own range cannot state.
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

// A contradiction in what was asked. Throws SpecError with the pointer of the field to change: heads that do not
// divide, an unknown remat policy, a batch that does not divide over the mesh, a sequence longer than the position
// table.
void validate(const ModelSpec& model);
void validate(const MeshSpec& mesh);
void validate(const RunSpec& run);

// A sound request that this engine has no kernels or collectives for; nothing if it can run. Such a cell is recorded as
// infeasible with this reason.
std::optional<std::string> unsupported(const RunSpec& run);

}  // namespace perfbench::spec
