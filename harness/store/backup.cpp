#include "harness/store/backup.h"

#include <fmt/core.h>

#include "harness/store/database.h"
#include "harness/system/files.h"
#include "harness/system/input_error.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

std::int64_t attempt_count(const Connection& db) {
  Statement row(db, "SELECT count(*) FROM attempts");
  row.step();
  return row.integer(0);
}

void require_sound(const Connection& db) {
  Statement row(db, "PRAGMA quick_check(1)");
  row.step();
  if (row.text(0) != "ok") {
    throw InputError(fmt::format("[store] {} is damaged: {}", db.path().string(), row.text(0)));
  }
}

// SQLite would take the log of an earlier database for that of the new one.
void require_no_log(const fs::path& file) {
  for (const auto* suffix : {"-wal", "-journal"}) {
    const auto log = file.string() + suffix;
    if (!fs::exists(log)) continue;
    throw InputError(
        fmt::format("[store] {} belongs to an earlier database of that name: open that one once with "
                    "perfbench, or move both away together",
                    log));
  }
}

enum class Older { is_replaced, is_an_error };

BackupReport copy(const Connection& from, const fs::path& to, Older older) {
  require_no_log(to);
  const TemporaryFile copied(to, "copy");
  copy_database(from, copied.path());
  BackupReport out;
  {
    const auto copy = open_database(copied.path(), {.mode = OpenMode::read_only});
    require_sound(copy);
    out.attempts = attempt_count(copy);
  }
  out.file_bytes = fs::file_size(copied.path());
  if (older == Older::is_replaced) {
    fs::rename(copied.path(), to);
    return out;
  }
  std::error_code error;
  fs::create_hard_link(copied.path(), to, error);  // does not replace a database that was made meanwhile
  if (error) throw InputError(fmt::format("[restore] {} cannot be made: {}", to.string(), error.message()));
  return out;
}

}  // namespace

BackupReport back_up(const fs::path& db, const fs::path& file) {
  const auto from = open_database(db, {.mode = OpenMode::read_only});
  std::error_code error;
  if (fs::exists(file) && fs::equivalent(db, file, error)) {
    throw InputError("[backup] " + file.string() + " is the database itself: name another file");
  }
  if (fs::exists(file)) {
    try {
      open_database(file, {.mode = OpenMode::read_only});
    } catch (const std::exception&) {
      throw InputError("[backup] " + file.string() + " exists and is not a database of perfbench: name another file");
    }
  }
  return copy(from, file, Older::is_replaced);
}

BackupReport restore(const fs::path& file, const fs::path& db) {
  if (fs::exists(db)) {
    throw InputError("[restore] " + db.string() +
                     " exists: move it away first, together with its -wal file, so that nothing is lost");
  }
  const auto from = open_database(file, {.mode = OpenMode::read_only});
  require_sound(from);
  return copy(from, db, Older::is_an_error);
}

}  // namespace perfbench::harness
