// Collectives by groups of ranks, in line or on a thread of their own. Knows of a transport as RankGroup only, and so
// is in every build: tests give it other groups.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "engine/parallel/collectives.h"
#include "engine/parallel/communication_thread.h"
#include "engine/parallel/messages.h"
#include "engine/parallel/rank_group.h"

namespace perfbench::engine {

// A channel's ranks, who all ask for it at the same time; owned by who made them.
using MakeGroup = std::function<RankGroup*(const Channel&)>;

// `make` is called for every channel of what is declared, in one order on all ranks. `background` runs that lane, and
// neighbours exchange `messages`; they are not owned, and may be null where there are no groups, and no rings.
std::unique_ptr<Collectives> make_host_collectives(const Mesh& mesh, std::span<const Declared> declared,
                                                   const MakeGroup& make, CommunicationThread* background,
                                                   Messages* messages);

}  // namespace perfbench::engine
