#include "engine/data/token_source.h"

#include "engine/core/error.h"

namespace perfbench::engine {

void TokenSource::read_document_starts(const BatchPlace&, std::span<std::int32_t>) {
  throw LogicFault("a source whose rows are not packed was asked for the documents in them");
}

}  // namespace perfbench::engine
