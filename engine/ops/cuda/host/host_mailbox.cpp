#include "engine/ops/cuda/host/host_mailbox.h"

#include <string>
#include <utility>

#include "engine/cuda/cuda_error.h"

namespace perfbench::engine::cuda {

HostMailbox::HostMailbox() {
  cuda_check(cudaMallocHost(reinterpret_cast<void**>(&shared_), sizeof(Shared)), "cudaMallocHost");
  *shared_ = {.value = 0, .bad_tokens = {kNoBadToken, kNoBadToken}};
}

HostMailbox::~HostMailbox() {
  cudaFreeHost(shared_);
}

BadToken* HostMailbox::bad_token(Reader reader, std::int64_t vocabulary) {
  const auto i = static_cast<int>(reader);
  vocabularies_[i] = vocabulary;
  return &shared_->bad_tokens[i];
}

double HostMailbox::read(const double* on_device, cudaStream_t stream) {
  cuda_check(cudaMemcpyAsync(&shared_->value, on_device, sizeof(double), cudaMemcpyDeviceToHost, stream),
             "cudaMemcpyAsync");
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
  return shared_->value;
}

}  // namespace perfbench::engine::cuda
