// A session: attempts that are executed one after the other in one job of a scheduler, so that they share its nodes.
// The harness and the job exchange files in a folder that both see. Each file is written once, atomically, except
// `alive` and `working`.
//
//     RUNS/sessions/<session id>/
//         session.json      SessionRecord, by the harness, before the job is submitted
//         job.json          JobHandle, by the harness, when the job was submitted
//         task.<N>.json     SessionTask N = 0, 1 ..., by the harness
//         begun.<N>.json    TaskBegun, by the worker, before the attempt starts
//         done.<N>.json     TaskDone, by the worker, when the attempt has its attempt.json
//         lost.<N>          by the harness, before it completes the attempt of an ended job itself
//         complete          by the harness: no more tasks follow
//         cancel            by the harness: end the running attempt, and begin no other
//         closed            by the harness: the job has ended and its results are taken over
//         alive             a number that a waiting harness increases
//         working           a number that the worker increases
//         job.log           output of the job
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/evidence/attempt.h"
#include "harness/execute/attempt_execution.h"
#include "workloads/spec/fields.h"

namespace perfbench::harness {

// The surroundings of a Job of Kubernetes.
struct KubernetesJob {
  std::string claim;
  std::string folder;
  std::string queue;
  std::string secret;
  std::map<std::string, std::int64_t> resources;

  bool operator==(const KubernetesJob&) const = default;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"claim", "PersistentVolumeClaim for the results"}, self.claim);
    f(Field{"folder", "where this machine has mounted the same volume"}, self.folder);
    f(Field{"queue", "queue of Kueue"}, self.queue);
    f(Field{"secret", "Secret that has the variables that a program needs"}, self.secret);
    f(Field{"resources", "resources of a node", 0}, self.resources);
  }
};

// A request of a user: "slurm", "ssh:node1".
struct LaunchRequest {
  std::string launcher;              // the name of a launcher
  std::string place;                 // a partition of Slurm, a host of ssh, a namespace; empty: the default
  std::vector<std::string> options;  // words for sbatch, `podman run`, `docker run` or kubectl
  std::string image;                 // of runs_in_image()
  KubernetesJob kubernetes;

  bool operator==(const LaunchRequest&) const = default;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"launcher", "name of the launcher"}, self.launcher);
    f(Field{"place", "partition, host or namespace"}, self.place);
    f(Field{"options", "more words for the command that submits"}, self.options);
    f(Field{"image", "image of the container"}, self.image);
    f(Field{"kubernetes", "surroundings of a Job of Kubernetes"}.omitted_at_default(), self.kubernetes);
  }
};

// Whether the launcher's jobs run in an image, which has a perfbench and an engine of its own.
inline bool runs_in_image(const std::string& launcher) {
  return launcher == "podman" || launcher == "docker" || launcher == "kubernetes";
}

struct SessionRecord {
  std::int64_t version = 1;
  std::string session_id;  // also the name of the job
  std::string sweep_id;
  SweepKind sweep_kind = SweepKind::hand;
  std::string matrix;
  std::string begun_utc;
  std::string working_dir;  // of the worker: {cwd} of programs
  std::string image;        // JobPlace::image
  LaunchRequest launch;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"version", "version of this record", 1, 1}, self.version);
    f(Field{"session_id", "name of the job"}, self.session_id);
    f(Field{"sweep_id", "the sweep it belongs to"}, self.sweep_id);
    f(Field{"sweep_kind", "purpose of the sweep"}, self.sweep_kind);
    f(Field{"matrix", "name of its matrix"}, self.matrix);
    f(Field{"begun_utc", "when it was submitted"}, self.begun_utc);
    f(Field{"working_dir", "folder in which its commands start"}, self.working_dir);
    f(Field{"image", "the image that the job runs in"}.omitted_at_default(), self.image);
    f(Field{"launch", "what was asked for"}, self.launch);
  }
};

struct JobHandle {
  std::string job;  // the launcher's number or name for it

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(spec::Field{"job", "the launcher's number or name"}, self.job);
  }
};

