// Takes files of `perfbench push` into a database (harness/app/push_protocol.h). Parts are kept in a folder beside the
// database until a file is complete. One thread takes complete files into the database, one after the other, so that
// pages are served meanwhile. Files that a stopped server has received are continued by the next one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/app/push_protocol.h"
#include "harness/system/machine_keys.h"

namespace perfbench::harness {

struct PushLimits {
  std::int64_t most_bytes = std::int64_t{64} << 20;           // of a file
  std::int64_t most_waiting_bytes = std::int64_t{256} << 20;  // that are kept of a machine's files
  std::chrono::minutes part_age{24 * 60};  // an unfinished file that no part was added to for so long is deleted
  // The same when its machine sends another file: an interrupted push must not use up the machine's share.
  std::chrono::minutes idle_part_age{10};
  std::chrono::milliseconds again{5000};  // pause after a failure that may pass, such as a full disk
};

// A request of a machine, as it was received.
struct PushRequestHead {
  std::string method;
  std::string target;
  std::string machine;
  std::string time;
  std::string signature;
};

class PushReceiver {
 public:
  struct Reply {
    int status = 200;
    std::string text;       // JSON of a PushStatus, or a message
    int retry_after_s = 0;  // with status 429 and 503
  };

  // Makes the folder, and a database that does not exist. Throws InputError.
  PushReceiver(std::filesystem::path db, std::vector<MachineKey> keys, const PushLimits& limits);
  ~PushReceiver();
  PushReceiver(const PushReceiver&) = delete;
  PushReceiver& operator=(const PushReceiver&) = delete;

  // Why the request is not that of a machine with a key; empty if it is.
  std::string why_not_signed(const PushRequestHead& head, std::string_view body) const;

  Reply look(const std::string& machine, const std::string& sha256);
  Reply take(const std::string& machine, const std::string& sha256, std::int64_t offset, std::int64_t size,
             std::string_view part);

 private:
  using Key = std::pair<std::string, std::string>;  // machine, SHA-256
  struct File {
    std::int64_t size = 0;
    PushStatus status;
  };

  std::filesystem::path path_of(const Key& key, std::int64_t size) const;
  void find_files();
  void drop_parts(const std::string& machine, std::chrono::minutes unused);
  std::int64_t waiting_bytes(const std::string& machine) const;
  std::optional<PushStatus> stored(const std::string& sha256) const;
  Reply append(const Key& key, File& file, std::string_view part);
  void require_database() const;
  void work();
  PushStatus store(const Key& key, const File& file) const;
  std::string without_paths(std::string message, const std::filesystem::path& file) const;

  const std::filesystem::path db_;
  const std::filesystem::path folder_;
  const std::vector<MachineKey> keys_;
  const PushLimits limits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, File> files_;  // that are not in the database
  std::deque<Key> complete_;
  bool ends_ = false;
  std::thread worker_;  // last: it uses the others
};

}  // namespace perfbench::harness
