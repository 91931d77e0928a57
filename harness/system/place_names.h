// The templates of a program that are filled in when it starts. They are not part of a run's identity.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace perfbench::harness {

// cwd: the folder in which perfbench was started. python: an interpreter. repo: the program's repository. run_dir: the
// attempt's folder.
inline constexpr std::array<std::string_view, 4> kPlaceNames{"cwd", "python", "repo", "run_dir"};

inline bool is_place_name(std::string_view name) {
  return std::find(kPlaceNames.begin(), kPlaceNames.end(), name) != kPlaceNames.end();
}

}  // namespace perfbench::harness
