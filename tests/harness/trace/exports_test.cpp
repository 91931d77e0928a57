// The exports, read back by what others would read them with: plain SQL, a JSON reader.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/sqlite/sqlite.h"
#include "harness/trace/chrome_export.h"
#include "harness/trace/nsight_export.h"
#include "harness/trace/trace_summary.h"
#include "tests/harness/example_run.h"
#include "tests/harness/trace/made_up_trace.h"
#include "workloads/spec/fields_json.h"

namespace perfbench::harness {
namespace {

using spec::TraceKind;
using testing::ElementsAre;
using testing::SizeIs;

std::vector<RankTrace> gpu_traces() {
  MadeUpTrace made(1);
  made.step(4, 1000, 2000)
      .host(TraceKind::op, "matmul", 1000, 1100)
      .host(TraceKind::host_call, "cudaLaunchKernel", 1010, 1020, 55)
      .collective("all_reduce", 1200, 1300, 9)
      .device(TraceKind::kernel, "void (anonymous namespace)::ns::gemm<float, 3>(float*)", 7, 1050, 1500, 55)
      .device(TraceKind::copy, "", 8, 1500, 1510, 56)
      .device(TraceKind::memset, "", 8, 1510, 1520, 57);
  return {made.trace()};
}

// The rows of a query, columns joined by '|'.
std::vector<std::string> rows(const std::filesystem::path& file, const std::string& sql) {
  const Connection db(file, OpenMode::read_only, 0);
  Statement query(db, sql);
  std::vector<std::string> out;
  while (query.step()) {
    std::string row;
    for (int c = 0; c < query.columns(); ++c) row += (c == 0 ? "" : "|") + query.text(c);
    out.push_back(row);
  }
  return out;
}

TEST(NsightExport, JoinsKernelsToCallsAndNamesAsAnExportOfNsightSystemsDoes) {
  ScratchFolder scratch;
  const auto file = scratch / "trace.sqlite";
  write_nsight_sqlite(file, gpu_traces());
  EXPECT_THAT(rows(file,
                   "SELECT k.start, k.end, k.deviceId, k.streamId, d.value, s.value, c.value, r.start, r.globalTid "
                   "FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds d ON d.id = k.demangledName "
                   "JOIN StringIds s ON s.id = k.shortName "
                   "JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId "
                   "JOIN StringIds c ON c.id = r.nameId"),
              ElementsAre("1050|1500|0|7|void (anonymous namespace)::ns::gemm<float, 3>(float*)|gemm|"
                          "cudaLaunchKernel|1010|33554432"));
  EXPECT_THAT(rows(file, "SELECT start, end, streamId, bytes, correlationId FROM CUPTI_ACTIVITY_KIND_MEMCPY"),
              ElementsAre("1500|1510|8|256|56"));
  EXPECT_THAT(rows(file, "SELECT start, end, bytes, value FROM CUPTI_ACTIVITY_KIND_MEMSET"),
              ElementsAre("1510|1520|256|0"));
  // The query with which ranges are usually read.
  EXPECT_THAT(rows(file,
                   "SELECT n.text, n.start, n.end, n.globalTid / 0x1000000 % 0x1000000, n.globalTid % 0x1000000 "
                   "FROM NVTX_EVENTS n JOIN ENUM_NSYS_EVENT_TYPE t ON t.id = n.eventType "
                   "WHERE t.name = 'NvtxPushPopRange' ORDER BY n.start"),
              ElementsAre("step|1000|2000|2|0", "matmul|1000|1100|2|0", "all_reduce|1200|1300|2|1"));
  EXPECT_THAT(rows(file,
                   "SELECT n.text, c.text, n.uint64Value, n.jsonText FROM NVTX_EVENTS n JOIN NVTX_EVENTS c "
                   "ON c.category = n.category AND c.eventType = 33 WHERE n.eventType = 59 AND n.text = 'all_reduce'"),
              ElementsAre(R"(all_reduce|collective|4096|{"axis":"fsdp","step":4})"));
}

TEST(NsightExport, AMarkerOfALibraryIsARangeBesideTheEnginesOwn) {
  auto traces = gpu_traces();
  spec::TraceEvent marker;
  marker.rank = 1;
  marker.step = 4;
  marker.kind = TraceKind::marker;
  marker.name = "NCCL: ncclAllReduce";
  marker.start_ns = 1150;
  marker.end_ns = 1190;
  marker.lane = 2;
  traces.front().events.push_back(marker);
  ScratchFolder scratch;
  const auto file = scratch / "trace.sqlite";
  write_nsight_sqlite(file, traces);
  EXPECT_THAT(rows(file,
                   "SELECT n.text, n.start, n.end, n.globalTid % 0x1000000, c.text FROM NVTX_EVENTS n JOIN NVTX_EVENTS "
                   "c ON c.category = n.category AND c.eventType = 33 WHERE n.eventType = 59 AND n.text LIKE 'NCCL%'"),
              ElementsAre("NCCL: ncclAllReduce|1150|1190|2|marker"));
  // It executes nothing: where the time went does not change.
  const auto json_of = [](const auto& of) { return spec::value_to_json(summarise(of), spec::Written::whole); };
  EXPECT_EQ(json_of(traces), json_of(gpu_traces()));
}

TEST(NsightExport, ReplacesAnOlderFileAndHoldsEveryEvent) {
  ScratchFolder scratch;
  const auto file = scratch / "trace.sqlite";
  write_nsight_sqlite(file, gpu_traces());
  write_nsight_sqlite(file, example_traces());
  EXPECT_THAT(rows(file, "SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 59"), ElementsAre("24"));
  EXPECT_THAT(rows(file, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"), ElementsAre("0"));
  EXPECT_THAT(rows(file, "SELECT count(*) FROM ThreadNames"), ElementsAre("4"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "trace.sqlite.partial"));
  EXPECT_THROW(write_nsight_sqlite(scratch / "no/folder/trace.sqlite", gpu_traces()), StoreError);
}

TEST(ChromeExport, IsJsonWithEverySpanOnItsLane) {
  const auto trace = nlohmann::json::parse(chrome_json(gpu_traces()));
  EXPECT_EQ(trace["displayTimeUnit"], "ns");
  std::map<std::string, nlohmann::json> spans;
  std::map<std::int64_t, std::string> threads;
  std::vector<nlohmann::json> arrows;
  for (const auto& entry : trace["traceEvents"]) {
    if (entry["ph"] == "X") spans[entry["name"]] = entry;
    if (entry["ph"] == "M" && entry["name"] == "thread_name") threads[entry["tid"]] = entry["args"]["name"];
    if (entry["ph"] == "s" || entry["ph"] == "f") arrows.push_back(entry);
  }
  ASSERT_THAT(spans, SizeIs(7));
  const auto& kernel = spans["void (anonymous namespace)::ns::gemm<float, 3>(float*)"];
  EXPECT_EQ(kernel["cat"], "kernel");
  EXPECT_DOUBLE_EQ(kernel["ts"].get<double>(), 0.05);  // us after the step began
  EXPECT_DOUBLE_EQ(kernel["dur"].get<double>(), 0.45);
  EXPECT_EQ(kernel["pid"], 1);
  EXPECT_EQ(threads[kernel["tid"]], "device 0 stream 7");
  EXPECT_EQ(threads[spans["matmul"]["tid"]], "schedule");
  EXPECT_EQ(threads[spans["all_reduce fsdp"]["tid"]], "communication");
  EXPECT_EQ(spans["all_reduce fsdp"]["args"]["bytes"], 4096);
  EXPECT_EQ(spans["step"]["args"]["step"], 4);
  std::map<std::string, std::string> ends;
  for (const auto& arrow : arrows) ends[arrow["id"]] += arrow["ph"];
  EXPECT_EQ(ends["1.55"], "sf");
}

TEST(ChromeExport, SurvivesNamesThatAreNotText) {
  auto traces = gpu_traces();
  traces[0].events[1].name = "\xff\"\n";
  EXPECT_TRUE(nlohmann::json::accept(chrome_json(traces)));
  ScratchFolder scratch;
  EXPECT_NO_THROW(write_nsight_sqlite(scratch / "t.sqlite", traces));
}

}  // namespace
}  // namespace perfbench::harness
