// The lines of a trace file: written lines are read back, and impossible ones are reported.
#include "workloads/spec/trace_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workloads/spec/record_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::spec {
namespace {

using testing::HasSubstr;

TraceEvent example() {
  return {.rank = 1,
          .step = 12,
          .kind = TraceKind::kernel,
          .name = "matmul",
          .kernel_name = "void cutlass::Kernel<f32>(Params)",
          .axis = "",
          .phase = "backward",
          .start_ns = 1'000'000'000'001,
          .end_ns = 1'000'000'000'009,
          .device = 0,
          .lane = 7,
          .correlation = 42,
          .bytes = 0};
}

TEST(TraceRecord, AnEventIsReadAsItWasWritten) {
  const auto line = to_json_line(example());
  const auto read = parse_trace_line(line);
  ASSERT_TRUE(std::holds_alternative<TraceEvent>(read));
  EXPECT_EQ(to_json_line(std::get<TraceEvent>(read)), line);
  EXPECT_THAT(line, HasSubstr("void cutlass::Kernel<f32>(Params)"));
  EXPECT_EQ(std::get<TraceEvent>(read).start_ns, 1'000'000'000'001);
}

TEST(TraceRecord, TheLastLineIsDistinguishedFromEvents) {
  const auto read = parse_trace_line(to_json_line(TraceEnd{.rank = 3, .steps = 2, .events = 10, .dropped_records = 4}));
  ASSERT_TRUE(std::holds_alternative<TraceEnd>(read));
  EXPECT_EQ(std::get<TraceEnd>(read).dropped_records, 4);
}

TEST(TraceRecord, ImpossibleLinesAreRefused) {
  auto backwards = example();
  backwards.end_ns = backwards.start_ns - 1;
  EXPECT_THROW(parse_trace_line(to_json_line(backwards)), SpecError);
  auto line = to_json_line(example());
  line.replace(line.find("\"kernel\""), 8, "\"kernal\"");
  try {
    parse_trace_line(line);
    FAIL() << "read";
  } catch (const SpecError& e) {
    EXPECT_THAT(e.what(), HasSubstr("did you mean 'kernel'"));
  }
  for (const char* damaged : {"", "{}", "[]", "null", "{\"dropped_records\":1}", "{\"version\":2}"}) {
    EXPECT_THROW(parse_trace_line(damaged), SpecError) << damaged;
  }
}

// Each name stands for one value: readers look the value up by it.
template <class E>
void expect_distinct_names() {
  for (const auto& [value, name] : EnumNames<E>::kNames) EXPECT_EQ(enum_value<E>(name), value) << name;
}

TEST(TraceRecord, EveryNameStandsForOneValue) {
  expect_distinct_names<TraceKind>();
  expect_distinct_names<TracePhase>();
  expect_distinct_names<TraceOp>();
  EXPECT_EQ(EnumNames<TraceOp>::kNames.size(), static_cast<std::size_t>(TraceOp::read_f64) + 1);
}

}  // namespace
}  // namespace perfbench::spec
