#pragma once

#include <cstdio>

#include "reports/document/document.h"
#include "reports/document/render.h"

namespace perfbench::reports {

// A document in a format, through print.h.
void print_document(std::FILE* out, const Document& document, DocumentFormat format, const TextLayout& layout = {});

}  // namespace perfbench::reports
