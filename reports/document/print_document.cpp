#include "reports/document/print_document.h"

#include "reports/format/print.h"

namespace perfbench::reports {

void print_document(std::FILE* out, const Document& document, DocumentFormat format, const TextLayout& layout) {
  const auto text = render(document, format, layout);
  if (format == DocumentFormat::text && layout.colour) return print_coloured(out, text);
  print_text(out, text);
}

}  // namespace perfbench::reports
