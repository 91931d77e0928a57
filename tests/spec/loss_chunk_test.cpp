#include "workloads/spec/loss_chunk.h"

#include <gtest/gtest.h>

namespace perfbench::spec {
namespace {

TEST(LossChunk, IsTheFieldsDefaultOnACpuWhateverTheVocabulary) {
  for (const std::int64_t vocabulary : {256, 50257, 128256, 100'000'000}) {
    EXPECT_EQ(loss_chunk_tokens_for(Device::cpu, Precision::bf16, LogitsType::fp32, vocabulary), 512);
    EXPECT_EQ(loss_chunk_tokens_for(Device::cpu, Precision::fp32, LogitsType::compute, vocabulary),
              RunSpec{}.loss_chunk_tokens);
  }
}

// Computed by hand, compared with 1 GiB = 1 073 741 824 bytes.
TEST(LossChunk, IsTheMostRowsWhoseLogitsFitAGibibyteOnAGpu) {
  const auto rows = [](Precision precision, std::int64_t vocabulary, LogitsType logits = LogitsType::compute) {
    return loss_chunk_tokens_for(Device::cuda, precision, logits, vocabulary);
  };
  EXPECT_EQ(rows(Precision::bf16, 32'000), 8192);   // 524 288 000 bytes; 16384 rows would save too little
  EXPECT_EQ(rows(Precision::bf16, 50'257), 8192);   //   823 410 688
  EXPECT_EQ(rows(Precision::bf16, 65'536), 8192);   // 1 073 741 824, no more
  EXPECT_EQ(rows(Precision::bf16, 65'537), 4096);   // 8192 rows: 1 073 758 208
  EXPECT_EQ(rows(Precision::bf16, 128'256), 4096);  // 1 050 673 152
  EXPECT_EQ(rows(Precision::fp32, 128'256), 2048);  // 1 050 673 152
  EXPECT_EQ(rows(Precision::tf32, 32'000), 8192);   // 1 048 576 000
  // Six bytes a logit: 8192 rows take 1 572 864 000, 4096 rows half of it.
  EXPECT_EQ(rows(Precision::bf16, 32'000, LogitsType::fp32), 4096);
  EXPECT_EQ(rows(Precision::bf16, 128'256, LogitsType::fp32), 1024);  // 788 004 864
}

TEST(LossChunk, IsNeverLessOnAGpuThanOnACpu) {
  EXPECT_EQ(loss_chunk_tokens_for(Device::cuda, Precision::fp32, LogitsType::compute, 100'000'000), 512);
}

}  // namespace
}  // namespace perfbench::spec
