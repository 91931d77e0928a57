# The checks of .clang-tidy on what is shipped and the headers it includes. Tests are held to the compiler's warnings.
set -eu
ci/tidy.py build/cpu engine harness reports workloads