struct SessionTask {
  AttemptRecord attempt;  // as it would be at its beginning
  std::string run;        // canonical JSON of the run; its SHA-256 is the run id
  std::string program_repo;
  std::string engine;            // absolute path; empty: that of the job's perfbench
  std::string engine_libraries;  // EngineProgram::libraries
  std::vector<std::string> engine_arguments;
  std::int64_t time_limit_ns = 0;
  std::int64_t memory_limit_bytes = 0;
  bool without_lock = false;  // MachineUse::shared

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"attempt", "attempt.json at its beginning"}, self.attempt);
    f(Field{"run", "text of run.json"}, self.run);
    f(Field{"program_repo", "folder for {repo}"}, self.program_repo);
    f(Field{"engine", "path of the engine"}, self.engine);
    f(Field{"engine_libraries", "folder of its libraries"}, self.engine_libraries);
    f(Field{"engine_arguments", "its arguments beside those of every run"}, self.engine_arguments);
    f(Field{"time_limit_ns", "for the attempt", 0}, self.time_limit_ns);
    f(Field{"memory_limit_bytes", "for all its processes; 0: no limit", 0}, self.memory_limit_bytes);
    f(Field{"without_lock", "whether others may measure beside it"}.omitted_at_default(), self.without_lock);
  }
};

struct TaskBegun {
  std::string directory;  // absolute path of the run directory
  std::string started_utc;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(spec::Field{"directory", "the run directory"}, self.directory);
    f(spec::Field{"started_utc", "when it began"}, self.started_utc);
  }
};

struct TaskDone {
  std::string directory;  // absolute path of the run directory
  double steal_fraction = 0;
  double foreign_fraction = 0;
  std::string busiest;
  std::optional<std::int64_t> instructions;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"directory", "the run directory"}, self.directory);
    f(Field{"steal_fraction", "core time that the hypervisor took", 0}, self.steal_fraction);
    f(Field{"foreign_fraction", "core time that other processes used", 0}, self.foreign_fraction);
    f(Field{"busiest", "the busiest of them"}, self.busiest);
    f(Field{"instructions", "retired in user mode"}, self.instructions);
  }
};

class SessionFolder {
 public:
  enum class Mark { complete, cancel, closed };

  explicit SessionFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path log() const { return path_ / "job.log"; }

  // Each writes atomically and throws RunDirectoryError.
  void write(const SessionRecord& record) const;
  void write(const JobHandle& handle) const;
  void write(std::int64_t task, const SessionTask& record) const;
  void write(std::int64_t task, const TaskBegun& record) const;
  void write(std::int64_t task, const TaskDone& record) const;
  void set(Mark mark) const;
  void set_lost(std::int64_t task) const;

  // nullopt if the file does not exist yet. Throw InputError if it is damaged.
  std::optional<SessionRecord> session() const;
  std::optional<JobHandle> job() const;
  std::optional<SessionTask> task(std::int64_t task) const;
  std::optional<TaskBegun> begun(std::int64_t task) const;
  std::optional<TaskDone> done(std::int64_t task) const;
  bool has(Mark mark) const;
  bool is_lost(std::int64_t task) const;
  // Makes visible what another machine wrote: opening a folder asks the server of a network file system for its
  // entries.
  void refresh() const;

  // Signs of life. They are not flushed, because losing one costs nothing.
  enum class Sign { alive, working };
  void give(Sign sign, std::int64_t count) const;
  std::string last(Sign sign) const;

 private:
  std::filesystem::path path_;
};

// The sessions of sweeps by hand of this matrix that are not closed, from the sweep `since` on: the ids of sweeps sort
// by time. Damaged folders are left out.
std::vector<SessionFolder> open_sessions(const std::filesystem::path& runs, const std::string& matrix,
                                         const std::string& since);

std::filesystem::path sessions_folder(const std::filesystem::path& runs);

}  // namespace perfbench::harness
