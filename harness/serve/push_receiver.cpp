#include "harness/serve/push_receiver.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>

#include "harness/serve/guards.h"
#include "harness/serve/http_status.h"
#include "harness/store/archive/transfer.h"
#include "harness/store/database.h"
#include "harness/system/input_error.h"
#include "harness/system/sha256.h"
#include "harness/system/utc.h"
#include "workloads/spec/fields_json.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

constexpr int kRetryAfterS = 10;
constexpr std::size_t kMostFiles = 1000;  // above it, refusals are forgotten

std::string json_of(const PushStatus& status) {
  return spec::fields_to_json(status, spec::Written::whole).dump() + "\n";
}

}  // namespace

PushReceiver::PushReceiver(fs::path db, std::vector<MachineKey> keys, const PushLimits& limits)
    : db_(std::move(db)), folder_(db_.string() + ".incoming"), keys_(std::move(keys)), limits_(limits) {
  open_database(db_);
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) throw InputError(fmt::format("[serve] {} cannot be made: {}", folder_.string(), error.message()));
  find_files();
  drop_parts("", limits_.part_age);
  worker_ = std::thread([this] { work(); });
}

PushReceiver::~PushReceiver() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  worker_.join();
}

std::string PushReceiver::why_not_signed(const PushRequestHead& head, std::string_view body) const {
  const auto key =
      std::find_if(keys_.begin(), keys_.end(), [&](const auto& one) { return one.machine == head.machine; });
  std::int64_t time_s = 0;
  const auto* end = head.time.data() + head.time.size();
  const auto [stopped, error] = std::from_chars(head.time.data(), end, time_s);
  if (error != std::errc{} || stopped != end) return "the request is not signed; use perfbench push";
  const auto expected =
      key == keys_.end()
          ? ""
          : request_signature(*key, {.method = head.method, .target = head.target, .time_s = time_s, .body = body});
  if (key == keys_.end() || !same_token(head.signature, expected)) {
    return "this server has no key of that machine, or another one";
  }
  // After the signature, so that only a machine with a key learns the server's time.
  if (std::abs(time_s - signature_time()) > kSignatureSeconds) {
    return fmt::format("the machine's clock differs from the server's {} by {} s; at most {} s are allowed", utc_now(),
                       std::abs(time_s - signature_time()), kSignatureSeconds);
  }
  return "";
}

fs::path PushReceiver::path_of(const Key& key, std::int64_t size) const {
  return folder_ / fmt::format("{}.{}.{}", key.second, size, key.first);
}

// A name is SHA256.SIZE.MACHINE.
void PushReceiver::find_files() {
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const auto name = entry.path().filename().string();
    const auto first = name.find('.');
    const auto second = name.find('.', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const Key key{name.substr(second + 1), name.substr(0, first)};
    File file{.size = std::atoll(name.c_str() + first + 1)};
    if (path_of(key, file.size) != entry.path()) continue;
    file.status.have = static_cast<std::int64_t>(fs::file_size(entry.path()));
    if (file.status.have == file.size) {
      file.status.state = PushState::waiting;
      complete_.push_back(key);
    }
    files_[key] = file;
  }
}

void PushReceiver::drop_parts(const std::string& machine, std::chrono::minutes unused) {
  const auto oldest = fs::file_time_type::clock::now() - unused;
  std::erase_if(files_, [&](const auto& one) {
    const auto& [key, file] = one;
    if (file.status.state != PushState::receiving || (!machine.empty() && key.first != machine)) return false;
    std::error_code error;
    const auto path = path_of(key, file.size);
    if (fs::last_write_time(path, error) > oldest && !error) return false;
    fs::remove(path, error);
    return true;
  });
}

std::int64_t PushReceiver::waiting_bytes(const std::string& machine) const {
  std::int64_t out = 0;
  for (const auto& [key, file] : files_) {
    if (key.first == machine && file.status.state != PushState::refused) out += file.status.have;
  }
  return out;
}

// The database knows files of all machines and of earlier servers.
std::optional<PushStatus> PushReceiver::stored(const std::string& sha256) const {
  const auto db = open_database(db_, {.mode = OpenMode::read_only});
  const auto push = find_push(db, sha256);
  if (!push) return std::nullopt;
  return PushStatus{
      .state = PushState::stored, .have = push->bytes, .added = push->added, .present = push->present, .reason = {}};
}

PushReceiver::Reply PushReceiver::look(const std::string& machine, const std::string& sha256) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find({machine, sha256});
    if (found != files_.end()) return {.text = json_of(found->second.status)};
  }
  return {.text = json_of(stored(sha256).value_or(PushStatus{}))};
}

