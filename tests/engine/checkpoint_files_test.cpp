// The files of checkpoints: when a checkpoint is whole, which ones are kept, and how damage is handled.
#include "engine/checkpoint/checkpoint_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engine/core/error.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/scratch_folder.h"

namespace perfbench::engine {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CheckpointFiles : public testing::Test {
 protected:
  // Writes `elements` f32 with the value of the rank.
  void write_rank(std::int64_t step, std::int64_t rank, std::int64_t elements = 100) {
    const std::vector<float> values(static_cast<std::size_t>(elements), static_cast<float>(rank));
    write_shard(folder(), step, rank,
                {{{.parameter = "w",
                   .dtype = "f32",
                   .first = rank * elements,
                   .run = elements,
                   .stride = elements,
                   .count = elements},
                  [&values] { return std::as_bytes(std::span(values)); }}});
  }
  void save(std::int64_t step, std::int64_t keep = 9) {
    for (std::int64_t rank = 0; rank < 2; ++rank) write_rank(step, rank);
    complete(step, keep);
  }
  std::int64_t complete(std::int64_t step, std::int64_t keep = 9) {
    return complete_checkpoint(folder(), {.step = step, .ranks = 2, .model = gpt_tiny().model}, keep, stop_);
  }
  std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> out;
    for (const auto& found : whole_checkpoints(folder())) out.push_back(found.step);
    return out;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder())) out.push_back(entry.path().filename().string());
    return out;
  }
  fs::path folder() const { return scratch_ / "checkpoints"; }
  fs::path file(std::int64_t step, const std::string& name) const {
    return folder() / ("step_0000000" + std::to_string(step)) / name;
  }
  static void change_byte(const fs::path& path, std::int64_t at) {
    std::fstream stream(path, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(at);
    const char byte = static_cast<char>(stream.get() ^ 1);
    stream.seekp(at);
    stream.put(byte);
  }
  std::string trouble_of_reading() const {
    try {
      const auto contents = read_contents(find_checkpoint(folder()));
      for (const auto& shard : contents.shards) {
        for (const auto& part : shard.parts) read_part(contents, shard.rank, part);
      }
    } catch (const BadInput& e) {
      return e.what();
    }
    return "";
  }

  ScratchFolder scratch_;
  std::atomic<bool> stop_ = false;
};

TEST_F(CheckpointFiles, AreWholeOnceEveryRankHasWritten) {
  EXPECT_THAT(steps(), IsEmpty());
  write_rank(4, 1);
  EXPECT_THAT(steps(), IsEmpty());
  write_rank(4, 0);
  EXPECT_THAT(steps(), IsEmpty());
  EXPECT_EQ(complete(4), 2 * 100 * 4);
  EXPECT_THAT(steps(), ElementsAre(4));
  EXPECT_THAT(names(), ElementsAre("step_00000004"));
  const auto contents = read_contents(find_checkpoint(folder()));
  EXPECT_EQ(contents.manifest.step, 4);
  ASSERT_EQ(contents.shards.size(), 2U);
  const auto bytes = read_part(contents, 1, contents.shards[1].parts.front());
  ASSERT_EQ(bytes.size(), 400U);
  EXPECT_EQ(reinterpret_cast<const float*>(bytes.data())[99], 1.0F);
}

TEST_F(CheckpointFiles, WaitingForARankEndsWhenTheRunDoes) {
  write_rank(4, 0);
  stop_ = true;
  EXPECT_EQ(complete(4), 0);
  EXPECT_THAT(steps(), IsEmpty());
}

TEST_F(CheckpointFiles, OnlyTheNewestAreKept) {
  for (const std::int64_t step : {1, 2, 3}) save(step, 2);
  EXPECT_THAT(steps(), ElementsAre(2, 3));
  EXPECT_EQ(names().size(), 2U);  // and no other
  save(4, 1);
  EXPECT_THAT(steps(), ElementsAre(4));
}

