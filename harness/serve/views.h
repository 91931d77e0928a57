// The pages of a server: the documents of the commands, by address.
#pragma once

#include "harness/app/installation.h"
#include "harness/serve/guards.h"
#include "harness/store/database.h"
#include "reports/render/document/document.h"
#include "reports/render/document/render.h"
#include "reports/views/run_views.h"

namespace perfbench::harness {

// Overview, report, runs, history and alerts: the pages to which every page links.
const reports::Site& site();

// Throws InputError for an unknown address, and if the store does not have what the address asks for. A report of all
// sweeps is refused: for a large store it would take minutes, in which no other request gets an answer.
reports::Document view(const Connection& db, const ViewRequest& request, const Installation& installation,
                       reports::MemoryCounts& counts);

}  // namespace perfbench::harness
