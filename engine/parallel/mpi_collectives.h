// Collectives by groups of ranks on a thread of their own. Knows MPI as RankGroup only, and so is in every build: tests
// give it other groups.
#pragma once

#include <map>
#include <memory>

#include "engine/parallel/collectives.h"
#include "engine/parallel/communication_thread.h"
#include "engine/parallel/rank_group.h"

namespace perfbench::engine {

// The groups of the axes that have more than one rank.
using AxisGroups = std::map<MeshAxis, RankGroup*>;

// Neither owns `thread` (nullptr when there are no groups) nor the groups.
std::unique_ptr<Collectives> make_mpi_collectives(const Mesh& mesh, AxisGroups groups, CommunicationThread* thread);

}  // namespace perfbench::engine
