#include "harness/store/backup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/system/input_error.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

class Backup : public testing::Test {
 protected:
  void SetUp() override { add(1); }
  void add(int number) const {
    ExampleRun one{.attempt = example_attempt("c", number)};
    const auto folder = scratch_ / ("runs" + std::to_string(number));
    write_run_directory(folder, one);
    auto store = open_database(db_);
    ingest_run_directory(store, folder);
  }
  static std::string bytes_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  ScratchFolder scratch_;
  const fs::path db_ = scratch_ / "s.db";
  const fs::path copy_ = scratch_ / "copy.db";
};

TEST_F(Backup, HasOneMomentOfADatabaseThatOthersWriteTo) {
  auto writer = open_database(db_);
  Transaction unfinished(writer);
  writer.execute("UPDATE attempts SET state = 'crashed'");
  EXPECT_EQ(back_up(db_, copy_).attempts, 1);
  unfinished.commit();
  const auto copy = open_database(copy_, {.mode = OpenMode::read_only});
  Statement row(copy, "SELECT state FROM attempts");
  ASSERT_TRUE(row.step());
  EXPECT_EQ(row.text(0), "ok");
  for (const auto* suffix : {"-wal", "-journal"}) EXPECT_FALSE(fs::exists(copy_.string() + suffix)) << suffix;
}

TEST_F(Backup, ReplacesAnOlderCopyAndNothingElse) {
  back_up(db_, copy_);
  add(2);
  EXPECT_EQ(back_up(db_, copy_).attempts, 2);
  write_text(scratch_ / "letter.txt", "dear");
  EXPECT_THAT([&] { back_up(db_, scratch_ / "letter.txt"); },
              ThrowsMessage<InputError>(HasSubstr("exists and is not a database")));
  EXPECT_EQ(bytes_of(scratch_ / "letter.txt"), "dear");
  fs::create_symlink(db_, scratch_ / "link.db");
  EXPECT_THAT([&] { back_up(db_, scratch_ / "link.db"); }, ThrowsMessage<InputError>(HasSubstr("the database itself")));
}

TEST_F(Backup, RestoresWithoutReplacingADatabase) {
  back_up(db_, copy_);
  EXPECT_THAT([&] { restore(copy_, db_); }, ThrowsMessage<InputError>(HasSubstr("exists: move it away")));
  fs::rename(db_, scratch_ / "old.db");
  write_text(db_.string() + "-wal", "the log of the database that was moved away");
  EXPECT_THAT([&] { restore(copy_, db_); }, ThrowsMessage<InputError>(HasSubstr("belongs to an earlier database")));
  EXPECT_FALSE(fs::exists(db_));
  fs::remove(db_.string() + "-wal");
  EXPECT_EQ(restore(copy_, db_).attempts, 1);
  add(2);  // it can be written
  EXPECT_EQ(back_up(db_, copy_).attempts, 2);
}

TEST_F(Backup, ADamagedCopyIsNotRestored) {
  back_up(db_, copy_);
  auto bytes = bytes_of(copy_);
  // The pages after the first ones: the schema can be read, and the tables contradict themselves.
  for (std::size_t i = bytes.size() / 2; i < bytes.size(); ++i) bytes[i] = static_cast<char>(0xA5);
  std::ofstream(copy_, std::ios::binary) << bytes;
  EXPECT_ANY_THROW(restore(copy_, scratch_ / "new.db"));
  EXPECT_FALSE(fs::exists(scratch_ / "new.db"));
}

}  // namespace
}  // namespace perfbench::harness
