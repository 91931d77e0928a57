#include "harness/app/runs/benchmark_import.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "harness/readers/benchmarks/utc_text.h"
#include "harness/store/attempts/ingest.h"
#include "harness/store/queries/names.h"
#include "harness/system/input_error.h"
#include "harness/system/run_id.h"
#include "harness/system/utc.h"
#include "workloads/build_info/build_info.h"
#include "workloads/spec/regular_file.h"
#include "workloads/spec/run_program.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

using readers::BenchmarkRow;

// Reads a regular file from its beginning.
spec::ByteReader bytes_of_file(const spec::RegularFile& file) {
  return [&file, at = std::int64_t{0}](char* data, std::size_t size) mutable {
    const auto count = file.read_at(at, data, size);
    at += static_cast<std::int64_t>(count);
    return count;
  };
}

std::string digest_of(const spec::RegularFile& file) {
  constexpr std::size_t kReadBytes = std::size_t{1} << 20;
  Sha256 hash;
  std::string chunk(kReadBytes, '\0');
  const auto bytes = bytes_of_file(file);
  while (const auto count = bytes(chunk.data(), chunk.size())) hash.add(std::string_view(chunk).substr(0, count));
  return hash.hex();
}

// A path in a file is data from outside: it may lead to files beside that file, or in the folder above, only.
readers::SideFiles files_beside(const fs::path& file) {
  return [folder = file.parent_path()](const std::string& name) -> std::optional<std::string> {
    const auto path = fs::path(name).lexically_normal();
    const auto ups = path.begin() != path.end() && *path.begin() == "..";
    const bool leads_away = path.is_absolute() || (ups && path != fs::path("..") / path.filename());
    if (leads_away) return std::nullopt;
    return spec::read_regular_file(folder / path, spec::kLargestDocumentBytes);
  };
}

AttemptState state_of(readers::RowState state) {
  switch (state) {
    case readers::RowState::skipped:
      return AttemptState::excluded;
    case readers::RowState::failed:
      return AttemptState::crashed;
    case readers::RowState::doubtful:
      return AttemptState::quarantined;
    case readers::RowState::ok:
      break;
  }
  return AttemptState::ok;
}

std::string time_of_file(const fs::path& file) {
  struct stat found {};
  if (stat(file.c_str(), &found) != 0) return utc_now();
  return readers::utc_of_seconds(found.st_mtime);
}

// They stay open, so that what is imported is what the digest is of.
std::vector<spec::RegularFile> open_all(const std::vector<fs::path>& paths) {
  std::vector<spec::RegularFile> out;
  for (const auto& path : paths) {
    auto file = spec::RegularFile::open(path);
    if (!file) throw InputError(fmt::format("[import] {} does not exist", path.string()));
    out.push_back(std::move(*file));
  }
  return out;
}

// SHA-256 of a file, or of the digests of several in any order.
std::string digest_of(const std::vector<spec::RegularFile>& files) {
  std::vector<std::string> digests;
  for (const auto& file : files) digests.push_back(digest_of(file));
  if (digests.size() == 1) return digests.front();
  std::ranges::sort(digests);
  Sha256 hash;
  for (const auto& digest : digests) hash.add(digest);
  return hash.hex();
}

using AttemptNumbers = std::map<std::string, std::int64_t>;  // the last number of each run

// Makes the attempts of a file, one after the other.
class Attempts {
 public:
  Attempts(const BenchmarkImport& request, fs::path path, const spec::RegularFile& file, AttemptNumbers& numbers,
           ImportedBenchmarks& out)
      : request_(request), path_(std::move(path)), numbers_(numbers), out_(out) {
    try {
      file_ =
          readers::read_benchmarks(*request.format, {.bytes = bytes_of_file(file), .side_files = files_beside(path_)});
    } catch (const readers::BenchmarkError& e) {
      throw InputError(fmt::format("[import] {}:{}", path_.string(), e.what()));
    }
    started_utc_ = started();
    auto& facts = file_.facts;
    if (!request.git_commit.empty()) facts.git_commit = request.git_commit;
    take_matrix();
    out_.notes.insert(out_.notes.end(), file_.notes.begin(), file_.notes.end());
  }

  std::optional<RunEvidence> next() {
    if (at_ == file_.rows.size()) return std::nullopt;
    const auto& row = file_.rows[at_++];
    RunEvidence out;
    out.run = run_of(row);
    out.run_json = spec::canonical_json(out.run);
    out.attempt = record_of(row, run_id(out.run));
    out.recorded_state = out.attempt.state;
    out.record_sha256 = record_digest(out.attempt);
    out.environment = environment_of(row);
    out.samples = readers::samples_of(row);
    ++out_.states[out.attempt.state];
    if (!row.statistic.empty()) ++out_.averages;
    return out;
  }

