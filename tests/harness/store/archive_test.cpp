#include "harness/store/archive/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "harness/system/input_error.h"
#include "harness/system/sha256.h"
#include "tests/harness/example_run.h"
#include "tests/harness/unpacked_archive.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Archive : public testing::Test {
 protected:
  ScratchFolder scratch_;
  fs::path file_ = scratch_ / "a.perfbench";

  std::string write(const std::string& payload) {
    write_text(scratch_ / "payload", payload);
    write_archive({.schema_version = 4, .attempts = 2, .perfbench_version = "0.1.0"}, scratch_ / "payload", file_);
    return read_text(file_);
  }
  // The message of the error; empty if there is none.
  std::string error_of(const std::string& bytes) {
    write_text(file_, bytes);
    try {
      read_archive(file_, scratch_ / "unpacked");
    } catch (const InputError& e) {
      return e.what();
    }
    return {};
  }
  static std::string with_sum(const std::string& contents) {
    return contents + "sha256 " + sha256_hex(contents) + "\n";
  }
};

TEST_F(Archive, GivesBackWhatWasPutIn) {
  std::string large;  // several chunks that do not compress to almost nothing
  for (std::uint32_t i = 0; i < 1'500'000; ++i) large += static_cast<char>((i * 2654435761U) >> 24U);
  for (const auto& payload : {std::string(), std::string("x"), std::string(3'000'000, 'y'), large}) {
    write(payload);
    const auto header = read_archive(file_, scratch_ / "unpacked");
    EXPECT_EQ(header.schema_version, 4);
    EXPECT_EQ(header.attempts, 2);
    EXPECT_TRUE(read_text(scratch_ / "unpacked") == payload) << payload.size();
  }
}

TEST_F(Archive, LastLineHasTheChecksumOfAllOthers) {
  const auto bytes = write("some rows");
  const auto last = bytes.rfind("sha256 ");
  EXPECT_EQ(bytes.substr(last), "sha256 " + sha256_hex(bytes.substr(0, last)) + "\n");
}

TEST_F(Archive, IsRefusedWhenAnyByteDiffers) {
  const auto whole = write("some rows, and some rows");
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const int bit : {1, 128}) {
      auto damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ bit);
      EXPECT_THAT(error_of(damaged), HasSubstr("[import] " + file_.string())) << "byte " << i;
    }
  }
}

TEST_F(Archive, IsRefusedWhenCutOffAnywhereOrLonger) {
  const auto whole = write("some rows, and some rows");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THAT(error_of(whole.substr(0, length)), HasSubstr("[import] ")) << length;
  }
  EXPECT_THAT(error_of(whole.substr(0, whole.size() - 9)), HasSubstr("it was cut off or modified"));
  EXPECT_THAT(error_of(whole + "x"), HasSubstr("it was cut off or modified"));
}

TEST_F(Archive, FromANewerPerfbenchIsRefused) {
  auto bytes = write("some rows");
  bytes.resize(bytes.rfind("sha256 "));
  const std::string version = "\"version\":2";
  ASSERT_NE(bytes.find(version), std::string::npos);
  bytes.replace(bytes.find(version), version.size(), "\"version\":3");
  EXPECT_THAT(error_of(with_sum(bytes)),
              HasSubstr("version 3 of the format, but this perfbench knows versions up to 2"));
}

TEST_F(Archive, FromBeforeTheFirstReleaseIsRefused) {
  auto bytes = write("some rows");
  bytes.resize(bytes.rfind("sha256 "));
  const std::string version = "\"version\":2";
  bytes.replace(bytes.find(version), version.size(), "\"version\":1");
  EXPECT_THAT(error_of(with_sum(bytes)),
              testing::AllOf(HasSubstr("version 1 of the format, which was in use before perfbench 0.1.0"),
                             HasSubstr("perfbench ingest")));
}

TEST_F(Archive, WithARightSumAndWrongContentsIsRefused) {
  auto bytes = write("some rows");
  bytes.resize(bytes.rfind("sha256 "));
  const auto frame = bytes.find('\n') + 1;
  EXPECT_THAT(error_of(with_sum(bytes.substr(0, bytes.size() - 3))), HasSubstr("the frame has no end"));
  EXPECT_THAT(error_of(with_sum(bytes + "x")), HasSubstr("there are bytes after the frame"));
  EXPECT_THAT(error_of(with_sum(bytes.substr(0, frame) + "no frame at all")), HasSubstr("cannot be unpacked"));
  EXPECT_THAT(error_of(with_sum(bytes.substr(0, frame))), HasSubstr("the frame has no end"));
  EXPECT_THAT(error_of(with_sum("perfbench-export {\"attempts\":1}\n" + bytes.substr(frame))),
              HasSubstr("first line that is not a valid header"));
  EXPECT_THAT(error_of(with_sum("perfbench-export {\"version\":\"a\"}\n")),
              HasSubstr("first line that is not a valid header"));
  EXPECT_THAT(error_of(with_sum("perfbench-export ")), HasSubstr("has no header"));
}

TEST_F(Archive, ExtremeCompressionIsRefusedUnlessAllowed) {
  constexpr std::size_t kBytes = kUnpackedAlways + 1;
  EXPECT_LT(write(std::string(kBytes, 'y')).size() * kUnpackedTimes, kBytes) << "a bomb, if a small one";
  try {
    read_archive(file_, scratch_ / "unpacked");
    FAIL() << "unpacked";
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), HasSubstr(file_.string() + " unpacks to more than 67108864 bytes"));
    EXPECT_THAT(e.what(), HasSubstr("--unpacked-limit"));
  }
  EXPECT_LE(fs::file_size(scratch_ / "unpacked"), kUnpackedAlways);
  EXPECT_THROW(read_archive(file_, scratch_ / "unpacked", kBytes - 1), InputError);
  EXPECT_EQ(read_archive(file_, scratch_ / "unpacked", kBytes).attempts, 2);
  EXPECT_EQ(fs::file_size(scratch_ / "unpacked"), kBytes);
}

TEST_F(Archive, OtherFilesAreRefused) {
  EXPECT_THAT(error_of("a,b,c\n1,2,3\n"), HasSubstr("is not a file of `perfbench export`"));
  EXPECT_THROW(read_archive(scratch_ / "nowhere", scratch_ / "unpacked"), InputError);
  for (const auto damage : {Damage::pipe, Damage::folder, Damage::endless}) {
    damage_file(file_, damage);
    EXPECT_FALSE(is_archive(file_)) << damage_name(damage);
    EXPECT_THROW(read_archive(file_, scratch_ / "unpacked"), InputError) << damage_name(damage);
  }
}

}  // namespace
}  // namespace perfbench::harness
