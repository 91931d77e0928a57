#include "engine/ops/cuda/host/host_mailbox.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/cuda/cuda_error.h"

namespace perfbench::engine::cuda {

HostMailbox::HostMailbox() {
  cuda_check(cudaMallocHost(reinterpret_cast<void**>(&shared_), sizeof(Shared)), "cudaMallocHost");
  *shared_ = {.values = {}, .bad_tokens = {kNoBadToken, kNoBadToken}};
}

HostMailbox::~HostMailbox() {
  cudaFreeHost(shared_);
}

BadToken* HostMailbox::bad_token(Reader reader, std::int64_t vocabulary) {
  const auto i = static_cast<int>(reader);
  vocabularies_[i] = vocabulary;
  return &shared_->bad_tokens[i];
}

void HostMailbox::read(std::span<double> to, const double* on_device, cudaStream_t stream) {
  const bool pinned = to.size() <= kQuicklyReadValues;
  double* const values = pinned ? shared_->values : to.data();
  cuda_check(cudaMemcpyAsync(values, on_device, to.size_bytes(), cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
  cuda_check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  for (const auto reader : {Reader::embedding, Reader::cross_entropy}) {
    const auto i = static_cast<int>(reader);
    const BadToken found = std::exchange(shared_->bad_tokens[i], kNoBadToken);
    if (found == kNoBadToken) continue;
    const bool embedding = reader == Reader::embedding;
    throw BadInput(std::string(embedding ? "embedding: token " : "cross entropy: target ") +
                   std::to_string(static_cast<std::int32_t>(found & 0xFFFFFFFFU)) + " at position " +
                   std::to_string(found >> 32) + " of the batch is outside the vocabulary of " +
                   std::to_string(vocabularies_[i]) + "; does the data set belong to this model's tokenizer?");
  }
  if (pinned) std::copy_n(values, to.size(), to.begin());
}

}  // namespace perfbench::engine::cuda
