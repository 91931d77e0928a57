// A shared library that is built in two versions.
#include "tests/harness/app/example_library/library.h"

int example_library_version() {
  return PERFBENCH_EXAMPLE_VERSION;
}
