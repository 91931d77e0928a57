#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <optional>
#include <set>

#include "harness/store/columns.h"
#include "harness/store/database.h"
#include "harness/system/input_error.h"
#include "tests/harness/example_run.h"
#include "workloads/spec/gpu_sample.h"
#include "workloads/spec/run_summary.h"
#include "workloads/spec/step_record.h"
#include "workloads/spec/work_record.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;

std::vector<std::string> columns_in(const Connection& db, const std::string& table) {
  Statement info(db, "SELECT name FROM pragma_table_info('" + table + "') WHERE name <> 'attempt_key' ORDER BY cid");
  std::vector<std::string> out;
  while (info.step()) out.push_back(info.text(0));
  return out;
}

TEST(Schema, HasAColumnForEveryFieldOfARecord) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  EXPECT_EQ(columns_in(db, "steps"), column_names(columns_of<spec::StepRecord>()));
  EXPECT_EQ(columns_in(db, "attempt_summaries"), column_names(columns_of<spec::RunSummary>()));
  EXPECT_EQ(columns_in(db, "attempt_traffic"), column_names(columns_of<spec::AxisTraffic>()));
  EXPECT_EQ(columns_in(db, "gpu_samples"), column_names(columns_of<spec::GpuSample>()));
}

TEST(Schema, HasOnlyStrictTables) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  Statement lax(db,
                "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND strict = 0 "
                "AND name NOT LIKE 'sqlite_%'");
  EXPECT_FALSE(lax.step()) << lax.text(0);
}

TEST(Database, RefusesTextInANumberAndADanglingKey) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  EXPECT_THROW(db.execute("INSERT INTO metrics VALUES (1, 1, 'fast')"), StoreError);
  try {
    db.execute("INSERT INTO cell_axes VALUES (77, 'fsdp', '2')");
    FAIL() << "a row without its cell was taken";
  } catch (const StoreError& e) {
    EXPECT_EQ(e.fault(), StoreFault::constraint);
  }
}

TEST(Database, IsInWalModeSoThatReadersDoNotWait) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  Statement mode(db, "PRAGMA journal_mode");
  ASSERT_TRUE(mode.step());
  EXPECT_EQ(mode.text(0), "wal");
}

TEST(Database, ADatabaseOfAnotherProgramIsRefused) {
  ScratchFolder scratch;
  { Connection(scratch / "a.db", OpenMode::read_write, 0).execute("CREATE TABLE cats (name TEXT)"); }
  EXPECT_THROW(open_database(scratch / "a.db"), InputError);
}

TEST(Database, AFileThatIsNotADatabaseIsAnInputError) {
  ScratchFolder scratch;
  write_text(scratch / "a.db", std::string(5000, 'x'));
  try {
    open_database(scratch / "a.db");
    FAIL() << "opened";
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), HasSubstr("not a database"));
  }
}

// -1 used to be taken for a version older than all, and 0 in a database with tables for an empty one.
TEST(Database, AnInvalidVersionIsRefused) {
  ScratchFolder scratch;
  for (const auto* version : {"-1", "0", "-2147483648"}) {
    const auto file = scratch / (std::string(version) + ".db");
    { open_database(file).execute(std::string("PRAGMA user_version = ") + version); }
    for (const auto mode : {OpenMode::read_write, OpenMode::read_only}) {
      try {
        open_database(file, {.mode = mode});
        ADD_FAILURE() << "opened " << version;
      } catch (const InputError& e) {
        EXPECT_THAT(e.what(), HasSubstr(std::string("has schema version ") + version + ", which no version of"));
      }
    }
  }
}

// Those had another application_id, and their versions counted up to 24.
TEST(Database, FromBeforeTheFirstReleaseIsRefusedWithWhatToDo) {
  ScratchFolder scratch;
  const auto file = scratch / "a.db";
  { open_database(file).execute("PRAGMA application_id = 1885496168; PRAGMA user_version = 24"); }
  for (const auto mode : {OpenMode::read_write, OpenMode::read_only}) {
    try {
      open_database(file, {.mode = mode});
      ADD_FAILURE() << "opened";
    } catch (const InputError& e) {
      EXPECT_THAT(e.what(), HasSubstr("written before perfbench 0.1.0 (layout 24)"));
      EXPECT_THAT(e.what(), HasSubstr("perfbench ingest DIR --db NEW"));
    }
  }
}

