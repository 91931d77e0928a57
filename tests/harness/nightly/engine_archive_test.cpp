// That a night's engine is found again, byte for byte and executable, and that nothing else is kept.
#include "harness/nightly/engine_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/run/run_directory.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {
namespace fs = std::filesystem;

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
  archive_.keep("night1", engine("one"));
  archive_.keep("night2", engine("two"));
  archive_.keep("night3", engine("one"));
  ASSERT_TRUE(archive_.of_night("night1"));
  EXPECT_EQ(read_text(*archive_.of_night("night1")), "one");
  EXPECT_EQ(read_text(*archive_.of_night("night2")), "two");
  EXPECT_EQ(archive_.of_night("night1"), archive_.of_night("night3"));
  EXPECT_TRUE(archive_.of_night("night1")->is_absolute());
  EXPECT_EQ(kept_engines(), 2U);
  const auto permissions = fs::status(*archive_.of_night("night1")).permissions();
  EXPECT_NE(permissions & fs::perms::owner_exec, fs::perms::none);
  EXPECT_FALSE(archive_.of_night("night4"));
}

TEST_F(Archive, TheControlStaysWhileNightsPass) {
  EXPECT_FALSE(archive_.control());
  archive_.set_control(engine("fixed"));
  for (int night = 1; night <= 4; ++night) {
    archive_.keep("night" + std::to_string(night), engine(std::to_string(night)));
  }
  archive_.prune(2);
  EXPECT_EQ(read_text(*archive_.control()), "fixed");
  EXPECT_FALSE(archive_.of_night("night2"));
  EXPECT_EQ(read_text(*archive_.of_night("night3")), "3");
  EXPECT_EQ(kept_engines(), 3U);
  archive_.prune(2);
  EXPECT_EQ(kept_engines(), 3U);
}

TEST_F(Archive, AnEngineThatIsNotThereIsAnError) {
  EXPECT_THROW(archive_.keep("night1", scratch_ / "none"), RunDirectoryError);
  EXPECT_NO_THROW(archive_.prune(1));
}

}  // namespace
}  // namespace perfbench::harness
