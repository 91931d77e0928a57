// The substitute for sentencepiece_tokenizer.cpp in builds without the library.
#include "harness/app/data/tokenizer.h"
#include "harness/system/input_error.h"

namespace perfbench::harness {

std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(const std::filesystem::path& model) {
  throw InputError("[data] " + model.string() +
                   " needs SentencePiece, which this build lacks; install libsentencepiece-dev and build again");
}

}  // namespace perfbench::harness
