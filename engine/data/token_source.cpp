#include "engine/data/token_source.h"

#include "engine/core/error.h"

namespace perfbench::engine {

std::unique_ptr<TokenSource> make_token_source(const spec::RunSpec& run) {
  switch (run.data.kind) {
    case spec::DataKind::synthetic:
      return make_synthetic_tokens(run);
    case spec::DataKind::flat_tokens:
      return make_flat_tokens(run);
    case spec::DataKind::instruction:
      return make_instruction_tokens(run);
  }
  throw LogicFault("a kind of data without a source");
}

}  // namespace perfbench::engine
