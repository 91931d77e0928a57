// Prints which version of the shared library the loader found.
#include <cstdio>

#include "tests/harness/app/example_library/library.h"

int main() {
  std::printf("version %d\n", example_library_version());
  return 0;
}
