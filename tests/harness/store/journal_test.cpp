// Databases where SQLite's write-ahead log cannot work: without shared memory between processes, or shared by several
// machines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>

#include "harness/store/database.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {
namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// While it exists, SQLite works as usual, except for the shared memory of databases.
class FilesWithout {
 public:
  enum class SharedMemory { offered_and_failing, not_offered };

  explicit FilesWithout(SharedMemory how) : usual_(sqlite3_vfs_find(nullptr)), changed_(*usual_) {
    how_ = how;
    original_ = usual_;
    changed_.zName = "without-shared-memory";
    changed_.xOpen = open;
    sqlite3_vfs_register(&changed_, 1);
  }
  ~FilesWithout() {
    sqlite3_vfs_unregister(&changed_);
    sqlite3_vfs_register(usual_, 1);
  }
  FilesWithout(const FilesWithout&) = delete;
  FilesWithout& operator=(const FilesWithout&) = delete;

 private:
  static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* given) {
    const int code = original_->xOpen(original_, name, file, flags, given);
    if (code != SQLITE_OK || (flags & SQLITE_OPEN_MAIN_DB) == 0) return code;
    methods_ = *file->pMethods;
    if (how_ == SharedMemory::not_offered) methods_.iVersion = 1;
    methods_.xShmMap = [](sqlite3_file*, int, int, int, void volatile**) { return SQLITE_IOERR_SHMMAP; };
    file->pMethods = &methods_;
    return code;
  }

  static inline SharedMemory how_;
  static inline sqlite3_vfs* original_ = nullptr;
  static inline sqlite3_io_methods methods_{};
  sqlite3_vfs* usual_;
  sqlite3_vfs changed_;
};

class Journal : public testing::TestWithParam<FilesWithout::SharedMemory> {
 protected:
  OpenOptions options(std::optional<std::string> network = {}) {
    return {.busy_ms = 0,
            .network_file_system = [network](const fs::path&) { return network; },
            .warn = [this](const std::string& line) { warnings_.push_back(line); }};
  }
  static std::string mode_of(const Connection& db) {
    Statement mode(db, "PRAGMA journal_mode");
    return mode.step() ? mode.text(0) : "";
  }
  static void add_matrix(Connection& db, const std::string& name) {
    Transaction transaction(db);
    Statement(db,
              "INSERT INTO sweeps (kind, sweep_id, matrix, started_utc) VALUES ('hand', ?, ?, '2026-01-31T12:00:00Z')")
        .run(name, name);
    transaction.commit();
  }
  static std::vector<std::string> matrices(const Connection& db) {
    std::vector<std::string> out;
    for (Statement rows(db, "SELECT matrix FROM sweeps ORDER BY matrix"); rows.step();) out.push_back(rows.text(0));
    return out;
  }

  ScratchFolder scratch_;
  std::vector<std::string> warnings_;
};

TEST_P(Journal, WithoutSharedMemoryIsARollbackJournalAndSaysSo) {
  const FilesWithout files(GetParam());
  auto db = open_database(scratch_ / "p.db", options());
  EXPECT_EQ(mode_of(db), "delete");
  EXPECT_THAT(warnings_, ElementsAre(testing::AllOf(HasSubstr((scratch_ / "p.db").string()), HasSubstr("shared memory"),
                                                    HasSubstr("local disk"))));
  auto other = open_database(scratch_ / "p.db", options());
  add_matrix(db, "a");
  add_matrix(other, "b");
  EXPECT_THAT(matrices(db), ElementsAre("a", "b"));
}

TEST_P(Journal, ALogFromADiskWithSharedMemoryIsApplied) {
  {
    auto db = open_database(scratch_ / "p.db", options());
    add_matrix(db, "a");
    ASSERT_EQ(mode_of(db), "wal");
    ASSERT_GT(fs::file_size(scratch_ / "p.db-wal"), 0U);
    fs::create_directory(scratch_ / "copy");
    for (const auto* file : {"p.db", "p.db-wal"}) fs::copy_file(scratch_ / file, scratch_ / "copy" / file);
  }
  const FilesWithout files(GetParam());
  auto db = open_database(scratch_ / "copy" / "p.db", options());
  EXPECT_EQ(mode_of(db), "delete");
  EXPECT_THAT(matrices(db), ElementsAre("a"));
  add_matrix(db, "b");
  EXPECT_THAT(matrices(open_database(scratch_ / "copy" / "p.db", {.mode = OpenMode::read_only})),
              ElementsAre("a", "b"));
}

INSTANTIATE_TEST_SUITE_P(OfEitherKind, Journal,
                         testing::Values(FilesWithout::SharedMemory::offered_and_failing,
                                         FilesWithout::SharedMemory::not_offered));

using NetworkJournal = Journal;

TEST_F(NetworkJournal, OnANetworkFileSystemIsARollbackJournalUntilTheDatabaseIsBackOnADisk) {
  {
    auto db = open_database(scratch_ / "p.db", options());
    EXPECT_EQ(mode_of(db), "wal");
    EXPECT_THAT(warnings_, IsEmpty());
    add_matrix(db, "a");
  }
  {
    auto db = open_database(scratch_ / "p.db", options("NFS"));
    EXPECT_EQ(mode_of(db), "delete");
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("NFS")));
    EXPECT_FALSE(fs::exists(scratch_ / "p.db-shm"));
    add_matrix(db, "b");
  }
  EXPECT_THAT(matrices(open_database(scratch_ / "p.db", options())), ElementsAre("a", "b"));
  EXPECT_EQ(mode_of(open_database(scratch_ / "p.db", options())), "wal");
}

TEST_F(NetworkJournal, FailsIfAnotherProcessUsesTheLog) {
  auto db = open_database(scratch_ / "p.db", options());
  add_matrix(db, "a");
  try {
    open_database(scratch_ / "p.db", options("NFS"));
    FAIL() << "took the log from under another connection";
  } catch (const StoreError& e) {
    EXPECT_EQ(e.fault(), StoreFault::busy) << e.what();
  }
  EXPECT_THAT(matrices(db), ElementsAre("a"));
}

TEST(NetworkFileSystem, IsKnownByTheNumberThatTheKernelGivesIt) {
  EXPECT_EQ(network_file_system_of_type(0x6969), "NFS");
  EXPECT_EQ(network_file_system_of_type(0x0BD00BD0), "Lustre");
  EXPECT_EQ(network_file_system_of_type(static_cast<long>(static_cast<std::int32_t>(0xFF534D42U))), "CIFS")
      << "a 32 bit kernel gives it a sign";
  for (const long local : {0xEF53L, 0x01021994L, 0x58465342L, 0x9123683EL, 0x794C7630L}) {
    EXPECT_EQ(network_file_system_of_type(local), std::nullopt) << local;  // ext4, tmpfs, XFS, btrfs, overlay
  }
}

}  // namespace
}  // namespace perfbench::harness
