#include "engine/ops/cuda/matmul/algorithm_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <ostream>

#include "engine/core/error.h"
#include "engine/metrics/record_files.h"

namespace perfbench::engine::cuda {
namespace {

namespace fs = std::filesystem;

// 2: alignments of problems count up to 16 bytes, and every choice was measured.
constexpr int kFormat = 2;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Held while the file is read and replaced; the kernel releases it with the process. It is advisory, and not available
// on a file system without locks: then two processes that measure at the same moment may each keep their own choice
// until the next run.
class FileLock {
 public:
  explicit FileLock(const fs::path& path) : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (descriptor_ >= 0) ::flock(descriptor_, LOCK_EX);
  }
  ~FileLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_;
};

nlohmann::json to_json(const AlgorithmScope& scope) {
  return {{"gpu", scope.gpu}, {"driver", scope.driver}, {"library", scope.library}};
}

}  // namespace

ChosenAlgorithm fastest(std::span<const TimedAlgorithm> candidates) {
  if (candidates.empty()) throw LogicFault("algorithms: none to choose from");
  const TimedAlgorithm* best = nullptr;
  double least = 0;
  for (const auto& candidate : candidates) {
    const double time = median(candidate.times_ns);
    if (best != nullptr && time >= least) continue;
    best = &candidate;
    least = time;
  }
  return {best->algorithm, least};
}

fs::path cache_folder() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return fs::path(value == nullptr ? "" : value);
  };
  // The XDG Base Directory Specification says to ignore a relative path.
  if (const auto cache = variable("XDG_CACHE_HOME"); cache.is_absolute()) return cache / "perfbench";
  if (const auto home = variable("HOME"); home.is_absolute()) return home / ".cache" / "perfbench";
  return {};
}

std::string cache_file_name(const AlgorithmScope& scope) {
  std::string name = scope.gpu + "_" + scope.driver + "_" + scope.library + ".json";
  for (char& c : name) {
    const auto letter = static_cast<unsigned char>(c);
    const bool kept = std::isalnum(letter) != 0 || c == '.' || c == '_';
    c = kept ? static_cast<char>(std::tolower(letter)) : '-';
  }
  return name;
}

AlgorithmCache::AlgorithmCache(fs::path folder, AlgorithmScope scope, std::ostream& log)
    : scope_(std::move(scope)), log_(log) {
  if (folder.empty()) return;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    log_ << "perfbench-engine: algorithms of matrix products are not kept, cannot create " << folder.string() << ": "
         << error.message() << std::endl;
    return;
  }
  file_ = folder / cache_file_name(scope_);
  choices_ = read();
}

std::optional<ChosenAlgorithm> AlgorithmCache::find(const std::string& problem) const {
  const auto found = choices_.find(problem);
  return found == choices_.end() ? std::nullopt : std::optional(found->second);
}

ChosenAlgorithm AlgorithmCache::settle(const std::string& problem, const ChosenAlgorithm& chosen) {
  if (file_.empty()) return choices_.emplace(problem, chosen).first->second;
  const FileLock lock(file_.string() + ".lock");
  // Choices that this process has used stay for its lifetime; for all others the file takes precedence.
  choices_.merge(read());
  const auto [settled, mine] = choices_.emplace(problem, chosen);
  if (mine) write();
  return settled->second;
}

AlgorithmCache::Choices AlgorithmCache::read() const {
  std::error_code error;
  if (!fs::exists(file_, error)) return {};
  try {
    const auto json = nlohmann::json::parse(read_whole_file(file_));
    if (json.at("format") != kFormat) throw BadInput("format is not " + std::to_string(kFormat));
    if (json.at("scope") != to_json(scope_)) throw BadInput("made for " + json.at("scope").dump());
    Choices choices;
    for (const auto& [problem, choice] : json.at("algorithms").items()) {
      choices[problem] = {.algorithm = choice.at("bits").get<Algorithm>(),
                          .time_ns = choice.at("time_ns").get<double>()};
    }
    return choices;
  } catch (const std::exception& e) {
    log_ << "perfbench-engine: ignoring " << file_.string() << " (algorithms of matrix products): " << e.what()
         << std::endl;
    return {};
  }
}

void AlgorithmCache::write() const {
  nlohmann::json algorithms = nlohmann::json::object();
  for (const auto& [problem, choice] : choices_) {
    algorithms[problem] = {{"bits", choice.algorithm}, {"time_ns", choice.time_ns}};
  }
  try {
    write_whole_file(
        file_,
        nlohmann::json{{"format", kFormat}, {"scope", to_json(scope_)}, {"algorithms", algorithms}}.dump(1) + "\n");
  } catch (const EngineError& e) {
    log_ << "perfbench-engine: algorithms of matrix products are not kept: " << e.what() << std::endl;
  }
}

}  // namespace perfbench::engine::cuda
