#include "harness/launch/session_folder.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>

#include "harness/evidence/evidence_file.h"
#include "harness/evidence/run_directory.h"
#include "harness/system/input_error.h"
#include "workloads/spec/fields_json.h"
#include "workloads/spec/parse_json.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

template <class Record>
void write_record(const fs::path& file, const Record& record) {
  write_atomically(file, spec::json_line(spec::fields_to_json(record)) + "\n");
}

template <class Record>
std::optional<Record> read_record(const fs::path& file) {
  try {
    return read_document(file, [](const std::string& text) {
      return spec::fields_from_json<Record>(spec::parse_json(text), spec::Missing::is_error);
    });
  } catch (const DamagedFile& e) {
    throw InputError(fmt::format("[launch] {}: {}", file.parent_path().string(), e.what()));
  } catch (const spec::SpecError& e) {
    throw InputError(fmt::format("[launch] {}: {} {}", file.string(), e.pointer(), e.what()));
  }
}

fs::path numbered(const fs::path& folder, const char* name, std::int64_t task) {
  return folder / fmt::format("{}.{}.json", name, task);
}

const char* name_of(SessionFolder::Mark mark) {
  switch (mark) {
    case SessionFolder::Mark::complete:
      return "complete";
    case SessionFolder::Mark::cancel:
      return "cancel";
    case SessionFolder::Mark::closed:
      break;
  }
  return "closed";
}

const char* name_of(SessionFolder::Sign sign) {
  return sign == SessionFolder::Sign::alive ? "alive" : "working";
}

bool is_there(const fs::path& file) {
  std::error_code error;
  return fs::exists(file, error);
}

}  // namespace

void SessionFolder::write(const SessionRecord& record) const {
  write_record(path_ / "session.json", record);
}
void SessionFolder::write(const JobHandle& handle) const {
  write_record(path_ / "job.json", handle);
}
void SessionFolder::write(std::int64_t task, const SessionTask& record) const {
  write_record(numbered(path_, "task", task), record);
}
void SessionFolder::write(std::int64_t task, const TaskBegun& record) const {
  write_record(numbered(path_, "begun", task), record);
}
void SessionFolder::write(std::int64_t task, const TaskDone& record) const {
  write_record(numbered(path_, "done", task), record);
}
void SessionFolder::set(Mark mark) const {
  write_atomically(path_ / name_of(mark), "");
}

std::optional<SessionRecord> SessionFolder::session() const {
  return read_record<SessionRecord>(path_ / "session.json");
}
std::optional<JobHandle> SessionFolder::job() const {
  return read_record<JobHandle>(path_ / "job.json");
}
std::optional<SessionTask> SessionFolder::task(std::int64_t task) const {
  return read_record<SessionTask>(numbered(path_, "task", task));
}
std::optional<TaskBegun> SessionFolder::begun(std::int64_t task) const {
  return read_record<TaskBegun>(numbered(path_, "begun", task));
}
std::optional<TaskDone> SessionFolder::done(std::int64_t task) const {
  return read_record<TaskDone>(numbered(path_, "done", task));
}
void SessionFolder::set_lost(std::int64_t task) const {
  write_atomically(path_ / fmt::format("lost.{}", task), "");
}
bool SessionFolder::is_lost(std::int64_t task) const {
  return is_there(path_ / fmt::format("lost.{}", task));
}
bool SessionFolder::has(Mark mark) const {
  return is_there(path_ / name_of(mark));
}
void SessionFolder::refresh() const {
  std::error_code error;
  const fs::directory_iterator opened(path_, error);
}

void SessionFolder::give(Sign sign, std::int64_t count) const {
  std::ofstream(path_ / name_of(sign)) << count << '\n';
}
std::string SessionFolder::last(Sign sign) const {
  std::ifstream in(path_ / name_of(sign));
  std::string text;
  std::getline(in, text);
  return text;
}

fs::path sessions_folder(const fs::path& runs) {
  return runs / "sessions";
}

std::vector<SessionFolder> open_sessions(const fs::path& runs, const std::string& matrix, const std::string& since) {
  const auto is_wanted = [&](const SessionRecord& record) {
    return record.sweep_kind == SweepKind::hand && record.matrix == matrix && record.sweep_id >= since;
  };
  std::vector<fs::path> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(sessions_folder(runs), none)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  std::vector<SessionFolder> out;
  for (const auto& path : found) {
    const SessionFolder folder(path);
    try {
      const auto record = folder.session();
      if (record && is_wanted(*record) && !folder.has(SessionFolder::Mark::closed)) out.push_back(folder);
    } catch (const InputError&) {
      // not written by a session
    }
  }
  return out;
}

}  // namespace perfbench::harness