PushReceiver::Reply PushReceiver::take(const std::string& machine, const std::string& sha256, std::int64_t offset,
                                       std::int64_t size, std::string_view part) {
  if (size > limits_.most_bytes) {
    return {.status = kTooLarge,
            .text = fmt::format("the file has {} bytes, and this server takes at most {} (--accept-limit)\n", size,
                                limits_.most_bytes)};
  }
  const auto length = static_cast<std::int64_t>(part.size());
  if (size <= 0 || offset < 0 || length == 0 || length > size - offset) {
    return {.status = kBad, .text = "offset, size and the length of the part contradict each other\n"};
  }
  if (offset == 0) {
    if (const auto known = stored(sha256)) return {.text = json_of(*known)};
  }
  const std::lock_guard lock(mutex_);
  const Key key{machine, sha256};
  auto found = files_.find(key);
  // A refused file may come once more: the reason may have been this server's.
  if (found != files_.end() && found->second.status.state == PushState::refused && offset == 0) {
    files_.erase(found);
    found = files_.end();
  }
  if (found == files_.end()) {
    if (offset != 0) return {.text = json_of({})};
    drop_parts("", limits_.part_age);
    drop_parts(machine, limits_.idle_part_age);
    if (waiting_bytes(machine) + size > limits_.most_waiting_bytes) {
      return {.status = kTooMany,
              .text = "this server keeps too many bytes of this machine that are not in its database yet\n",
              .retry_after_s = kRetryAfterS};
    }
    found = files_.emplace(key, File{.size = size, .status = {}}).first;
  }
  auto& file = found->second;
  if (file.size != size) return {.status = kBad, .text = "the parts of this file name different sizes\n"};
  if (file.status.state != PushState::receiving || offset != file.status.have) return {.text = json_of(file.status)};
  return append(key, file, part);
}

PushReceiver::Reply PushReceiver::append(const Key& key, File& file, std::string_view part) {
  const auto path = path_of(key, file.size);
  std::ofstream out(path, std::ios::binary | std::ios::app);
  out << part;
  out.close();
  std::error_code error;
  const auto have = fs::file_size(path, error);
  file.status.have = error ? 0 : static_cast<std::int64_t>(have);
  if (file.status.have == file.size) {
    file.status.state = PushState::waiting;
    complete_.push_back(key);
    changed_.notify_all();
  } else if (!out) {
    if (file.status.have == 0) files_.erase(key);
    return {.status = kNoRoom,
            .text = "the server cannot keep the file; its disk may be full\n",
            .retry_after_s = kRetryAfterS};
  }
  return {.text = json_of(file.status)};
}

std::string PushReceiver::without_paths(std::string message, const fs::path& file) const {
  return with_name(with_name(std::move(message), file, "the export"), db_, db_.filename());
}

// A database of this server that is broken or gone is no fault of a file.
void PushReceiver::require_database() const {
  try {
    open_database(db_, {.mode = OpenMode::read_only});
  } catch (const InputError& e) {
    throw std::runtime_error(e.what());
  }
}

PushStatus PushReceiver::store(const Key& key, const File& file) const {
  auto out = file.status;
  const auto path = path_of(key, file.size);
  try {
    const auto hash = sha256_of_file(path);
    if (!hash) throw std::runtime_error("the server cannot read the file");
    if (*hash != key.second) throw InputError("[push] the bytes do not have the hash of their name");
    require_database();
    import_push(db_, path, {.sha256 = key.second, .machine = key.first, .received_utc = utc_now(), .bytes = file.size});
    out = {.state = PushState::stored};
  } catch (const InputError& e) {
    out.state = PushState::refused;
    out.reason = without_paths(e.what(), path);
  } catch (const std::exception& e) {
    out.reason = without_paths(e.what(), path);  // another process writes, or the disk is full: it continues to wait
  }
  return out;
}

void PushReceiver::work() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (complete_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto key = complete_.front();
    complete_.pop_front();
    const auto file = files_.at(key);
    lock.unlock();
    const auto status = store(key, file);
    lock.lock();
    files_.at(key).status = status;
    if (status.state == PushState::waiting) {
      complete_.push_back(key);  // behind those of other machines
      changed_.wait_for(lock, limits_.again, [this] { return ends_; });
      continue;
    }
    std::error_code error;
    fs::remove(path_of(key, file.size), error);
    if (status.state == PushState::stored) files_.erase(key);
    if (files_.size() > kMostFiles)
      std::erase_if(files_, [](const auto& one) { return one.second.status.state == PushState::refused; });
  }
}

}  // namespace perfbench::harness
