#include "harness/store/archive/nsight_export.h"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "harness/evidence/output_file.h"
#include "harness/store/sqlite.h"
#include "harness/system/files.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

using spec::TraceEvent;
using spec::TraceKind;

constexpr const char* kSchema = R"sql(
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
CREATE TABLE ENUM_NSYS_EVENT_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
  start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER,
  cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL,
  gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL,
  staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL,
  localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL, sharedMemoryExecuted INTEGER, graphNodeId INTEGER,
  sharedMemoryLimitConfig INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (
  start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL,
  copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER,
  srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER, migrationCause INTEGER, graphNodeId INTEGER,
  virtualAddress INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (
  start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL,
  bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (
  start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE NVTX_EVENTS (
  start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER,
  text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER,
  int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, floatValue REAL, jsonTextId INTEGER,
  jsonText TEXT, binaryData TEXT);
INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES (33, 'NvtxCategory', 'NVTX Category'),
                                        (59, 'NvtxPushPopRange', 'NVTX Push/Pop Range');
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT', 'perfbench');
)sql";

constexpr std::int64_t kCategoryEvent = 33;
constexpr std::int64_t kRangeEvent = 59;

std::int64_t global_pid(std::int64_t rank) {
  return (rank + 1) << 24;
}
std::int64_t global_tid(const TraceEvent& event) {
  return global_pid(event.rank) + event.lane;
}
std::optional<std::int64_t> or_null(std::int64_t number) {
  return number == 0 ? std::nullopt : std::optional(number);
}

// Only the name of the function: no return type, namespaces, template arguments or parameters.
std::string short_name(std::string name) {
  const std::string anonymous = "(anonymous namespace)::";
  for (auto at = name.find(anonymous); at != std::string::npos; at = name.find(anonymous)) {
    name.erase(at, anonymous.size());
  }
  name = name.substr(0, name.find_first_of("<("));
  const auto before = name.find_last_of(": ");
  return before == std::string::npos ? name : name.substr(before + 1);
}

class NsightWriter {
 public:
  explicit NsightWriter(Connection& db)
      : db_(db),
        string_(db, "INSERT INTO StringIds (id, value) VALUES (?, ?)"),
        range_(db,
               "INSERT INTO NVTX_EVENTS (start, end, eventType, rangeId, category, text, globalTid, domainId, "
               "uint64Value, jsonText) VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?)"),
        call_(db,
              "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, nameId, "
              "returnValue) VALUES (?, ?, 0, ?, ?, ?, 0)"),
        kernel_(db,
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, "
                "globalPid, demangledName, shortName, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, "
                "staticSharedMemory, dynamicSharedMemory, localMemoryPerThread, localMemoryTotal, gridId) "
                "VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)"),
        copy_(db,
              "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId, correlationId, "
              "globalPid, bytes, copyKind) VALUES (?, ?, ?, 0, ?, ?, ?, ?, 0)"),
        memset_(db,
                "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, contextId, streamId, correlationId, "
                "globalPid, value, bytes) VALUES (?, ?, ?, 0, ?, ?, ?, 0, ?)") {}

  void add(const RankTrace& trace) {
    name_lanes(trace);
    for (const auto& event : trace.events) add(event);
  }

  // The names of the categories of ranges.
  void add_categories() {
    for (const auto& [kind, name] : spec::EnumNames<TraceKind>::kNames) {
      range_.run(std::int64_t{0}, nullptr, kCategoryEvent, nullptr, static_cast<std::int64_t>(kind), name, nullptr,
                 nullptr, nullptr);
    }
  }

 private:
  std::int64_t id_of(const std::string& text) {
    const auto [entry, is_new] = strings_.emplace(text, static_cast<std::int64_t>(strings_.size()) + 1);
    if (is_new) string_.run(entry->second, text);
    return entry->second;
  }

  void add(const TraceEvent& event) {
    const auto correlation = or_null(event.correlation);
    const bool device = event.device != spec::kHostDevice;
    const auto pid = global_pid(event.rank);
    if (event.kind == TraceKind::host_call) {
      call_.run(event.start_ns, event.end_ns, global_tid(event), correlation, id_of(event.name));
    } else if (device && event.kind == TraceKind::copy) {
      copy_.run(event.start_ns, event.end_ns, event.device, event.lane, correlation, pid, event.bytes);
    } else if (device && event.kind == TraceKind::memset) {
      memset_.run(event.start_ns, event.end_ns, event.device, event.lane, correlation, pid, event.bytes);
    } else if (device) {
      const auto& name = event.kernel_name.empty() ? event.name : event.kernel_name;
      kernel_.run(event.start_ns, event.end_ns, event.device, event.lane, correlation, pid, id_of(name),
                  id_of(short_name(name)));
    } else {
      add_range(event);
    }
  }

  void add_range(const TraceEvent& event) {
    nlohmann::json payload{{"step", event.step}};
    if (!event.axis.empty()) payload["axis"] = event.axis;
    range_.run(event.start_ns, event.end_ns, kRangeEvent, or_null(event.correlation),
               static_cast<std::int64_t>(event.kind), event.name, global_tid(event), or_null(event.bytes),
               payload.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }

  void name_lanes(const RankTrace& trace) {
    std::map<std::int64_t, bool> lanes;
    for (const auto& event : trace.events) {
      if (event.device == spec::kHostDevice) lanes[event.lane] = true;
    }
    Statement name(db_, "INSERT INTO ThreadNames (nameId, globalTid) VALUES (?, ?)");
    for (const auto& [lane, _] : lanes) {
      name.run(id_of("rank " + std::to_string(trace.rank) + " lane " + std::to_string(lane)),
               global_pid(trace.rank) + lane);
    }
  }

  Connection& db_;
  std::map<std::string, std::int64_t> strings_;
  Statement string_;
  Statement range_;
  Statement call_;
  Statement kernel_;
  Statement copy_;
  Statement memset_;
};

}  // namespace

void write_nsight_sqlite(const fs::path& file, const std::vector<RankTrace>& traces) {
  const auto place = output_place(file);
  const TemporaryFile beside(place.unfinished_stem(), "partial");
  {
    Connection db(beside.path(), OpenMode::read_write, 0);
    // The file is written once and renamed, so a journal on disk would be of no use.
    db.execute("PRAGMA journal_mode = MEMORY");
    Transaction transaction(db);
    db.execute(kSchema);
    NsightWriter writer(db);
    writer.add_categories();
    for (const auto& trace : traces) writer.add(trace);
    transaction.commit();
  }
  move_to_output(beside.path(), place);
}

}  // namespace perfbench::harness
