#include "harness/app/sweep/checks.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "harness/evidence/output_file.h"
#include "harness/execute/launcher.h"
#include "harness/plan/planner.h"
#include "harness/system/files.h"
#include "harness/system/input_error.h"
#include "workloads/spec/process_token.h"
#include "workloads/spec/run_program.h"

namespace perfbench::harness {

RunnableCheck::RunnableCheck(EngineProgram engine, int cancel_fd)
    : engine_(std::move(engine)), cancel_fd_(cancel_fd), mpirun_(find_mpirun().has_value()) {}

std::optional<std::string> RunnableCheck::obstacle(const PlannedCell& planned) {
  const auto& run = planned.cell.run;
  if (run.mesh.devices() > 1 && !mpirun_) {
    return fmt::format(
        "{} ranks need mpirun, which is not in PATH: install Open MPI (Debian: openmpi-bin), or set PERFBENCH_MPIRUN",
        run.mesh.devices());
  }
  if (run.device == spec::Device::cpu && run.hardware == "host") return std::nullopt;
  if (!answer_) answer_ = ask_engine_environment(engine_, cancel_fd_);
  return answer_->facts ? not_runnable_here(planned, *answer_->facts) : answer_->error;
}

std::optional<std::string> why_launch_file(const Cell& cell, RunsWhere where) {
  if (!starts_on_every_node(cell.run)) return std::nullopt;
  const auto nodes = cell.run.mesh.dcn.size();
  const bool in_container = !cell.run.program->spec.container.image.empty();
  const bool has_nodes =
      where == RunsWhere::on_nodes_elsewhere || (where == RunsWhere::here && nodes_of_job() >= nodes);
  if (has_nodes && !in_container) return std::nullopt;
  return fmt::format(
      "the program has to be started{} on each of {} nodes, which {}: `perfbench launch --render` writes the file of a "
      "job that does",
      in_container ? " in a container" : "", nodes,
      in_container ? "perfbench does not do" : "perfbench does in jobs of Slurm only (--launcher slurm)");
}

namespace fs = std::filesystem;
namespace {

[[noreturn]] void refuse(const std::string& what, const fs::path& named, const std::string& why) {
  throw InputError(
      fmt::format("{} {}: {}; nothing was run: make it writable, or name another one", what, named.string(), why));
}

// Permissions do not show it: a full disk, a file system that is mounted read-only, or root.
void require_file_in(const fs::path& folder, const std::string& what, const fs::path& named) {
  const auto probe = folder / (".perfbench-writes." + spec::process_token());
  const FileDescriptor fd(open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const bool written = fd.is_open() && write(fd.get(), "x", 1) == 1;
  const std::string why = written ? "" : std::strerror(errno);
  if (fd.is_open()) unlink(probe.c_str());
  if (!written) refuse(what, named, fmt::format("cannot create a file in {}: {}", folder.string(), why));
}

}  // namespace

void require_writable_file(const std::string& what, const fs::path& file) {
  try {
    const auto place = output_place(file);
    if (!place.in_place) return require_file_in(place.file.parent_path(), what, file);
    // The reader of a pipe may be gone by the time that the command writes.
    if (!fs::is_character_file(place.file)) refuse(what, file, "it is neither a regular file nor a device");
    if (access(place.file.c_str(), W_OK) != 0) refuse(what, file, std::strerror(errno));
  } catch (const OutputError& e) {
    refuse(what, file, e.what());
  }
}

void require_writable_folder(const std::string& what, const fs::path& folder) {
  auto there = fs::absolute(folder).lexically_normal();
  std::error_code error;
  while (fs::symlink_status(there, error).type() == fs::file_type::not_found && there.has_relative_path()) {
    there = there.parent_path();
  }
  if (!fs::is_directory(there, error)) refuse(what, folder, fmt::format("{} is not a folder", there.string()));
  require_file_in(there, what, folder);
}

}  // namespace perfbench::harness
