// Damaged data sets give an error that names the file, and never a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/datasets/dataset_folder.h"
#include "workloads/datasets/dataset_error.h"
#include "workloads/datasets/flat_tokens_writer.h"

namespace perfbench::spec {
namespace {

void read_all(const DatasetFolder& folder) {
  FlatTokens data(folder.path(), kTrainSplit);
  std::vector<std::uint32_t> encoded(16);
  for (std::int64_t at = 0; at < data.tokens(); at += 16) {
    encoded.resize(static_cast<std::size_t>(std::min<std::int64_t>(16, data.tokens() - at)));
    data.read(at, encoded);
  }
}

std::string error_of(const DatasetFolder& folder) {
  try {
    read_all(folder);
  } catch (const DatasetError& e) {
    return e.what();
  }
  return "";
}

struct Damage {
  std::string file;
  std::string content;
  std::string complaint;
};

TEST(DamagedFlatTokens, EachIsNamedWithItsFile) {
  const std::string tokens = "train/encoded_tokens/";
  const std::vector<Damage> all{
      {".zgroup", "", "not JSON"},
      {".zgroup", "[]", "not a JSON object"},
      {".zgroup", R"({"zarr_format": 3})", "zarr_format is 3"},
      {"train/.zattrs", "{}", "has no 'max_token_id'"},
      {"train/.zattrs", R"({"max_token_id": "8"})", "not an integer"},
      {"train/.zattrs", R"({"max_token_id": -1})", "max_token_id is -1"},
      {"train/.zattrs", R"({"max_token_id": 18446744073709551615})", "not an integer"},
      {"train/.zattrs", R"({"max_token_id": 7})", "token 8, above max_token_id 7"},
      {tokens + ".zarray", zarray("<i4", 8, 3), "not \"<u4\""},
      {tokens + ".zarray", zarray("<u4", 8, 0), "chunks is [0]"},
      {tokens + ".zarray", zarray("<u4", -8, 3), "shape is [-8]"},
      {tokens + ".zarray", zarray("<u4", 8, 2000000000), "chunks is [2000000000]"},
      {tokens + ".zarray", zarray("<u4", 8, 4), "cut off"},
      {tokens + "1", "short", "cut off"},
      {tokens + "1", std::string(1000, 'x'), "more than the 12"},
      {"train/seq_starts/.zarray", zarray("<u8", 0, 4), "is empty"},
      {"train/seq_starts/.zarray", zarray("<u8", 3, 4), "ends with 5"},
  };
  for (const auto& damage : all) {
    const DatasetFolder folder("flat-damaged");
    write_example(folder);
    ASSERT_EQ(error_of(folder), "");
    folder.text(damage.file, damage.content);
    const auto error = error_of(folder);
    EXPECT_THAT(error, testing::HasSubstr(damage.complaint)) << damage.file << " of " << damage.content;
    EXPECT_THAT(error, testing::StartsWith(folder.path().string())) << damage.complaint;
  }
}

TEST(DamagedFlatTokens, AMissingFileIsNamed) {
  for (const std::string file : {".zgroup", "train/.zgroup", "train/.zattrs", "train/encoded_tokens/.zarray",
                                 "train/encoded_tokens/1", "train/seq_starts/0"}) {
    const DatasetFolder folder("flat-missing");
    write_example(folder);
    std::filesystem::remove(folder.path() / file);
    EXPECT_THAT(error_of(folder), testing::StartsWith((folder.path() / file).string() + ": "));
  }
}

// Flipped bits and missing bytes in compressed chunks: an error or other tokens, depending on the library.
TEST(DamagedFlatTokens, FlippedBitsNeverCrash) {
  const DatasetFolder folder("flat-flipped");
  std::mt19937 random(7);
  {
    FlatTokensWriter writer({.dataset = folder.path(), .max_token_id = 255, .chunk_elements = 512});
    std::vector<std::int32_t> ids(600);
    for (auto& id : ids) id = static_cast<std::int32_t>(random() % 256);
    writer.append(Split::train, ids);
    writer.finish();
  }
  int errors = 0;
  for (const std::string file : {"train/encoded_tokens/0", "train/seq_starts/0", "train/encoded_tokens/.zarray"}) {
    const std::string whole = folder.read(file);
    for (int i = 0; i < 300; ++i) {
      auto damaged = whole;
      const auto at = random() % damaged.size();
      if (i % 3 == 0) {
        damaged.resize(at);
      } else {
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
      }
      folder.text(file, damaged);
      if (!error_of(folder).empty()) ++errors;
    }
    folder.text(file, whole);
  }
  EXPECT_GE(errors, 300) << "at least every cut one";
  EXPECT_EQ(error_of(folder), "");
}

}  // namespace
}  // namespace perfbench::spec
