#include "engine/data/token_source.h"

#include "engine/core/error.h"

namespace perfbench::engine {

void TokenSource::read_document_starts(const BatchPlace&, std::span<std::int32_t>) {
  throw LogicFault("a source without packed rows cannot give the documents in them");
}

}  // namespace perfbench::engine
