#include "workloads/datasets/flat_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/datasets/dataset_folder.h"
#include "workloads/datasets/blosc_codec.h"
#include "workloads/datasets/dataset_error.h"
#include "workloads/datasets/flat_tokens_writer.h"

namespace perfbench::spec {
namespace {

using Ids = std::vector<std::int32_t>;

std::vector<std::uint32_t> all_of(FlatTokens& data) {
  std::vector<std::uint32_t> encoded(static_cast<std::size_t>(data.tokens()));
  data.read(0, encoded);
  return encoded;
}

TEST(FlatTokens, TheFormatsOwnExampleIsRead) {
  const DatasetFolder folder("flat-example");
  write_example(folder);
  FlatTokens data(folder.path(), kTrainSplit);
  EXPECT_EQ(data.tokens(), 8);
  EXPECT_EQ(data.sequences(), 3);
  EXPECT_EQ(data.max_token_id(), 8);
  EXPECT_THAT(all_of(data), testing::ElementsAre(3, 4, 7, 8, 10, 13, 14, 16));
  EXPECT_EQ(data.sequence(0), (Ids{1, 2}));
  EXPECT_EQ(data.sequence(1), (Ids{3, 4, 5}));
  EXPECT_EQ(data.sequence(2), (Ids{6, 7, 8}));
}

TEST(FlatTokens, DifferencesAreSummedFromTheStartOfEachChunk) {
  const DatasetFolder folder("flat-delta");
  write_example(folder);
  auto layout = zarray("<u4", 8, 3);
  layout.replace(layout.find(R"("filters": null)"), 15, R"("filters": [{"id": "delta", "dtype": "<u4"}])");
  folder.text("train/encoded_tokens/.zarray", layout);
  folder.chunk<std::uint32_t>("train/encoded_tokens/0", {3, 1, 3});
  folder.chunk<std::uint32_t>("train/encoded_tokens/1", {8, 2, 3});
  folder.chunk<std::uint32_t>("train/encoded_tokens/2", {14, 2, 0xFFFFFFF0U});  // 16 - 16
  FlatTokens data(folder.path(), kTrainSplit);
  EXPECT_THAT(all_of(data), testing::ElementsAre(3, 4, 7, 8, 10, 13, 14, 16));
}

TEST(FlatTokens, ReadsWhatItWrote) {
  const DatasetFolder folder("flat-written");
  const std::vector<Ids> sequences{{5}, {2147483647, 0, 7}, Ids(1000, 3), {1, 2}};
  {
    FlatTokensWriter writer({.dataset = folder.path(), .max_token_id = 2147483647, .chunk_elements = 64});
    for (const auto& ids : sequences) writer.append(Split::train, ids);
    EXPECT_FALSE(std::filesystem::exists(folder.path())) << "visible before it is whole";
    writer.finish();
  }
  FlatTokens data(folder.path(), kTrainSplit);
  ASSERT_EQ(data.sequences(), 4);
  EXPECT_EQ(data.tokens(), 1006);
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    EXPECT_EQ(data.sequence(static_cast<std::int64_t>(i)), sequences[i]);
  }
  FlatTokens validation(folder.path(), kValidationSplit);
  EXPECT_EQ(validation.tokens(), 0);
  EXPECT_EQ(validation.sequences(), 0);
}

TEST(FlatTokens, TheWriterRefusesWhatTheFormatCannotHold) {
  const DatasetFolder folder("flat-refused");
  {
    FlatTokensWriter writer({.dataset = folder.path(), .max_token_id = 3});
    EXPECT_THROW(writer.append(Split::train, Ids{4}), DatasetError);
    EXPECT_THROW(writer.append(Split::train, Ids{-1}), DatasetError);
    EXPECT_THROW(writer.append(Split::train, Ids{}), DatasetError);
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path())) << "an abandoned data set stays invisible";
  folder.text("something", "here");
  EXPECT_THROW(FlatTokensWriter({.dataset = folder.path(), .max_token_id = 3}), DatasetError);
}

TEST(FlatTokens, CompressedChunksAreSmall) {
  if (blosc_support() == BloscSupport::absent) GTEST_SKIP() << "built without Blosc";
  const DatasetFolder folder("flat-small");
  FlatTokensWriter writer({.dataset = folder.path(), .max_token_id = 9, .chunk_elements = 65536});
  writer.append(Split::train, Ids(65536, 9));
  writer.finish();
  EXPECT_LT(std::filesystem::file_size(folder.path() / "train/encoded_tokens/0"), 4096U);
}

}  // namespace
}  // namespace perfbench::spec
