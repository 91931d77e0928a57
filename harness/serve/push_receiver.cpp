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

constexpr std::chrono::seconds kAgain(5);  // after a failure that may pass, such as a full disk
constexpr int kRetryAfterS = 10;
constexpr std::size_t kMostAnswers = 1000;

std::string json_of(const PushStatus& status) {
  return spec::fields_to_json(status, spec::Written::whole).dump() + "\n";
}

std::int64_t unix_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string file_sha256(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  Sha256 sum;
  std::string piece(1 << 16, '\0');
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0) {
    sum.add({piece.data(), static_cast<std::size_t>(in.gcount())});
  }
  return sum.hex();
}

// Clients must not learn about this machine's disk.
std::string without_path(std::string message, const fs::path& file) {
  for (auto at = message.find(file.string()); at != std::string::npos; at = message.find(file.string())) {
    message.replace(at, file.string().size(), "the export");
  }
  return message;
}

}  // namespace

PushReceiver::PushReceiver(fs::path db, std::vector<MachineKey> keys, const PushLimits& limits)
    : db_(std::move(db)), folder_(db_.string() + ".incoming"), keys_(std::move(keys)), limits_(limits) {
  open_database(db_);
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) throw InputError(fmt::format("[serve] {} cannot be made: {}", folder_.string(), error.message()));
  find_files();
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
  if (std::abs(time_s - unix_now()) > kSignatureSeconds) {
    return fmt::format("the machine's clock differs from the server's {} by {} s; at most {} s are allowed", utc_now(),
                       std::abs(time_s - unix_now()), kSignatureSeconds);
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
  drop_old_files();
}

void PushReceiver::drop_old_files() {
  const auto oldest = fs::file_time_type::clock::now() - limits_.part_age;
  std::erase_if(files_, [&](const auto& one) {
    const auto& [key, file] = one;
    if (file.status.state == PushState::waiting) return false;
    std::error_code error;
    const auto path = path_of(key, file.size);
    // A file that is stored or refused has gone, and its answer is kept while there are at most kMostAnswers.
    if (file.status.state != PushState::receiving) return files_.size() > kMostAnswers;
    return fs::last_write_time(path, error) < oldest && fs::remove(path, error);
  });
}

std::int64_t PushReceiver::waiting_bytes(const std::string& machine) const {
  std::int64_t out = 0;
  for (const auto& [key, file] : files_) {
    const bool counts = file.status.state == PushState::receiving || file.status.state == PushState::waiting;
    if (counts && key.first == machine) out += file.size;
  }
  return out;
}

// The database knows files of other machines and of earlier servers.
const PushReceiver::File* PushReceiver::known(const Key& key) {
  auto found = files_.find(key);
  if (found != files_.end()) return &found->second;
  const auto push = find_push(open_database(db_, {.mode = OpenMode::read_only}), key.second);
  if (!push) return nullptr;
  return &(files_[key] = {.size = push->bytes,
                          .status = {.state = PushState::stored,
                                     .have = push->bytes,
                                     .added = push->added,
                                     .present = push->present,
                                     .reason = {}}});
}

PushReceiver::Reply PushReceiver::look(const std::string& machine, const std::string& sha256) {
  const std::lock_guard lock(mutex_);
  const auto* file = known({machine, sha256});
  return {.text = json_of(file == nullptr ? PushStatus{} : file->status)};
}

PushReceiver::Reply PushReceiver::take(const std::string& machine, const std::string& sha256, std::int64_t offset,
                                       std::int64_t size, std::string_view part) {
  if (size > limits_.most_bytes) {
    return {.status = kTooLarge,
            .text = fmt::format("the file has {} bytes, and this server takes at most {}; push fewer runs at once\n",
                                size, limits_.most_bytes)};
  }
  const auto length = static_cast<std::int64_t>(part.size());
  if (size <= 0 || offset < 0 || length == 0 || length > size - offset) {
    return {.status = kBad, .text = "offset, size and the length of the part contradict each other\n"};
  }
  const std::lock_guard lock(mutex_);
  const Key key{machine, sha256};
  if (const auto* file = known(key); file == nullptr) {
    drop_old_files();
    if (waiting_bytes(machine) + size > limits_.most_waiting_bytes) {
      return {.status = kTooMany,
              .text = "files of this machine still wait for the database; continue later\n",
              .retry_after_s = kRetryAfterS};
    }
    files_[key] = {.size = size};
  } else if (file->status.state != PushState::receiving || offset != file->status.have) {
    return {.text = json_of(file->status)};
  }
  auto& file = files_.at(key);
  if (file.size != size) return {.status = kBad, .text = "the parts of this file name different sizes\n"};
  if (offset != file.status.have) return {.text = json_of(file.status)};
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
  if (!out) {
    return {.status = kNoRoom,
            .text = "the server cannot keep the file; its disk may be full\n",
            .retry_after_s = kRetryAfterS};
  }
  if (file.status.have == file.size) {
    file.status.state = PushState::waiting;
    complete_.push_back(key);
    changed_.notify_all();
  }
  return {.text = json_of(file.status)};
}

PushStatus PushReceiver::store(const Key& key, const File& file) const {
  auto out = file.status;
  const auto path = path_of(key, file.size);
  try {
    if (file_sha256(path) != key.second) throw InputError("[push] the bytes do not have the hash of their name");
    const auto push = import_push(db_, path,
                                  {.sha256 = key.second,
                                   .machine = key.first,
                                   .received_utc = utc_now(),
                                   .bytes = file.size,
                                   .added = 0,
                                   .present = 0});
    out = {.state = PushState::stored, .have = file.size, .added = push.added, .present = push.present, .reason = {}};
  } catch (const InputError& e) {
    out.state = PushState::refused;
    out.reason = without_path(e.what(), path);
  } catch (const std::exception& e) {
    out.reason = without_path(e.what(), path);  // another process writes, or the disk is full: it continues to wait
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
    const auto file = files_.at(key);
    lock.unlock();
    const auto status = store(key, file);
    lock.lock();
    files_.at(key).status = status;
    if (status.state == PushState::waiting) {
      changed_.wait_for(lock, kAgain, [this] { return ends_; });
      continue;
    }
    complete_.pop_front();
    std::error_code error;
    fs::remove(path_of(key, file.size), error);
  }
}

}  // namespace perfbench::harness
