#include "harness/transfer/zstd_stream.h"

#include <zstd.h>

#include <memory>

namespace perfbench::harness {
namespace {

struct FreeCompressor {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};
struct FreeDecompressor {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

std::size_t check(std::size_t code) {
  if (ZSTD_isError(code) != 0) throw ZstdError(std::string("zstd: ") + ZSTD_getErrorName(code));
  return code;
}

}  // namespace

void zstd_compress(const ByteSource& source, const ByteSink& sink) {
  const std::unique_ptr<ZSTD_CCtx, FreeCompressor> context(ZSTD_createCCtx());
  std::string out(ZSTD_CStreamOutSize(), '\0');
  std::string in;
  bool done = false;
  while (!done) {
    source(in);
    const auto mode = in.empty() ? ZSTD_e_end : ZSTD_e_continue;
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    bool taken = false;  // all of `in`, and at the end all that was held back
    while (!taken) {
      ZSTD_outBuffer output{out.data(), out.size(), 0};
      const auto left = check(ZSTD_compressStream2(context.get(), &output, &input, mode));
      sink({out.data(), output.pos});
      taken = mode == ZSTD_e_end ? left == 0 : input.pos == input.size;
    }
    done = mode == ZSTD_e_end;
  }
}

void zstd_decompress(const ByteSource& source, const ByteSink& sink) {
  const std::unique_ptr<ZSTD_DCtx, FreeDecompressor> context(ZSTD_createDCtx());
  std::string out(ZSTD_DStreamOutSize(), '\0');
  std::string in;
  std::size_t wanted = 1;  // 0 at the end of the frame
  for (source(in); !in.empty(); source(in)) {
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    bool more = true;  // of `in`, or of what one buffer of output had no room for
    while (more) {
      if (wanted == 0 && input.pos < input.size) throw ZstdError("zstd: something follows the frame");
      ZSTD_outBuffer output{out.data(), out.size(), 0};
      wanted = check(ZSTD_decompressStream(context.get(), &output, &input));
      sink({out.data(), output.pos});
      more = input.pos < input.size || (output.pos == output.size && wanted != 0);
    }
  }
  if (wanted != 0) throw ZstdError("zstd: the frame has no end");
}

}  // namespace perfbench::harness
