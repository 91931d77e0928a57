#include "workloads/spec/regular_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

namespace perfbench::spec {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class RegularFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("regular_files." + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  // All kinds of files that are not regular ones.
  std::vector<fs::path> odd_things() {
    const auto pipe = folder_ / "pipe";
    EXPECT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    fs::create_directory(folder_ / "folder");
    fs::create_symlink("/dev/zero", folder_ / "endless");
    fs::create_symlink(pipe, folder_ / "link_to_pipe");
    fs::create_symlink("loop", folder_ / "loop");
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    std::strncpy(address.sun_path, (folder_ / "socket").c_str(), sizeof address.sun_path - 1);
    const int server = ::socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(::bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address), 0) << std::strerror(errno);
    ::close(server);
    return {
        pipe, folder_ / "folder", folder_ / "endless", folder_ / "link_to_pipe", folder_ / "loop", folder_ / "socket"};
  }
  static std::string error_of(const fs::path& path, std::int64_t most_bytes = 100) {
    try {
      read_regular_file(path, most_bytes);
    } catch (const FileError& e) {
      return e.what();
    }
    return {};
  }

  fs::path folder_;
};

TEST_F(RegularFiles, AreReadWholeAndThroughLinks) {
  const auto file = write("a", std::string("one\0two\n", 8));
  fs::create_symlink(file, folder_ / "link");
  EXPECT_EQ(read_regular_file(file, 8), std::string("one\0two\n", 8));
  EXPECT_EQ(read_regular_file(folder_ / "link", 100), std::string("one\0two\n", 8));
  EXPECT_EQ(read_regular_file(write("empty", ""), 100), "");
}

TEST_F(RegularFiles, AMissingOneGivesNothing) {
  EXPECT_EQ(read_regular_file(folder_ / "a", 100), std::nullopt);
  fs::create_symlink("nowhere", folder_ / "dangling");
  EXPECT_EQ(read_regular_file(folder_ / "dangling", 100), std::nullopt);
}

// Each of these would block a reader, fill its memory, or give it nonsense.
TEST_F(RegularFiles, AnythingElseIsRefusedWithoutWaiting) {
  for (const auto& path : odd_things()) EXPECT_THAT(error_of(path), HasSubstr(path.string())) << path;
  EXPECT_THAT(error_of(folder_ / "pipe"), HasSubstr("is a pipe, but a regular file is needed: remove it"));
  EXPECT_THAT(error_of(folder_ / "socket"), HasSubstr("is a socket"));
  EXPECT_THAT(error_of(folder_ / "folder"), HasSubstr("is a folder"));
  EXPECT_THAT(error_of(folder_ / "endless"), HasSubstr("is a device"));
}

TEST_F(RegularFiles, AreReadUpToASize) {
  const auto file = write("a", "12345678");
  EXPECT_EQ(read_regular_file(file, 8), "12345678");
  EXPECT_THAT(error_of(file, 7), AllOf(HasSubstr("holds 8 bytes or more"), HasSubstr("at most 7 are read")));
}

// Refused by its size, before any of it is read.
TEST_F(RegularFiles, AHugeOneIsRefusedAtOnce) {
  const auto file = write("huge", "");
  fs::resize_file(file, std::uintmax_t{1} << 40);  // sparse
  EXPECT_THAT(error_of(file, kLargestRecordsBytes), HasSubstr("holds 1099511627776 bytes or more"));
}

TEST_F(RegularFiles, CanBeReadFromAnyOffset) {
  const auto file = RegularFile::open(write("a", "0123456789"));
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->bytes(), 10);
  char data[8] = {};
  EXPECT_EQ(file->read_at(7, data, 5), 3U);
  EXPECT_EQ(std::string(data, 3), "789");
  EXPECT_EQ(file->read_at(10, data, 5), 0U);
}

TEST_F(RegularFiles, AreWrittenAnewOrAppendedTo) {
  const auto file = write("a", "old");
  const auto put = [&](int flags, const char* text) {
    const int descriptor = open_regular_for_writing(file, flags);
    EXPECT_EQ(::write(descriptor, text, std::strlen(text)), static_cast<ssize_t>(std::strlen(text)));
    ::close(descriptor);
  };
  put(O_APPEND, "er");
  EXPECT_EQ(read_regular_file(file, 100), "older");
  put(O_CREAT | O_TRUNC, "new");
  EXPECT_EQ(read_regular_file(file, 100), "new");
}

TEST_F(RegularFiles, APipeOrFolderIsNotWrittenTo) {
  odd_things();
  for (const char* name : {"pipe", "folder", "link_to_pipe", "socket"}) {
    EXPECT_THROW(open_regular_for_writing(folder_ / name, O_CREAT | O_TRUNC), FileError) << name;
  }
  // A pipe with a reader could be opened, but it is still not a regular file.
  const int reader = ::open((folder_ / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_THROW(open_regular_for_writing(folder_ / "pipe", O_CREAT), FileError);
  ::close(reader);
}

}  // namespace
}  // namespace perfbench::spec
