// Reads the exports back with tools of the kind that others use: plain SQL, a JSON reader.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/evidence/output_file.h"
#include "harness/store/archive/nsight_export.h"
#include "harness/store/sqlite.h"
#include "harness/trace/chrome_export.h"
#include "harness/trace/trace_summary.h"
#include "tests/harness/example_run.h"
#include "tests/harness/trace/made_up_trace.h"
#include "tests/harness/trace/trace_event_format.h"
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
  // It executes nothing, so the division of the time does not change.
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
  EXPECT_THROW(write_nsight_sqlite(scratch / "no/folder/trace.sqlite", gpu_traces()), OutputError);
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
  EXPECT_DOUBLE_EQ(kernel["ts"].get<double>(), 0.05);  // us after the start of the step
  EXPECT_DOUBLE_EQ(kernel["dur"].get<double>(), 0.45);
  EXPECT_EQ(kernel["pid"], 1);
  EXPECT_EQ(threads[kernel["tid"]], "device 0 stream 7");
  EXPECT_EQ(threads[spans["matmul"]["tid"]], "schedule");
  EXPECT_EQ(threads[spans["all_reduce fsdp"]["tid"]], "communication");
  EXPECT_EQ(spans["all_reduce fsdp"]["args"]["bytes"], 4096);
  EXPECT_EQ(spans["step"]["args"]["step"], 4);
  ASSERT_THAT(arrows, SizeIs(2)) << "of the copies nobody knows the call";
  EXPECT_EQ(arrows[0]["ph"], "s");
  EXPECT_EQ(arrows[1]["ph"], "f");
  EXPECT_EQ(arrows[0]["id"], arrows[1]["id"]);
  EXPECT_EQ(threads[arrows[1]["tid"]], "device 0 stream 7");
}

TEST(ChromeExport, IsWhatPerfettoReads) {
  EXPECT_THAT(trace_event_faults(chrome_json(gpu_traces())), ElementsAre());
  EXPECT_THAT(trace_event_faults(chrome_json(example_traces())), ElementsAre());
  EXPECT_THAT(trace_event_faults(chrome_json({})), ElementsAre());
}

// Recorded at their ends, so that the inner one comes first; one call that starts three kernels, as a graph does; two
// ranks with the same correlations; neighbours at times that are not multiples of a power of two.
TEST(ChromeExport, IsWhatPerfettoReadsWhateverTheOrderAndTheTimes) {
  std::vector<RankTrace> traces;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    MadeUpTrace made(rank);
    made.step(1, 1'000'000'001, 1'000'900'000).host(TraceKind::op, "matmul", 1'000'000'001, 1'000'000'101);
    made.host(TraceKind::host_call, "cudaGraphLaunch", 1'000'000'001, 1'000'000'009, 7);
    std::reverse(made.trace().events.begin(), made.trace().events.end());
    std::int64_t at = 1'000'000'050;
    for (int i = 0; i < 2000; ++i) {
      made.device(TraceKind::kernel, "k", 3, at, at + 37, 7);
      at += 37;
    }
    traces.push_back(made.trace());
  }
  EXPECT_THAT(trace_event_faults(chrome_json(traces)), ElementsAre());
}

// A kernel that by its clock starts before its call, and a collective that begins with its submission and lasts longer.
TEST(ChromeExport, LeavesOutArrowsThatWouldGoBack) {
  MadeUpTrace made(0);
  made.step(1, 0, 1000)
      .host(TraceKind::host_call, "cudaLaunchKernel", 100, 110, 5)
      .device(TraceKind::kernel, "k", 3, 90, 200, 5)
      .host(TraceKind::submit, "all_reduce", 300, 310, 6)
      .collective("all_reduce", 300, 400, 6);
  const auto text = chrome_json({made.trace()});
  EXPECT_THAT(trace_event_faults(text), ElementsAre());
  EXPECT_EQ(text.find("\"ph\":\"s\""), std::string::npos);
}

// Tests the rules themselves: breaks each of them once.
TEST(TraceEventFormat, FindsWhatIsWrong) {
  const auto faults = [](const std::string& events) {
    return trace_event_faults(R"({"traceEvents":[)" + events + "]}");
  };
  const auto span = [](double ts, double dur) {
    return R"({"ph":"X","name":"n","cat":"c","pid":0,"tid":0,"ts":)" + std::to_string(ts) + R"(,"dur":)" +
           std::to_string(dur) + "}";
  };
  const auto arrow = [](const char* ph, const char* id, double ts) {
    return std::string(R"({"ph":")") + ph + R"(","name":"n","cat":"c","pid":0,"tid":0,"id":)" + id + R"(,"ts":)" +
           std::to_string(ts) + "}";
  };
  EXPECT_THAT(faults(span(1, 4) + "," + arrow("s", "1", 1) + "," + span(2, 1) + "," + arrow("f", "1", 2)), SizeIs(0));
  EXPECT_THAT(faults(span(1, 4) + "," + span(3, 3)), ElementsAre("event 1: overlaps the span that is open"));
  EXPECT_THAT(faults(span(1, 4) + "," + arrow("f", "1", 2)),
              ElementsAre("event 1: an arrow that ends and never began"));
  EXPECT_THAT(faults(arrow("s", "1", 2)),
              ElementsAre("event 0: an arrow without a span around it", "the arrow 1 never ends"));
  EXPECT_THAT(faults(span(1, 4) + "," + arrow("s", R"("1.55")", 2)),
              testing::Contains("event 1: an arrow's id is \"1.55\""));
  EXPECT_THAT(faults(R"({"ph":"X","name":"n","cat":"c","pid":0,"tid":0,"ts":1})"),
              ElementsAre("event 0: a span without dur"));
  EXPECT_THAT(faults(R"({"ph":"M","name":"thread_name","pid":0,"tid":0})"),
              ElementsAre("event 0: metadata without args.name"));
  EXPECT_THAT(faults(R"({"ph":"X","name":"n","cat":"c","pid":-1,"tid":0,"ts":1,"dur":1})"),
              ElementsAre("event 0: pid is not an integer"));
  EXPECT_THAT(trace_event_faults("[]"), ElementsAre("no object with an array traceEvents"));
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
