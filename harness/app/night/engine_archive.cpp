#include "harness/app/night/engine_archive.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "harness/evidence/run_directory.h"
#include "harness/system/run_id.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kDigits = 16;
constexpr const char* kNights = "nights";
constexpr const char* kMatrices = "matrices";
constexpr const char* kControl = "control";
constexpr const char* kLibraries = "libraries";

std::string first_digits(const std::string& bytes) {
  return sha256_hex(bytes).substr(0, kDigits);
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw RunDirectoryError("[nightly] cannot create " + folder.string() + ": " + error.message());
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

bool are_digits(const std::string& text) {
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// The contents of a record: an engine, and optionally its libraries.
struct Named {
  std::string engine;
  std::string libraries;
};

Named parse_record(const std::string& text) {
  const auto space = text.find(' ');
  return {text.substr(0, space), space == std::string::npos ? "" : text.substr(space + 1)};
}

std::string record_of(const Named& named) {
  return named.libraries.empty() ? named.engine : named.engine + " " + named.libraries;
}

std::string problem_of(const fs::path& engine, const std::string& digits) {
  if (!are_digits(digits)) {
    return "the archive's record of it is damaged: '" + digits + "' names no engine";
  }
  const auto name = "the archived engine " + engine.string();
  std::error_code error;
  if (!fs::is_regular_file(engine, error)) return name + " is gone";
  if (access(engine.c_str(), X_OK) != 0) return name + " cannot be executed: " + std::strerror(errno) + " (chmod +x)";
  try {
    const auto found = first_digits(read_file(engine).value_or(""));
    if (found != digits) return name + " was modified: its SHA-256 begins with " + found;
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

const std::string& EngineArchive::digest_of(const fs::path& file) const {
  auto& known = digests_[file];
  std::error_code no_time;
  std::error_code no_size;
  const Version now{fs::last_write_time(file, no_time), fs::file_size(file, no_size)};
  const bool same = !no_time && !no_size && known.version == now && !known.sha256.empty();
  if (!same) known = {now, sha256_hex(read_file(file).value_or(""))};  // throws if it is not a file
  return known.sha256;
}

// A digest of the names and contents of libraries; empty if there are none.
std::string EngineArchive::digits_of(const std::vector<SharedLibrary>& libraries) const {
  std::string all;
  for (const auto& library : libraries) {
    all += library.name + " " + digest_of(library.file) + "\n";
  }
  return all.empty() ? "" : first_digits(all);
}

std::string EngineArchive::problem_of_libraries(const fs::path& folder, const std::string& digits) const {
  if (!are_digits(digits)) return "the archive's record of its libraries is damaged: '" + digits + "' names none";
  std::vector<SharedLibrary> found;
  for (const auto& file : entries(folder)) found.push_back({file.filename().string(), file});
  try {
    if (digits_of(found) == digits) return "";
  } catch (const RunDirectoryError& e) {
    return e.what();
  }
  return "its archived libraries in " + folder.string() + (found.empty() ? " are gone" : " were changed");
}

// Under another name first, so that an existing folder is always complete.
std::string EngineArchive::add_libraries(const fs::path& engine) const {
  const auto libraries = computing_libraries(engine);
  const auto digits = digits_of(libraries);
  const auto folder = folder_ / kLibraries / digits;
  if (digits.empty() || fs::exists(folder)) return digits;
  const auto unfinished = folder_ / kLibraries / (digits + "." + std::to_string(getpid()));
  fs::remove_all(unfinished);
  make_folder(unfinished);
  for (const auto& library : libraries) {
    write_atomically(unfinished / library.name, read_file(library.file).value_or(""), FileMode::executable);
  }
  std::error_code error;
  fs::rename(unfinished, folder, error);
  if (!error) return digits;
  fs::remove_all(unfinished);
  if (!fs::exists(folder))
    throw RunDirectoryError("[nightly] cannot create " + folder.string() + ": " + error.message());
  return digits;  // another process was faster
}

void EngineArchive::keep(const std::string& sweep_id, const std::string& matrix, const fs::path& engine) const {
  const Named named{add(engine), add_libraries(engine)};
  make_folder(folder_ / kNights);
  make_folder(folder_ / kMatrices);
  write_atomically(folder_ / kMatrices / sweep_id, matrix);
  write_atomically(folder_ / kNights / sweep_id, record_of(named));
}

void EngineArchive::set_control(const fs::path& engine) const {
  const auto digits = add(engine);
  // A user names it: this replaces a damaged earlier copy.
  if (!problem_of(folder_ / digits, digits).empty()) {
    fs::remove(folder_ / digits);
    add(engine);
  }
  write_atomically(folder_ / kControl, record_of({digits, add_libraries(engine)}));
}

std::optional<ArchivedEngine> EngineArchive::named_by(const fs::path& file) const {
  const auto record = read_file(file);
  if (!record) return std::nullopt;
  const auto named = parse_record(*record);
  ArchivedEngine out{.program = {.file = fs::absolute(folder_ / named.engine)}};
  out.problem = problem_of(out.program.file, named.engine);
  if (named.libraries.empty()) return out;
  out.program.libraries = fs::absolute(folder_ / kLibraries / named.libraries);
  if (out.problem.empty()) out.problem = problem_of_libraries(out.program.libraries, named.libraries);
  return out;
}

std::optional<ArchivedEngine> EngineArchive::of_night(const std::string& sweep_id) const {
  return named_by(folder_ / kNights / sweep_id);
}

std::optional<ArchivedEngine> EngineArchive::control() const {
  return named_by(folder_ / kControl);
}

void EngineArchive::prune(std::size_t newest_nights, const std::set<std::string>& kept) const {
  std::map<std::string, std::vector<fs::path>> nights;  // by matrix; nights without a matrix form a group
  for (const auto& night : entries(folder_ / kNights)) {
    nights[read_file(folder_ / kMatrices / night.filename()).value_or("")].push_back(night);
  }
  std::set<std::string> used;
  const auto use = [&used](const std::string& record) {
    const auto named = parse_record(record);
    used.insert({named.engine, named.libraries});
  };
  if (const auto record = read_file(folder_ / kControl)) use(*record);
  for (const auto& [matrix, of_matrix] : nights) {
    for (std::size_t i = 0; i < of_matrix.size(); ++i) {
      const bool is_old = i + newest_nights < of_matrix.size();
      if (is_old && !kept.contains(of_matrix[i].filename().string())) {
        fs::remove(of_matrix[i]);
        fs::remove(folder_ / kMatrices / of_matrix[i].filename());
      } else if (const auto record = read_file(of_matrix[i])) {
        use(*record);
      }
    }
  }
  for (const auto& entry : entries(folder_)) {
    const auto name = entry.filename().string();
    if (name.size() == kDigits && fs::is_regular_file(entry) && !used.contains(name)) fs::remove(entry);
  }
  for (const auto& entry : entries(folder_ / kLibraries)) {
    const auto name = entry.filename().string();
    if (name.size() == kDigits && !used.contains(name)) fs::remove_all(entry);
  }
}

}  // namespace perfbench::harness
