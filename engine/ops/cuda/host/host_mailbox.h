// Values that the device sends to the host: a few numbers, and token ids outside the vocabulary. Kernels cannot throw,
// and the host waits for the device only where it reads a value, so a bad token becomes an error there.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "engine/ops/ops.h"

namespace perfbench::engine::cuda {

// The kernels' side, in pinned memory that the device writes: the lowest bad row, with its token in the low half.
using BadToken = unsigned long long;
inline constexpr BadToken kNoBadToken = ~BadToken{0};

class HostMailbox {
 public:
  enum class Reader { embedding, cross_entropy };

  HostMailbox();
  ~HostMailbox();
  HostMailbox(const HostMailbox&) = delete;
  HostMailbox& operator=(const HostMailbox&) = delete;

  // Where a kernel reports a token that is not below `vocabulary`.
  BadToken* bad_token(Reader reader, std::int64_t vocabulary);
  // The values at `on_device` when the stream reaches this point; waits for them. Throws BadInput if an earlier kernel
  // reported a token.
  void read(std::span<double> to, const double* on_device, cudaStream_t stream);

 private:
  static constexpr int kReaders = 2;
  struct Shared {
    double values[kQuicklyReadValues];
    BadToken bad_tokens[kReaders];
  };

  Shared* shared_ = nullptr;
  std::int64_t vocabularies_[kReaders] = {};
};

}  // namespace perfbench::engine::cuda
