// The monthly search for a slow creep, which no two nights show: pairs with code that stays the same.
#pragma once

#include "harness/app/night/earlier_code.h"
#include "harness/app/night/night_pairs.h"

namespace perfbench::harness {

// If a month has passed since the last one: pairs of all cells of tonight with the control or, for a training program,
// with the oldest commit of its nights; after an improvement, with the improved code. Adds what crept to the findings,
// which already have tonight's, and notes.
void check_for_creep(const SoFar& so_far, EarlierCodes& codes, Confirmed& out);

}  // namespace perfbench::harness
