// Ranges as a tool sees them: this test acts as a tool, linked in the way that NVTX provides for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>

#include <map>
#include <thread>

#include "engine/trace/nvtx_ranges.h"
#include "engine/trace/trace_recorder.h"

namespace perfbench::engine {
namespace {

using spec::TraceKind;
using testing::ElementsAre;

// The ranges that arrived. Ranges of other domains than the engine's would be recognised by their names.
struct Tool {
  std::vector<std::string> log;
  std::map<std::uint32_t, std::string> categories;
};
Tool tool;
int the_domain = 0;

nvtxDomainHandle_t NVTX_API create_domain(const char* name) {
  tool.log.push_back(std::string("domain ") + name);
  return reinterpret_cast<nvtxDomainHandle_t>(&the_domain);
}
void NVTX_API name_category(nvtxDomainHandle_t, std::uint32_t category, const char* name) {
  tool.categories[category] = name;
}
int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* range) {
  EXPECT_EQ(static_cast<void*>(domain), &the_domain);
  EXPECT_EQ(range->messageType, NVTX_MESSAGE_TYPE_ASCII);
  auto line = "push " + tool.categories[range->category] + " " + range->message.ascii;
  if (range->payloadType == NVTX_PAYLOAD_TYPE_INT64) line += " " + std::to_string(range->payload.llValue);
  tool.log.push_back(line);
  return 0;
}
int NVTX_API pop(nvtxDomainHandle_t) {
  tool.log.emplace_back("pop");
  return 0;
}

template <class F>
void put(NvtxFunctionTable table, unsigned size, NvtxCallbackIdCore2 which, F* function) {
  ASSERT_LT(static_cast<unsigned>(which), size);
  *table[which] = reinterpret_cast<NvtxFunctionPointer>(function);
}

int NVTX_API attach(NvtxGetExportTableFunc_t get) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size);
  put(table, size, NVTX_CBID_CORE2_DomainCreateA, create_domain);
  put(table, size, NVTX_CBID_CORE2_DomainNameCategoryA, name_category);
  put(table, size, NVTX_CBID_CORE2_DomainRangePushEx, push);
  put(table, size, NVTX_CBID_CORE2_DomainRangePop, pop);
  return 1;
}

class NvtxRangesTest : public testing::Test {
 protected:
  // NVTX calls it with the first range of the process.
  static void SetUpTestSuite() { InitializeInjectionNvtx2_fnptr = attach; }
  void SetUp() override { tool.log.clear(); }
};

TEST_F(NvtxRangesTest, CarryTheSpansNamesKindsAndBytes) {
  const auto ranges = make_nvtx_ranges(nullptr);
  {
    const RangeSpan layer(ranges.get(), std::string_view("layers.3 and more").substr(0, 8));
    const OpSpan copy(ranges.get(), spec::TraceOp::copy, 4096);
  }
  EXPECT_THAT(tool.log, ElementsAre("domain perfbench", "push range layers.3", "push copy copy 4096", "pop", "pop"));
}

TEST_F(NvtxRangesTest, PassTheSpansOn) {
  TraceRecorder recorder({4, 4});
  const auto ranges = make_nvtx_ranges(&recorder);
  ranges->begin(TraceLane::schedule, {.kind = TraceKind::op, .name = "matmul"}, 10);
  std::thread([&] {
    ranges->begin(TraceLane::communication, {.kind = TraceKind::collective, .name = "all_gather", .bytes = 8}, 11);
    ranges->end(TraceLane::communication, 12);
  }).join();
  ranges->end(TraceLane::schedule, 13);
  const auto events = recorder.take(0, 0);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].name, "matmul");
  EXPECT_EQ(events[0].end_ns, 13);
  EXPECT_EQ(events[1].name, "all_gather");
  EXPECT_EQ(events[1].lane, 1);
}

TEST_F(NvtxRangesTest, ANameTooLongForARangeIsCut) {
  const auto ranges = make_nvtx_ranges(nullptr);
  tool.log.clear();
  { const RangeSpan span(ranges.get(), std::string(500, 'n')); }
  EXPECT_THAT(tool.log, ElementsAre("push range " + std::string(127, 'n'), "pop"));
}

TEST_F(NvtxRangesTest, AreMadeInTimedStepsOnlyOnRequest) {
  ::unsetenv("PERFBENCH_NVTX");
  EXPECT_FALSE(nvtx_wanted_in_timed_steps());
  ::setenv("PERFBENCH_NVTX", "0", 1);
  EXPECT_FALSE(nvtx_wanted_in_timed_steps());
  ::setenv("PERFBENCH_NVTX", "1", 1);
  EXPECT_TRUE(nvtx_wanted_in_timed_steps());
  ::setenv("PERFBENCH_NVTX", "yes", 1);
  EXPECT_THROW(nvtx_wanted_in_timed_steps(), std::exception);
  ::unsetenv("PERFBENCH_NVTX");
}

}  // namespace
}  // namespace perfbench::engine
