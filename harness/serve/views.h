// What a server shows of a database: the documents of the commands, by address.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "harness/app/installation.h"
#include "harness/sqlite/sqlite.h"
#include "reports/document/document.h"
#include "reports/document/render.h"

namespace perfbench::harness {

struct ViewRequest {
  std::string path;                                    // "/run/3f09ac12d4e5"
  std::map<std::string, std::string> parameters = {};  // "?matrix=llama", decoded
};

// Overview, report, runs, history and alerts: what every page leads to.
const reports::Site& site();

// Nothing for an address that is none. Throws InputError for what an address asks for and the store does not have.
// A report of all sweeps is refused: it would take minutes of a large store, in which nobody else gets an answer.
std::optional<reports::Document> view(const Connection& db, const ViewRequest& request,
                                      const Installation& installation);

}  // namespace perfbench::harness
