#include "harness/nightly/engine_archive.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "harness/matrix/run_id.h"
#include "harness/run/run_directory.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kDigits = 16;
constexpr const char* kNights = "nights";
constexpr const char* kMatrices = "matrices";
constexpr const char* kControl = "control";

std::string first_digits(const std::string& bytes) {
  return sha256_hex(bytes).substr(0, kDigits);
}

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

std::string problem_of(const fs::path& engine, const std::string& digits) {
  if (digits.size() != kDigits || digits.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return "the archive's record of it is damaged: '" + digits + "' names no engine";
  }
  const auto name = "the archived engine " + engine.string();
  std::error_code error;
  if (!fs::is_regular_file(engine, error)) return name + " is gone";
  if (access(engine.c_str(), X_OK) != 0) return name + " cannot be executed: " + std::strerror(errno) + " (chmod +x)";
  try {
    const auto found = first_digits(read_file(engine).value_or(""));
    if (found != digits) return name + " was changed: its SHA-256 begins with " + found;
  } catch (const RunDirectoryError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

std::string EngineArchive::add(const fs::path& engine) const {
  const auto bytes = read_file(engine);
  if (!bytes) throw RunDirectoryError("[nightly] there is no engine " + engine.string());
  const auto digits = first_digits(*bytes);
  const auto kept = folder_ / digits;
  if (fs::exists(kept)) return digits;
  make_folder(folder_);
  write_atomically(kept, *bytes, FileMode::executable);
  return digits;
}

void EngineArchive::keep(const std::string& sweep_id, const std::string& matrix, const fs::path& engine) const {
  const auto digits = add(engine);
  make_folder(folder_ / kNights);
  make_folder(folder_ / kMatrices);
  write_atomically(folder_ / kMatrices / sweep_id, matrix);
  write_atomically(folder_ / kNights / sweep_id, digits);
}

void EngineArchive::set_control(const fs::path& engine) const {
  const auto digits = add(engine);
  // A person names it: what became of an earlier copy is mended.
  if (!problem_of(folder_ / digits, digits).empty()) {
    fs::remove(folder_ / digits);
    add(engine);
  }
  write_atomically(folder_ / kControl, digits);
}

std::optional<ArchivedEngine> EngineArchive::named_by(const fs::path& file) const {
  const auto digits = read_file(file);
  if (!digits) return std::nullopt;
  const auto engine = fs::absolute(folder_ / *digits);
  return ArchivedEngine{engine, problem_of(engine, *digits)};
}

std::optional<ArchivedEngine> EngineArchive::of_night(const std::string& sweep_id) const {
  return named_by(folder_ / kNights / sweep_id);
}

std::optional<ArchivedEngine> EngineArchive::control() const {
  return named_by(folder_ / kControl);
}

void EngineArchive::prune(std::size_t newest_nights) const {
  std::map<std::string, std::vector<fs::path>> nights;  // by matrix; those that tell of none are one of their own
  for (const auto& night : entries(folder_ / kNights)) {
    nights[read_file(folder_ / kMatrices / night.filename()).value_or("")].push_back(night);
  }
  std::set<std::string> used;
  if (const auto digits = read_file(folder_ / kControl)) used.insert(*digits);
  for (const auto& [matrix, of_matrix] : nights) {
    for (std::size_t i = 0; i < of_matrix.size(); ++i) {
      if (i + newest_nights < of_matrix.size()) {
        fs::remove(of_matrix[i]);
        fs::remove(folder_ / kMatrices / of_matrix[i].filename());
      } else if (const auto digits = read_file(of_matrix[i])) {
        used.insert(*digits);
      }
    }
  }
  for (const auto& entry : entries(folder_)) {
    const auto name = entry.filename().string();
    if (name.size() == kDigits && fs::is_regular_file(entry) && !used.contains(name)) fs::remove(entry);
  }
}

}  // namespace perfbench::harness
