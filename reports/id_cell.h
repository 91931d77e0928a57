#pragma once

#include <string>

#include "reports/document/document.h"

namespace perfbench::reports {

// The first digits of an id or a digest; all of it for programs. Empty: not known.
Cell id_cell(const std::string& id);

}  // namespace perfbench::reports
