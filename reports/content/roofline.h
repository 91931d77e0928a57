// The rates of the operations of a traced step, beside the limits of their device.
#pragma once

#include "harness/app/runs/traced_roofline.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// A chart of FLOP/s by FLOP per byte for operations with matrix products, a chart of bytes/s for the others, and a
// table of all. A note in their place if there are no rates.
void add_roofline(Document& out, const harness::TracedRoofline& roofline);

}  // namespace perfbench::reports
