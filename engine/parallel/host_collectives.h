// Collectives between groups of ranks, in line or on a separate thread. It knows a transport only as RankGroup and so
// is in every build; tests pass other groups.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "engine/parallel/collectives.h"
#include "engine/parallel/communication_thread.h"
#include "engine/parallel/messages.h"
#include "engine/parallel/rank_group.h"

namespace perfbench::engine {

// Makes the group of a channel; all its ranks call it at the same time. The maker owns the group.
using MakeGroup = std::function<RankGroup*(const Channel&)>;

// `make` is called for every declared channel, in the same order on all ranks. `background` runs that lane, and
// neighbours exchange `messages`. Neither is owned; they may be null if there are no groups or no rings.
std::unique_ptr<Collectives> make_host_collectives(const Mesh& mesh, std::span<const Declared> declared,
                                                   const MakeGroup& make, CommunicationThread* background,
                                                   Messages* messages);

}  // namespace perfbench::engine
