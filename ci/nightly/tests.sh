#!/usr/bin/env bash
# Runs every test of perfbench itself, for people who change it. It finds the faults that the fast tier leaves out.
# usage: ci/nightly/tests.sh [--shard I/N]     a night that was interrupted continues where it was
exec "$(dirname "$(readlink -f "$0")")/../test.sh" --full --resume "$@"
