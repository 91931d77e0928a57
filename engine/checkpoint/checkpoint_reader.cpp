#include "engine/checkpoint/checkpoint_reader.h"

#include <cstring>

#include "engine/core/error.h"

namespace perfbench::engine {
namespace {

[[noreturn]] void lacks(const CheckpointContents& contents, const std::string& parameter, spec::CheckpointedState state,
                        std::int64_t elements) {
  throw BadInput("checkpoint: " + contents.folder.string() + " lacks " + std::to_string(elements) + " elements of " +
                 parameter + " (" + std::string(spec::enum_name(state)) + ")");
}

}  // namespace

CheckpointReader::CheckpointReader(CheckpointContents contents) : contents_(std::move(contents)) {
  for (const auto& shard : contents_.shards) {
    for (const auto& part : shard.parts) {
      parts_[{part.parameter, part.state}].push_back({shard.rank, &part});
      has_moments_ = has_moments_ || part.state != spec::CheckpointedState::weight;
    }
  }
}

std::int64_t CheckpointReader::elements(const std::string& parameter, spec::CheckpointedState state) const {
  std::int64_t count = 0;
  const auto found = parts_.find({parameter, state});
  if (found == parts_.end()) return count;
  for (const auto& saved : found->second) count += saved.part->count;
  return count;
}

CheckpointReader::Values CheckpointReader::read(const std::string& parameter, spec::CheckpointedState state,
                                                const ElementPlaces& places) const {
  const auto found = parts_.find({parameter, state});
  if (found == parts_.end()) lacks(contents_, parameter, state, places.count);
  Values out{.dtype = named_dtype(found->second.front().part->dtype).value_or(DType::f32), .bytes = {}};
  const std::int64_t element = size_bytes(out.dtype);
  out.bytes.resize(static_cast<std::size_t>(places.count * element));
  std::int64_t missing = places.count;
  for (const auto& [rank, part] : found->second) {
    const ElementPlaces saved{part->first, part->run, part->stride, part->skip, part->count};
    if (common_elements(saved, places) == 0) continue;
    const auto bytes = read_part(contents_, rank, *part);
    for_each_common(saved, places, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
      std::memcpy(out.bytes.data() + to * element, bytes.data() + from * element,
                  static_cast<std::size_t>(count * element));
      missing -= count;
    });
  }
  if (missing != 0) lacks(contents_, parameter, state, missing);
  return out;
}

}  // namespace perfbench::engine