 private:
  void take_matrix() {
    auto matrix = !request_.matrix.empty() ? request_.matrix : file_.facts.suite;
    if (matrix.empty()) matrix = request_.format->name;
    if (!out_.matrix.empty() && matrix != out_.matrix) {
      throw InputError(fmt::format("[import] {} is of {} and {} of {}: name the matrix of their night with --matrix",
                                   request_.files.front().string(), out_.matrix, path_.string(), matrix));
    }
    out_.matrix = std::move(matrix);
  }

  std::string started() const {
    if (!request_.started_utc.empty()) return request_.started_utc;
    if (!file_.facts.started_utc.empty()) return file_.facts.started_utc;
    out_.notes.emplace_back(
        "the file does not say when it was made: the time of its last change is used, and --date sets another one");
    return time_of_file(path_);
  }

  static std::map<std::string, std::string> axes_of(const BenchmarkRow& row) {
    auto axes = row.axes;
    axes["benchmark"] = row.name;
    if (!row.statistic.empty()) axes["statistic"] = row.statistic;
    return axes;
  }

  // The suite, the name and everything that makes it another benchmark, in the place of a command.
  spec::RunSpec run_of(const BenchmarkRow& row) const {
    spec::ProgramSpec program{.command = {out_.matrix, row.name}, .reader = std::string(request_.format->name)};
    for (const auto& [axis, value] : axes_of(row)) {
      if (axis != "benchmark") program.command.push_back(axis + "=" + value);
    }
    program.command.insert(program.command.end(), row.identity.begin(), row.identity.end());
    program.metrics = row.declared;
    spec::RunSpec run;
    run.program =
        std::make_shared<const spec::RunProgram>(spec::RunProgram{.spec = std::move(program), .declared = {}});
    return run;
  }

  AttemptRecord record_of(const BenchmarkRow& row, std::string id) {
    AttemptRecord record;
    record.run_id = std::move(id);
    record.attempt = ++numbers_[record.run_id];
    record.state = state_of(row.state);
    record.reason = row.reason;
    record.started_utc = started_utc_;
    record.matrix = out_.matrix;
    record.axes = axes_of(row);
    record.cell = "benchmark=" + row.name;
    for (const auto& [axis, value] : record.axes) {
      if (axis != "benchmark") record.cell += " " + axis + "=" + value;
    }
    record.command = {"perfbench", "import", "--format", std::string(request_.format->name), path_.filename().string()};
    record.sweep_id = out_.sweep_id;
    record.sweep_kind = SweepKind::night;
    record.perfbench_version = std::string(build_info::current().version);
    return record;
  }

  spec::EnvironmentRecord environment_of(const BenchmarkRow& row) const {
    const auto& facts = file_.facts;
    spec::EnvironmentRecord env;
    env.hostname = facts.hostname;
    env.kernel = facts.kernel;
    env.os = facts.os;
    env.cpu_model = facts.cpu_model;
    env.cores_online = env.cores_allowed = facts.cpus;
    env.load_1m = facts.load_1m;
    env.memory_bytes = facts.memory_bytes;
    env.build_type = facts.build_type;
    env.git_commit = facts.git_commit;
    env.git_dirty = facts.git_dirty;
    env.libraries = facts.libraries;
    env.gpu_model = row.gpu_model.empty() ? facts.gpu_model : row.gpu_model;
    return env;
  }

  const BenchmarkImport& request_;
  fs::path path_;
  AttemptNumbers& numbers_;
  ImportedBenchmarks& out_;
  readers::BenchmarkFile file_;
  std::string started_utc_;
  std::size_t at_ = 0;
};

}  // namespace

ImportedBenchmarks import_benchmarks(Connection& db, const BenchmarkImport& request) {
  constexpr std::size_t kDigits = 16;
  try {
    const auto files = open_all(request.files);
    ImportedBenchmarks out{.sweep_id = "import-" + digest_of(files).substr(0, kDigits)};
    out.present = has_sweep(db, out.sweep_id);
    if (out.present) return out;
    AttemptNumbers numbers;
    std::size_t begun = 0;
    std::optional<Attempts> attempts;
    const auto next = [&]() -> std::optional<RunEvidence> {
      while (true) {
        if (attempts) {
          if (auto made = attempts->next()) return made;
        }
        if (begun == files.size()) return std::nullopt;
        attempts.emplace(request, request.files[begun], files[begun], numbers, out);
        ++begun;
      }
    };
    const auto stored = ingest_sweep(db, out.sweep_id, next);
    out.present = stored.present;
    out.samples = stored.samples;
    return out;
  } catch (const spec::FileError& e) {
    throw InputError(fmt::format("[import] {}", e.what()));
  }
}

}  // namespace perfbench::harness