TEST_F(CheckpointFiles, AreFoundByTheirOwnOrTheirParentFolder) {
  save(2);
  save(5);
  EXPECT_EQ(find_checkpoint(folder()).step, 5);
  EXPECT_EQ(find_checkpoint(file(2, "")).step, 2);
  EXPECT_EQ(find_checkpoint(folder() / "step_00000002").step, 2);
  try {
    find_checkpoint(scratch_ / "nothing");
    FAIL();
  } catch (const BadInput& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("no checkpoint found in"), HasSubstr("nothing"), HasSubstr("step_00000120")));
  }
  fs::rename(folder() / "step_00000005", folder() / "step_00000005.partial");
  EXPECT_EQ(find_checkpoint(folder()).step, 2);
  EXPECT_THROW(find_checkpoint(folder() / "step_00000005.partial"), BadInput);
}

TEST_F(CheckpointFiles, AnUnfinishedCheckpointIsRemoved) {
  save(2);
  write_rank(3, 0);
  std::ofstream(folder() / "notes.txt") << "somebody's";
  const CheckpointFolder claim(folder(), 2);
  EXPECT_THAT(names(), testing::UnorderedElementsAre("step_00000002", "notes.txt"));
}

TEST_F(CheckpointFiles, ACheckpointOfALaterStepIsRefused) {
  save(5);
  { const CheckpointFolder claim(folder(), 5); }
  try {
    const CheckpointFolder claim(folder(), 4);
    FAIL();
  } catch (const BadInput& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("step_00000005 is from a later step"), HasSubstr("checkpoint.restore")));
  }
}

TEST_F(CheckpointFiles, TwoRunsDoNotSaveIntoOneFolder) {
  {
    const CheckpointFolder claim(folder(), 0);
    write_rank(3, 0);
    try {
      const CheckpointFolder another(folder(), 0);
      FAIL();
    } catch (const BadInput& e) {
      EXPECT_THAT(e.what(), HasSubstr("another run saves into"));
    }
    EXPECT_THAT(names(), ElementsAre("step_00000003.partial"));  // from the first one
  }
  const CheckpointFolder later(folder(), 0);
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(CheckpointFiles, DamageIsFoundAndNamed) {
  save(1);
  EXPECT_EQ(trouble_of_reading(), "");
  change_byte(file(1, "rank00001.bin"), 399);
  EXPECT_THAT(trouble_of_reading(),
              AllOf(HasSubstr("rank00001.bin has other bytes of w (weight)"), HasSubstr("damaged")));
  change_byte(file(1, "rank00001.bin"), 399);
  fs::resize_file(file(1, "rank00001.bin"), 398);
  EXPECT_THAT(trouble_of_reading(), HasSubstr("rank00001.bin ends within w"));
  fs::remove(file(1, "rank00001.bin"));
  EXPECT_THAT(trouble_of_reading(), HasSubstr("rank00001.bin is missing"));
  change_byte(file(1, "rank00000.json"), 20);
  EXPECT_THAT(trouble_of_reading(),
              HasSubstr("rank00000.json has a checksum that differs from the one in checkpoint.json"));
  fs::remove(file(1, "rank00000.json"));
  EXPECT_THAT(trouble_of_reading(), HasSubstr("rank00000.json is missing"));
  std::ofstream(file(1, "checkpoint.json")) << "{";
  EXPECT_THAT(trouble_of_reading(), HasSubstr("checkpoint.json cannot be understood"));
}

TEST_F(CheckpointFiles, AStepThatDiffersFromTheFoldersIsRefused) {
  save(1);
  fs::rename(folder() / "step_00000001", folder() / "step_00000007");
  EXPECT_THAT(trouble_of_reading(), HasSubstr("is for step 1, unlike its folder"));
}

// A file that may not grow stands for a full disk: write(2) fails in the middle.
TEST_F(CheckpointFiles, AFullDiskIsReportedAndKeepsThePreviousCheckpoint) {
  save(1);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 1000, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string said;
  try {
    write_rank(2, 0, 1000);
  } catch (const EngineError& e) {
    said = e.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(said, AllOf(HasSubstr("cannot write"), HasSubstr("rank00000.bin: File too large")));
  EXPECT_FALSE(fs::exists(folder() / "step_00000002.partial" / "rank00000.bin"));
  EXPECT_THAT(steps(), ElementsAre(1));
  EXPECT_EQ(trouble_of_reading(), "");
}

}  // namespace
}  // namespace perfbench::engine
