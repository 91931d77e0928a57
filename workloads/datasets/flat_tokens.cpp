#include "workloads/datasets/flat_tokens.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "workloads/datasets/dataset_error.h"

namespace perfbench::spec {
namespace {

std::filesystem::path checked_split(const std::filesystem::path& dataset, std::string_view split) {
  check_group(dataset);
  auto folder = dataset / split;
  check_group(folder);
  return folder;
}

std::int32_t read_max_token_id(const std::filesystem::path& folder) {
  const auto id = read_integer_attribute(folder, "max_token_id");
  if (id < 0 || id > std::numeric_limits<std::int32_t>::max()) {
    throw DatasetError(folder / ".zattrs", "max_token_id is " + std::to_string(id) + ", not from 0 to 2147483647");
  }
  return static_cast<std::int32_t>(id);
}

}  // namespace

FlatTokens::FlatTokens(const std::filesystem::path& dataset, std::string_view split)
    : folder_(checked_split(dataset, split)),
      max_token_id_(read_max_token_id(folder_)),
      encoded_(folder_ / "encoded_tokens"),
      starts_(folder_ / "seq_starts") {
  if (starts_.size() < 1) throw DatasetError(folder_ / "seq_starts", "is empty; its last element is the token count");
  std::array<std::uint64_t, 1> end{};
  starts_.read(starts_.size() - 1, end);
  if (end[0] != static_cast<std::uint64_t>(tokens())) {
    throw DatasetError(folder_ / "seq_starts", "ends with " + std::to_string(end[0]) + ", but encoded_tokens has " +
                                                   std::to_string(tokens()) + " elements");
  }
}

void FlatTokens::read(std::int64_t begin, std::span<std::uint32_t> out) {
  encoded_.read(begin, out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (token_of(out[i]) <= max_token_id_) continue;
    throw DatasetError(folder_ / "encoded_tokens", "element " + std::to_string(begin + static_cast<std::int64_t>(i)) +
                                                       " is token " + std::to_string(token_of(out[i])) +
                                                       ", above max_token_id " + std::to_string(max_token_id_));
  }
}

std::vector<std::int32_t> FlatTokens::sequence(std::int64_t index, std::int64_t most) {
  std::array<std::uint64_t, 2> range{};
  starts_.read(index, range);
  if (range[0] > range[1] || range[1] > static_cast<std::uint64_t>(tokens())) {
    throw DatasetError(folder_ / "seq_starts", "sequence " + std::to_string(index) + " runs from " +
                                                   std::to_string(range[0]) + " to " + std::to_string(range[1]));
  }
  std::vector<std::uint32_t> encoded(std::min(range[1] - range[0], static_cast<std::uint64_t>(most)));
  read(static_cast<std::int64_t>(range[0]), encoded);
  std::vector<std::int32_t> ids;
  ids.reserve(encoded.size());
  for (const auto e : encoded) ids.push_back(token_of(e));
  return ids;
}

}  // namespace perfbench::spec
