#include "engine/parallel/cuda/own_gpus.h"

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/error.h"

namespace perfbench::engine {
namespace {

// The identity of a GPU as ranks tell it to each other: text, then zeros.
using Told = std::array<char, 64>;

std::string list_of(const std::vector<std::size_t>& ranks) {
  std::string list;
  for (const auto rank : ranks) list += (list.empty() ? "" : ", ") + std::to_string(rank);
  return list;
}

}  // namespace

void require_own_gpus(const CudaDevice& device, Processes& processes) {
  Told own{};
  device.uuid().copy(own.data(), own.size() - 1);
  std::vector<Told> all(static_cast<std::size_t>(processes.size()));
  processes.all_gather(std::as_writable_bytes(std::span(all)), std::as_bytes(std::span(own)));
  std::map<std::string, std::vector<std::size_t>> ranks_of;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const std::string_view told(all[rank].data(), all[rank].size());
    const std::string uuid(told.substr(0, told.find('\0')));
    if (!uuid.empty()) ranks_of[uuid].push_back(rank);
  }
  for (const auto& [uuid, ranks] : ranks_of) {
    if (ranks.size() == 1) continue;
    throw EngineError(EngineExit::infeasible,
                      "device cuda: each rank needs a GPU of its own, found ranks " + list_of(ranks) + " on one, " +
                          uuid +
                          "; let all ranks of a node see all of its GPUs, or each another one "
                          "(CUDA_VISIBLE_DEVICES; srun --gpus-per-task=1), and start no more ranks than GPUs");
  }
}

}  // namespace perfbench::engine
