// Collectives by groups of ranks on a thread of their own. Knows of a transport as RankGroup only, and so is in every
// build: tests give it other groups.
#pragma once

#include <map>
#include <memory>
#include <span>

#include "engine/parallel/collectives.h"
#include "engine/parallel/communication_thread.h"
#include "engine/parallel/rank_group.h"

namespace perfbench::engine {

// Every group along the declared axes.
using RankGroups = std::map<MeshGroup, RankGroup*>;

// Neither owns `thread` (nullptr when there are no groups) nor the groups.
std::unique_ptr<Collectives> make_host_collectives(const Mesh& mesh, std::span<const AxisSet> declared,
                                                   RankGroups groups, CommunicationThread* thread);

}  // namespace perfbench::engine
