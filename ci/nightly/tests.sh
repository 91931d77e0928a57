#!/usr/bin/env bash
# Every test of perfbench itself, for those who change it: what the fast tier of a change leaves out is found here.
# usage: ci/nightly/tests.sh [--shard I/N]     a night that was interrupted goes on where it was
exec "$(dirname "$(readlink -f "$0")")/../test.sh" --full --resume "$@"
