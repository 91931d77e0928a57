// The bar for a predictor: constant utilisation, taken from other rows. MFU counts model FLOPs with non-causal
// attention, as most sources do. HFU also counts recomputed ones.
#pragma once

#include "harness/predict/calibration.h"

namespace perfbench::predict {

enum class UtilisationKind { mfu, hfu };

// FLOPs of a step on one device over its peak in the run's precision, seconds.
double ideal_seconds(const TrainingSetup& setup, UtilisationKind kind);

// The step time at the geometric mean of the utilisation of the training rows with the same architecture and precision;
// if there are none, of those with the same architecture; else of all. NaN without training rows.
double constant_utilisation_step_s(const Samples& training, const PublishedCase& row, UtilisationKind kind);

}  // namespace perfbench::predict
