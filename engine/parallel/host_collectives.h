// Collectives by groups of ranks on a thread of their own. Knows of a transport as RankGroup only, and so is in every
// build: tests give it other groups.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "engine/parallel/collectives.h"
#include "engine/parallel/communication_thread.h"
#include "engine/parallel/rank_group.h"

namespace perfbench::engine {

// By group, whose ranks all ask for it at the same time; owned by who made them.
using MakeGroup = std::function<RankGroup*(const MeshGroup&)>;

// `make` is called for every group along the declared axes, in one order on all ranks. `thread`, which is not owned, may
// be null where there are no groups.
std::unique_ptr<Collectives> make_host_collectives(const Mesh& mesh, std::span<const AxisSet> declared,
                                                   const MakeGroup& make, CommunicationThread* thread);

}  // namespace perfbench::engine
