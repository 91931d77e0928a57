// Outputs that a user names. Only root can make devices, so a FIFO stands for files that are not regular.
#include "harness/evidence/output_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>

#include "harness/system/files.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OutputFileTest : public testing::Test {
 protected:
  std::size_t files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(scratch_.path())) ++count;
    return count;
  }
  std::string error_of(const fs::path& file) const {
    try {
      write_output(file, "new");
    } catch (const OutputError& e) {
      return e.what();
    }
    return "";
  }
  ScratchFolder scratch_;
};

TEST_F(OutputFileTest, ReplacesARegularFileAndKeepsItsPermissions) {
  write_text(scratch_ / "x", "old and longer");
  fs::permissions(scratch_ / "x", fs::perms(0640));
  write_output(scratch_ / "x", "new");
  EXPECT_EQ(read_text(scratch_ / "x"), "new");
  EXPECT_EQ(fs::status(scratch_ / "x").permissions(), fs::perms(0640));
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, FollowsLinksAndKeepsThem) {
  fs::create_directory(scratch_ / "folder");
  write_text(scratch_ / "folder" / "x", "old");
  fs::create_symlink("folder/x", scratch_ / "link");
  fs::create_symlink(scratch_ / "link", scratch_ / "link_to_link");
  fs::create_symlink("folder/absent", scratch_ / "dangling");
  write_output(scratch_ / "link_to_link", "new");
  write_output(scratch_ / "dangling", "made");
  EXPECT_TRUE(fs::is_symlink(scratch_ / "link"));
  EXPECT_TRUE(fs::is_symlink(scratch_ / "link_to_link"));
  EXPECT_EQ(read_text(scratch_ / "folder" / "x"), "new");
  EXPECT_EQ(read_text(scratch_ / "folder" / "absent"), "made");
  EXPECT_EQ(files(), 4U);
}

TEST_F(OutputFileTest, WritesInPlaceIfTheFileIsNotRegular) {
  ASSERT_EQ(mkfifo((scratch_ / "pipe").c_str(), 0600), 0);
  const FileDescriptor pipe(open((scratch_ / "pipe").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  for (const bool finished_elsewhere : {false, true}) {
    if (finished_elsewhere) {
      const auto place = output_place(scratch_ / "pipe");
      const TemporaryFile file(place.unfinished_stem(), "partial");
      write_text(file.path(), "text");
      move_to_output(file.path(), place);
    } else {
      write_output(scratch_ / "pipe", "text");
    }
    std::array<char, 16> bytes{};
    const auto got = read(pipe.get(), bytes.data(), bytes.size());
    EXPECT_EQ(std::string(bytes.data(), got < 0 ? 0 : static_cast<std::size_t>(got)), "text");
    EXPECT_TRUE(fs::is_fifo(scratch_ / "pipe"));
    EXPECT_EQ(files(), 1U);
  }
}

// Uses a device node of its own, because a mistake here would replace the machine's.
TEST_F(OutputFileTest, SaysThatADeviceIsFull) {
  const auto full = scratch_ / "full";
  if (mknod(full.c_str(), S_IFCHR | 0600, makedev(1, 7)) != 0) GTEST_SKIP() << "skipped: no right to make a device";
  if (const FileDescriptor device(open(full.c_str(), O_WRONLY | O_CLOEXEC)); !device.is_open()) {
    GTEST_SKIP() << "skipped: the file system has no devices";
  }
  EXPECT_EQ(error_of(full), full.string() + " cannot be written: No space left on device");
  EXPECT_TRUE(fs::is_character_file(full));
}

TEST_F(OutputFileTest, LeavesTheFileUnchangedOnAnError) {
  write_text(scratch_ / "x", "old");
  const auto fails = [](const WriteText& write) {
    write("half");
    throw std::runtime_error("of the text itself");
  };
  EXPECT_THROW(write_output(scratch_ / "x", fails), std::runtime_error);
  EXPECT_EQ(read_text(scratch_ / "x"), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, NamesTheObstacle) {
  fs::create_symlink("loop", scratch_ / "loop");
  EXPECT_THAT(error_of(scratch_ / "loop"), HasSubstr("Too many levels of symbolic links"));
  EXPECT_THAT(error_of(scratch_.path()), HasSubstr("it is a folder"));
  EXPECT_THAT(error_of(scratch_ / "absent" / "x"), HasSubstr("absent does not exist"));
}

}  // namespace
}  // namespace perfbench::harness
