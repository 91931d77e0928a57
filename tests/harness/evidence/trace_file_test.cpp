// Reading traces: undamaged ones read back as written, damaged ones are refused with the place of the damage.
#include "harness/evidence/trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "harness/evidence/attempt.h"
#include "harness/system/input_error.h"
#include "harness/trace/trace_summary.h"
#include "tests/harness/example_run.h"
#include "tests/harness/trace/made_up_trace.h"
#include "workloads/spec/record_json.h"

namespace perfbench::harness {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

std::string error_of(const std::filesystem::path& directory) {
  try {
    read_traces(directory);
  } catch (const InputError& e) {
    return e.what();
  }
  return "read";
}

TEST(TraceFile, IsReadAsItWasWritten) {
  ScratchFolder scratch;
  write_traces(scratch.path(), example_traces());
  const auto read = read_traces(scratch.path());
  ASSERT_THAT(read, SizeIs(2));
  for (std::size_t r = 0; r < 2; ++r) EXPECT_EQ(file_text(read[r]), file_text(example_traces()[r]));
}

TEST(TraceFile, ARunWithoutTracedStepsHasNone) {
  ScratchFolder scratch;
  write_text(scratch / "trace.rankX.jsonl", "not one of ours");
  write_text(scratch / "trace.rank01.jsonl", "nor this");
  EXPECT_THAT(read_traces(scratch.path()), SizeIs(0));
  EXPECT_THAT(error_of(scratch / "nowhere"), HasSubstr("is not a folder"));
}

TEST(TraceFile, NamesTheRankThatIsMissing) {
  ScratchFolder scratch;
  write_text(scratch / trace_file(1), file_text(example_traces()[1]));
  EXPECT_THAT(error_of(scratch.path()), AllOf(HasSubstr("trace.rank1.jsonl"), HasSubstr("not trace.rank0.jsonl")));
  write_text(scratch / trace_file(0), file_text(example_traces()[0]));
  EXPECT_THAT(read_traces(scratch.path(), 2), SizeIs(2));
  for (const auto& [ranks, part] : {std::pair{3, "not trace.rank2.jsonl"}, std::pair{1, "its run has 1 ranks"}}) {
    try {
      read_traces(scratch.path(), ranks);
      FAIL() << "read as of " << ranks << " ranks";
    } catch (const InputError& e) {
      EXPECT_THAT(e.what(), HasSubstr(part));
    }
  }
}

TEST(TraceFile, RefusesDamageAndNamesTheLine) {
  const auto whole = example_traces()[0];
  const auto text = file_text(whole);
  const auto cut_to = [&](std::size_t size) { return text.substr(0, size); };
  const auto with = [&](const std::function<void(RankTrace&)>& change) {
    auto changed = whole;
    change(changed);
    return file_text(changed);
  };
  struct Case {
    std::string text;
    std::vector<const char*> parts;
  };
  const std::string last = spec::to_json_line(whole.end) + "\n";
  for (const auto& [damaged, parts] :
       std::vector<Case>{{"", {":0 ", "ended while it wrote its trace"}},
                         {cut_to(text.size() - last.size()), {":12 ", "ended while it wrote its trace"}},
                         {cut_to(text.size() - 1), {":13 ", "ended while it wrote its trace"}},
                         {cut_to(100), {":1 ", "ended while it wrote its trace"}},
                         {text + "{}\n", {":14 ", "follows the line that ends the trace"}},
                         {"garbage\n" + text, {":1 "}},
                         {with([](auto& t) { t.events[3].rank = 1; }), {":4 ", "belongs to rank 1"}},
                         {with([](auto& t) { t.events[3].end_ns = 0; }), {":4 ", "/end_ns", "before 'start_ns'"}},
                         {with([](auto& t) { t.events.pop_back(); }), {"counts 12 events, but 11 precede it"}},
                         {with([](auto& t) { t.end.steps = 3; }), {"counts 3 steps, but spans of 2 precede it"}},
                         {with([](auto& t) { t.events[6].step = 10; }), {"ends step 10 twice"}},
                         {with([](auto& t) { t.events[6].start_ns = t.events[0].start_ns; }),
                          {"begins before the end of step 10"}}}) {
    ScratchFolder scratch;
    write_text(scratch / trace_file(0), damaged);
    const auto error = error_of(scratch.path());
    EXPECT_THAT(error, HasSubstr("[trace] " + (scratch / trace_file(0)).string()));
    for (const auto* part : parts) EXPECT_THAT(error, HasSubstr(part));
  }
}

// Any byte changed, or any end cut off: the result is a trace, or an error with its place; never a crash, and never
// silently other sums unless a number itself was changed.
TEST(TraceFile, AnyDamageGivesAnErrorOrATrace) {
  const auto text = file_text(example_traces()[0]);
  std::mt19937 random(7);
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    auto damaged = text;
    for (auto n = random() % 3 + 1; n > 0; --n) damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    if (round % 4 == 0) damaged.resize(random() % damaged.size());
    ScratchFolder scratch;
    write_text(scratch / trace_file(0), damaged);
    try {
      summarise(read_traces(scratch.path()));
    } catch (const InputError& e) {
      ++refused;
      EXPECT_THAT(e.what(), HasSubstr("trace.rank0.jsonl:"));
    }
  }
  EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace perfbench::harness
