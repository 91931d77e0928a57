#include "workloads/build_info/build_info.h"

#include "git_state.h"

namespace perfbench::build_info {

BuildInfo current() {
  return {.version = PERFBENCH_VERSION,
          .git_commit = PERFBENCH_GIT_COMMIT,
          .git_dirty = PERFBENCH_GIT_DIRTY,
          .compiler = PERFBENCH_COMPILER,
          .compiler_flags = PERFBENCH_COMPILER_FLAGS,
          .build_type = PERFBENCH_BUILD_TYPE};
}

}  // namespace perfbench::build_info