// The file is bounded in pages, as a full disk bounds it.
TEST(Database, SaysThatItsDiskIsFull) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  Statement(db, "PRAGMA max_page_count = 1").step();  // its present number
  try {
    for (int i = 0; i < 10'000; ++i) {
      Statement(db, "INSERT INTO names (name) VALUES (?)").run(std::to_string(i) + std::string(1000, 'x'));
    }
    FAIL() << "10 MB without room";
  } catch (const StoreError& e) {
    EXPECT_EQ(e.fault(), StoreFault::disk_full);
    EXPECT_THAT(e.what(), HasSubstr("the disk of the database is full"));
  }
}

// A write-ahead log needs shared memory, for which a full disk has no room either. SQLite reports that as an I/O error.
TEST(Database, SaysThatItsDiskIsFullWhereTheLogFindsNoRoom) {
  ScratchFolder scratch;
  const auto disk = scratch / "disk";
  std::filesystem::create_directory(disk);
  if (::geteuid() != 0 || ::mount("none", disk.c_str(), "tmpfs", 0, "size=2m") != 0) {
    GTEST_SKIP() << "cannot mount a small file system (needs root)";
  }
  { open_database(disk / "a.db"); }
  {
    std::ofstream filler(disk / "filler");
    while (filler << std::string(4096, 'x') << std::flush) continue;
  }
  try {
    auto db = open_database(disk / "a.db");
    db.execute("INSERT INTO names (name) VALUES ('x')");
    ADD_FAILURE() << "written without room";
  } catch (const StoreError& e) {
    EXPECT_EQ(e.fault(), StoreFault::disk_full) << e.what();
    EXPECT_THAT(e.what(), HasSubstr("the disk of the database is full"));
  }
  ::umount2(disk.c_str(), MNT_DETACH);
}

TEST(Database, ReportsAReachedFileSizeLimit) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{.rlim_cur = 4 << 20, .rlim_max = before.rlim_max};
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);  // as perfbench does
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string error;
  try {
    for (int i = 0; i < 10'000; ++i) {
      Statement(db, "INSERT INTO names (name) VALUES (?)").run(std::to_string(i) + std::string(1000, 'x'));
    }
  } catch (const StoreError& e) {
    EXPECT_EQ(e.fault(), StoreFault::file_limit);
    error = e.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(error, HasSubstr("ulimit -f"));
}

TEST(Database, AMissingDatabaseCannotBeRead) {
  ScratchFolder scratch;
  EXPECT_THROW(open_database(scratch / "a.db", {.mode = OpenMode::read_only}), InputError);
  EXPECT_FALSE(std::filesystem::exists(scratch / "a.db"));
}

TEST(Database, OpenedForReadingSaysThatItCannotBeWritten) {
  ScratchFolder scratch;
  { open_database(scratch / "a.db"); }
  for (const auto mode : {OpenMode::read_only, OpenMode::immutable}) {
    auto db = open_database(scratch / "a.db", {.mode = mode});
    try {
      db.execute("INSERT INTO names (name) VALUES ('x')");
      FAIL() << "written";
    } catch (const StoreError& e) {
      EXPECT_EQ(e.fault(), StoreFault::read_only);
      EXPECT_THAT(e.what(), HasSubstr("readonly"));
    }
  }
}

TEST(Database, HeldByAnotherWriterIsBusyAfterTheGivenTime) {
  ScratchFolder scratch;
  auto first = open_database(scratch / "a.db");
  auto second = open_database(scratch / "a.db", {.busy_ms = 1});
  Transaction held(first);
  try {
    Transaction wanted(second);
    FAIL() << "two writers at once";
  } catch (const StoreError& e) {
    EXPECT_EQ(e.fault(), StoreFault::busy);
    EXPECT_THAT(e.what(), HasSubstr("another process uses the database"));
  }
}

TEST(Snapshot, ShowsOneStateWhileOthersWrite) {
  ScratchFolder scratch;
  auto writer = open_database(scratch / "a.db");
  const auto reader = open_database(scratch / "a.db", {.mode = OpenMode::read_only});
  const auto names = [&] {
    Statement rows(reader, "SELECT count(*) FROM names");
    rows.step();
    return rows.integer(0);
  };
  {
    const Snapshot snapshot(reader);
    const auto before = names();
    writer.execute("INSERT INTO names (name) VALUES ('x')");
    EXPECT_EQ(names(), before);
  }
  const auto after = names();
  writer.execute("INSERT INTO names (name) VALUES ('y')");
  EXPECT_EQ(names(), after + 1) << "it outlived itself";
}

