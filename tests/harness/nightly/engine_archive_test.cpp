// That a night's engine is found again, byte for byte and executable, and that nothing else is kept.
#include "harness/nightly/engine_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/run/run_directory.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {
namespace fs = std::filesystem;
using testing::HasSubstr;

class Archive : public testing::Test {
 protected:
  fs::path engine(const std::string& contents) {
    const auto file = scratch_ / ("engine-" + contents);
    write_text(file, contents);
    return file;
  }
  std::size_t kept_engines() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(scratch_ / "archive")) {
      count += entry.is_regular_file() && entry.path().filename() != "control" ? 1 : 0;
    }
    return count;
  }

  ScratchFolder scratch_;
  EngineArchive archive_{scratch_ / "archive"};
};

TEST_F(Archive, FindsTheEngineOfANight) {
  archive_.keep("night1", "m", engine("one"));
  archive_.keep("night2", "m", engine("two"));
  archive_.keep("night3", "m", engine("one"));
  ASSERT_TRUE(archive_.of_night("night1"));
  EXPECT_EQ(read_text(archive_.of_night("night1")->file), "one");
  EXPECT_EQ(read_text(archive_.of_night("night2")->file), "two");
  EXPECT_EQ(archive_.of_night("night1")->file, archive_.of_night("night3")->file);
  EXPECT_TRUE(archive_.of_night("night1")->file.is_absolute());
  EXPECT_EQ(archive_.of_night("night1")->problem, "");
  EXPECT_EQ(kept_engines(), 2U);
  const auto permissions = fs::status(archive_.of_night("night1")->file).permissions();
  EXPECT_NE(permissions & fs::perms::owner_exec, fs::perms::none);
  EXPECT_FALSE(archive_.of_night("night4"));
}

TEST_F(Archive, TheControlStaysWhileNightsPass) {
  EXPECT_FALSE(archive_.control());
  archive_.set_control(engine("fixed"));
  for (int night = 1; night <= 4; ++night) {
    archive_.keep("night" + std::to_string(night), "m", engine(std::to_string(night)));
  }
  archive_.prune(2);
  EXPECT_EQ(read_text(archive_.control()->file), "fixed");
  EXPECT_FALSE(archive_.of_night("night2"));
  EXPECT_EQ(read_text(archive_.of_night("night3")->file), "3");
  EXPECT_EQ(kept_engines(), 3U);
  archive_.prune(2);
  EXPECT_EQ(kept_engines(), 3U);
}

TEST_F(Archive, AnEngineThatIsNotThereIsAnError) {
  EXPECT_THROW(archive_.keep("night1", "m", scratch_ / "none"), RunDirectoryError);
  EXPECT_NO_THROW(archive_.prune(1));
}

TEST_F(Archive, NightsOfOneMatrixThrowOutNoEngineOfAnother) {
  archive_.keep("night1", "weekly", engine("seldom"));
  for (int night = 2; night <= 5; ++night) {
    archive_.keep("night" + std::to_string(night), "nightly", engine(std::to_string(night)));
  }
  archive_.prune(2);
  ASSERT_TRUE(archive_.of_night("night1"));
  EXPECT_EQ(archive_.of_night("night1")->problem, "");
  EXPECT_FALSE(archive_.of_night("night3"));
  EXPECT_TRUE(archive_.of_night("night4"));
  EXPECT_EQ(kept_engines(), 3U);
  EXPECT_FALSE(fs::exists(scratch_ / "archive/matrices/night3"));
}

TEST_F(Archive, AnArchiveThatKnowsNoMatricesIsPrunedAsOne) {
  for (const auto* night : {"night1", "night2", "night3"}) archive_.keep(night, "m", engine(night));
  fs::remove_all(scratch_ / "archive/matrices");
  archive_.prune(2);
  EXPECT_FALSE(archive_.of_night("night1"));
  EXPECT_TRUE(archive_.of_night("night2"));
}

TEST_F(Archive, SaysWhyAnEngineIsNotFitToRun) {
  archive_.keep("night1", "m", engine("one"));
  const auto file = archive_.of_night("night1")->file;
  fs::permissions(file, fs::perms::owner_read);
  EXPECT_THAT(archive_.of_night("night1")->problem, HasSubstr(file.string() + " cannot be executed"));
  write_text(file, "another");
  fs::permissions(file, fs::perms::owner_all);
  EXPECT_THAT(archive_.of_night("night1")->problem, HasSubstr("was changed"));
  fs::remove(file);
  EXPECT_THAT(archive_.of_night("night1")->problem, HasSubstr("is gone"));
  fs::create_directory(file);
  EXPECT_THAT(archive_.of_night("night1")->problem, HasSubstr("is gone"));
  write_text(scratch_ / "archive/nights/night1", "../../bin/sh");
  EXPECT_THAT(archive_.of_night("night1")->problem, HasSubstr("names no engine"));
}

TEST_F(Archive, AControlThatIsNamedAnewIsMended) {
  archive_.set_control(engine("fixed"));
  fs::permissions(archive_.control()->file, fs::perms::owner_read);
  EXPECT_NE(archive_.control()->problem, "");
  archive_.set_control(engine("fixed"));
  EXPECT_EQ(archive_.control()->problem, "");
}

}  // namespace
}  // namespace perfbench::harness
