#include "harness/store/journal.h"

#include <sys/vfs.h>

#include <array>
#include <cstdint>
#include <thread>
#include <utility>

namespace perfbench::harness {
namespace {

// f_type of those that several machines mount: linux/magic.h, and each project's own headers. FUSE is not among them,
// because containers keep local disks on it.
constexpr std::array<std::pair<std::uint32_t, const char*>, 12> kNetworkFileSystems{{
    {0x00006969U, "NFS"},
    {0x0000517BU, "SMB"},
    {0xFF534D42U, "CIFS"},
    {0xFE534D42U, "SMB2"},
    {0x0BD00BD0U, "Lustre"},
    {0x47504653U, "GPFS"},
    {0x19830326U, "BeeGFS"},
    {0x00C36400U, "Ceph"},
    {0xAAD7AAEAU, "PanFS"},
    {0x5346414FU, "AFS"},
    {0x01161970U, "GFS2"},
    {0x7461636FU, "OCFS2"},
}};

// The mode that it is in after the pragma, which answers with it.
std::string journal_mode(Connection& db, const std::string& wanted) {
  Statement statement(db, "PRAGMA journal_mode = " + wanted);
  return statement.step() ? statement.text(0) : "";
}

}  // namespace

std::optional<std::string> network_file_system_of_type(long type) {
  for (const auto& [number, name] : kNetworkFileSystems) {
    if (static_cast<std::uint32_t>(type) == number) return name;
  }
  return std::nullopt;
}

std::optional<std::string> network_file_system(const std::filesystem::path& folder) {
  struct statfs found {};
  if (statfs(folder.c_str(), &found) != 0) return std::nullopt;
  return network_file_system_of_type(static_cast<long>(found.f_type));
}

// The mode stays with the file; the change to it is the one operation for which SQLite does not wait by itself when
// another process makes the same change.
std::string use_write_ahead_log(Connection& db, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    try {
      const auto mode = journal_mode(db, "WAL");
      return mode == "wal" ? "" : "SQLite stays in the journal mode '" + mode + "' there";
    } catch (const StoreError& e) {
      if (e.fault() != StoreFault::busy || std::chrono::steady_clock::now() >= deadline) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void hold_alone(Connection& db) {
  db.execute("PRAGMA locking_mode = EXCLUSIVE");
}

void use_rollback_journal(Connection& db) {
  const auto mode = journal_mode(db, "DELETE");
  if (mode != "delete") {
    throw StoreError(StoreFault::other, "[store] " + db.path().string() + ": stays in the journal mode '" + mode +
                                            "' on a file system where that is not safe; copy it to a local disk");
  }
  db.execute("PRAGMA locking_mode = NORMAL");
  db.execute("SELECT 1 FROM sqlite_master LIMIT 1");  // the lock is given back by the next look
}

}  // namespace perfbench::harness
