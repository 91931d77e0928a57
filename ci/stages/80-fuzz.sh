# The readers of what people write, for a bounded time.
set -eu
ci/fuzz.sh 12