TEST(Statement, StartsAgainAfterAnInterruptedUse) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  db.execute("INSERT INTO names (name) VALUES ('x'), ('y')");
  const std::string sql = "SELECT name, ? FROM names ORDER BY name";
  {
    Statement left_half_way(db, sql);
    ASSERT_TRUE(left_half_way.with(std::int64_t{7}).step());
    Statement beside_it(db, sql);
    ASSERT_TRUE(beside_it.step());
    EXPECT_EQ(beside_it.text(0), "x");
  }
  Statement again(db, sql);
  ASSERT_TRUE(again.step());
  EXPECT_EQ(again.text(0), "x") << "continues where the first one was left";
  EXPECT_TRUE(again.is_null(1)) << "has the parameter of the first";
  db.execute("ALTER TABLE names RENAME COLUMN name TO other");
  EXPECT_THROW(Statement(db, sql).step(), StoreError);
}

TEST(Statement, MayOutliveItsConnectionAndThatMayMove) {
  ScratchFolder scratch;
  std::optional<Connection> db = open_database(scratch / "a.db");
  Statement one(*db, "SELECT 1");
  db = open_database(scratch / "b.db");
  db.reset();
  EXPECT_TRUE(one.step());
}

TEST(Transaction, LeavesNothingWhenItIsNotCommitted) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  {
    Transaction transaction(db);
    db.execute("INSERT INTO names (name) VALUES ('x')");
  }
  Statement count(db, "SELECT count(*) FROM names");
  ASSERT_TRUE(count.step());
  EXPECT_EQ(count.integer(0), 0);
}

constexpr std::string_view kFirst = "CREATE TABLE names (name TEXT) STRICT;";
constexpr std::string_view kSecond = "CREATE TABLE names (name TEXT, language TEXT) STRICT;";
constexpr Migration kToSecond[] = {{2, "ALTER TABLE names ADD COLUMN language TEXT;"}};

TEST(Migration, BringsAnOldDatabaseToTheShapeOfANewOne) {
  ScratchFolder scratch;
  {
    auto old = open_database(scratch / "old.db", {.schema = {.sql = kFirst, .migrations = {}}});
    old.execute("INSERT INTO names VALUES ('kept')");
  }
  const Schema schema{.sql = kSecond, .migrations = kToSecond};
  auto old = open_database(scratch / "old.db", {.schema = schema});
  auto fresh = open_database(scratch / "new.db", {.schema = schema});
  EXPECT_EQ(columns_in(old, "names"), columns_in(fresh, "names"));
  Statement kept(old, "SELECT name FROM names");
  ASSERT_TRUE(kept.step());
  EXPECT_EQ(kept.text(0), "kept");
  Statement version(old, "PRAGMA user_version");
  ASSERT_TRUE(version.step());
  EXPECT_EQ(version.integer(0), 2);
}

TEST(Migration, ThatFailsChangesNothing) {
  ScratchFolder scratch;
  { open_database(scratch / "a.db", {.schema = {.sql = kFirst, .migrations = {}}}); }
  constexpr Migration broken[] = {{2, "ALTER TABLE names ADD COLUMN language TEXT; ALTER TABLE nowhere ADD x TEXT;"}};
  EXPECT_THROW(open_database(scratch / "a.db", {.schema = {.sql = kSecond, .migrations = broken}}), StoreError);
  auto db = open_database(scratch / "a.db", {.schema = {.sql = kFirst, .migrations = {}}});
  EXPECT_EQ(columns_in(db, "names").size(), 1U);
}

TEST(Migration, ToAnOlderPerfbenchIsRefused) {
  ScratchFolder scratch;
  { open_database(scratch / "a.db", {.schema = {.sql = kSecond, .migrations = kToSecond}}); }
  try {
    open_database(scratch / "a.db", {.schema = {.sql = kFirst, .migrations = {}}});
    FAIL() << "opened";
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), HasSubstr("use a newer perfbench"));
  }
}

TEST(Transactions, NestedOnesArePartsOfTheOuterOne) {
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  const auto names = [&] {
    Statement rows(db, "SELECT name FROM names ORDER BY name");
    std::string out;
    while (rows.step()) out += rows.text(0);
    return out;
  };
  const auto add = [&](const char* name) {
    Statement(db, "INSERT INTO names (name) VALUES (?)").run(std::string_view(name));
  };
  {
    Transaction outer(db);
    add("a");
    {
      Transaction undone(db);
      add("b");
    }
    Transaction inner(db);
    add("c");
    inner.commit();
    EXPECT_EQ(names(), "ac");
  }
  EXPECT_EQ(names(), "") << "what the inner one committed outlived the outer one";
  Transaction outer(db);
  Transaction inner(db);
  add("d");
  inner.commit();
  outer.commit();
  EXPECT_EQ(names(), "d");
}

}  // namespace
}  // namespace perfbench::harness
