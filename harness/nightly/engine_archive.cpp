#include "harness/nightly/engine_archive.h"

#include <algorithm>
#include <set>
#include <vector>

#include "harness/matrix/run_id.h"
#include "harness/run/run_directory.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kDigits = 16;
constexpr const char* kNights = "nights";
constexpr const char* kControl = "control";

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw RunDirectoryError("[nightly] cannot make " + folder.string() + ": " + error.message());
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::string EngineArchive::add(const fs::path& engine) const {
  const auto bytes = read_file(engine);
  if (!bytes) throw RunDirectoryError("[nightly] there is no engine " + engine.string());
  const auto digits = sha256_hex(*bytes).substr(0, kDigits);
  const auto kept = folder_ / digits;
  if (fs::exists(kept)) return digits;
  make_folder(folder_);
  write_atomically(kept, *bytes);
  std::error_code error;
  fs::permissions(kept, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec, fs::perm_options::add,
                  error);
  if (error) throw RunDirectoryError("[nightly] cannot make " + kept.string() + " executable: " + error.message());
  return digits;
}

void EngineArchive::keep(const std::string& sweep_id, const fs::path& engine) const {
  const auto digits = add(engine);
  make_folder(folder_ / kNights);
  write_atomically(folder_ / kNights / sweep_id, digits);
}

void EngineArchive::set_control(const fs::path& engine) const {
  write_atomically(folder_ / kControl, add(engine));
}

std::optional<fs::path> EngineArchive::named_by(const fs::path& file) const {
  const auto digits = read_file(file);
  if (!digits || digits->empty()) return std::nullopt;
  auto engine = folder_ / *digits;
  if (!fs::exists(engine)) return std::nullopt;
  return fs::absolute(engine);
}

std::optional<fs::path> EngineArchive::of_night(const std::string& sweep_id) const {
  return named_by(folder_ / kNights / sweep_id);
}

std::optional<fs::path> EngineArchive::control() const {
  return named_by(folder_ / kControl);
}

void EngineArchive::prune(std::size_t newest_nights) const {
  const auto nights = entries(folder_ / kNights);
  std::set<std::string> used;
  if (const auto digits = read_file(folder_ / kControl)) used.insert(*digits);
  for (std::size_t i = 0; i < nights.size(); ++i) {
    if (i + newest_nights < nights.size()) {
      fs::remove(nights[i]);
    } else if (const auto digits = read_file(nights[i])) {
      used.insert(*digits);
    }
  }
  for (const auto& entry : entries(folder_)) {
    const auto name = entry.filename().string();
    if (name.size() == kDigits && fs::is_regular_file(entry) && !used.contains(name)) fs::remove(entry);
  }
}

}  // namespace perfbench::harness
