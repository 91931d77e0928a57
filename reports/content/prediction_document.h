// Predictions of published rows and of cells, and the scores of the former, as tables.
#pragma once

#include <string>
#include <vector>

#include "harness/app/runs/predicted_cells.h"
#include "harness/app/runs/predictor_scores.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// The score table, and the rows that cannot be predicted with their reasons.
void add_scores(Document& out, const harness::PredictorScores& scores);

// Every row of the computed splits once for a split, with its interval and the parts of its step.
void add_predicted_rows(Document& out, const harness::PredictorScores& scores);

// Every cell with its interval, rates and the parts of its step, or why it is not predicted.
void add_predicted_cells(Document& out, const harness::PredictedCells& cells);

// `missed` is empty if all expectations are met.
void add_gate(Document& out, const std::vector<std::string>& missed);

}  // namespace perfbench::reports
