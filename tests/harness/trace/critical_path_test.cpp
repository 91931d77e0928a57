// The critical path of steps written by hand: it has no gaps, and it changes ranks only where one waited for another.
#include "harness/trace/critical_path.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "harness/trace/step_split.h"
#include "tests/harness/trace/made_up_trace.h"

namespace perfbench::harness {
namespace {

using spec::TraceKind;
using testing::ElementsAre;
using testing::IsEmpty;

spec::MeshSpec in_node(spec::MeshAxes axes) {
  return {.ici = axes, .dcn = {}};
}

// Checks that the segments cover the step without gaps.
CriticalPath path_of(const std::vector<RankTrace>& traces, const std::optional<spec::MeshSpec>& mesh = std::nullopt) {
  const auto found = critical_path(traces, mesh, 0);
  const auto* path = std::get_if<CriticalPath>(&found);
  if (path == nullptr) {
    ADD_FAILURE() << "no path, reason " << static_cast<int>(std::get<NoPath>(found));
    return {};
  }
  std::int64_t at_ns = path->start_ns;
  for (const auto& [rank, stretch] : path->segments) {
    EXPECT_EQ(stretch.start_ns, at_ns) << "rank " << rank << ' ' << stretch.name;
    EXPECT_LT(stretch.start_ns, stretch.end_ns);
    at_ns = stretch.end_ns;
  }
  EXPECT_EQ(at_ns, path->end_ns);
  return *path;
}

// "0 matmul 10-20" for work of rank 0; idle time has the name of its part.
std::vector<std::string> told(const CriticalPath& path) {
  std::vector<std::string> out;
  for (const auto& [rank, stretch] : path.segments) {
    const auto name = is_idle(stretch.part) ? std::string(spec::enum_name(stretch.part)) : stretch.name;
    out.push_back(fmt::format("{} {} {}-{}", rank, name, stretch.start_ns, stretch.end_ns));
  }
  return out;
}

TEST(CriticalPath, OneRankHasTheSplitOfItsStep) {
  MadeUpTrace made;
  made.step(0, 100, 200)
      .host(TraceKind::phase, "forward", 100, 150)
      .host(TraceKind::op, "matmul", 110, 130)
      .host(TraceKind::op, "norm_forward", 130, 140)
      .host(TraceKind::op, "matmul", 145, 150)
      .host(TraceKind::phase, "optimizer", 150, 200)
      .host(TraceKind::op, "adamw", 155, 190);
  const auto shares = path_shares(path_of({made.trace()}));
  auto split = split_steps(made.trace()).front().shares;
  std::stable_sort(split.begin(), split.end(), [](const auto& a, const auto& b) { return a.ns > b.ns; });
  ASSERT_EQ(shares.size(), split.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    EXPECT_EQ(shares[i].part, split[i].part);
    EXPECT_EQ(shares[i].name, split[i].name);
    EXPECT_EQ(shares[i].phase, split[i].phase);
    EXPECT_EQ(shares[i].ns, split[i].ns);
    EXPECT_THAT(shares[i].rank_ns, ElementsAre(std::pair(0, split[i].ns)));
  }
}

TEST(CriticalPath, RunsOverTheRankForWhichACollectiveWaits) {
  MadeUpTrace quick(0);
  quick.step(0, 1, 100)
      .host(TraceKind::op, "matmul", 5, 20)
      .collective("all_reduce", 20, 70, 0, "dp")
      .host(TraceKind::op, "adamw", 70, 100);
  MadeUpTrace straggler(1);
  straggler.step(0, 0, 90)
      .host(TraceKind::op, "attention_forward", 0, 60)
      .collective("all_reduce", 60, 71, 0, "dp")
      .host(TraceKind::op, "adamw", 71, 90);
  const auto path = path_of({quick.trace(), straggler.trace()}, in_node({.dp = 2}));
  EXPECT_THAT(told(path), ElementsAre("1 attention_forward 0-60", "0 all_reduce 60-70", "0 adamw 70-100"));
  ASSERT_EQ(path.hops.size(), 1U);
  const auto& hop = path.hops[0];
  EXPECT_EQ(fmt::format("{} {} {} {} {} {}", hop.at_ns, hop.from_rank, hop.to_rank, hop.name, hop.axis, hop.waited_ns),
            "60 1 0 all_reduce dp 40");
  EXPECT_THAT(rank_times(path), ElementsAre(std::pair(0, 40), std::pair(1, 60)));
}

TEST(CriticalPath, EndsWithTheRankThatEndsLastAndBeginsWithTheFirstStart) {
  MadeUpTrace first(0);
  first.step(0, 0, 50).host(TraceKind::op, "matmul", 0, 50);
  MadeUpTrace late(1);
  late.step(0, 10, 70).host(TraceKind::op, "matmul", 12, 70);
  EXPECT_THAT(told(path_of({first.trace(), late.trace()}, in_node({.dp = 2}))),
              ElementsAre("1 idle_host 0-12", "1 matmul 12-70"));
}

// Ranks 0 and 1 are one group along tp, ranks 2 and 3 the other one, whose collective runs at the same time and waits
// longer.
TEST(CriticalPath, DoesNotHopToAnotherGroupOfTheSameAxis) {
  std::vector<RankTrace> traces;
  for (const auto& [rank, entered, left] :
       {std::tuple{0, 20, 52}, std::tuple{1, 30, 50}, std::tuple{2, 10, 49}, std::tuple{3, 45, 49}}) {
    MadeUpTrace made(rank);
    made.step(0, 0, left).host(TraceKind::op, "matmul", 0, entered).collective("all_gather", entered, left, 0, "tp");
    traces.push_back(made.trace());
  }
  EXPECT_THAT(told(path_of(traces, in_node({.dp = 2, .tp = 2}))), ElementsAre("1 matmul 0-30", "0 all_gather 30-52"));
  // The same ranks in groups along dp: 0 with 2, and 1 with 3.
  for (auto& trace : traces) {
    for (auto& event : trace.events) event.axis = event.axis.empty() ? "" : "dp";
  }
  EXPECT_THAT(told(path_of(traces, in_node({.dp = 2, .tp = 2}))), ElementsAre("0 matmul 0-20", "0 all_gather 20-52"));
  // All four along both axes.
  for (auto& trace : traces) {
    for (auto& event : trace.events) event.axis = event.axis.empty() ? "" : "dp+tp";
  }
  EXPECT_THAT(told(path_of(traces, in_node({.dp = 2, .tp = 2}))), ElementsAre("3 matmul 0-45", "0 all_gather 45-52"));
}

TEST(CriticalPath, CollectivesOfOneKindFollowEachOther) {
  MadeUpTrace first(0);
  first.step(0, 0, 100)
      .host(TraceKind::op, "matmul", 0, 10)
      .collective("all_gather", 10, 31)
      .collective("all_gather", 40, 90)
      .host(TraceKind::op, "adamw", 90, 100);
  MadeUpTrace second(1);
  second.step(0, 0, 95)
      .host(TraceKind::op, "norm_forward", 0, 30)
      .collective("all_gather", 30, 31)
      .host(TraceKind::op, "attention_forward", 31, 80)
      .collective("all_gather", 80, 90);
  EXPECT_THAT(told(path_of({first.trace(), second.trace()}, in_node({.fsdp = 2}))),
              ElementsAre("1 norm_forward 0-30", "1 all_gather 30-31", "1 attention_forward 31-80",
                          "0 all_gather 80-90", "0 adamw 90-100"));
}

// The thread of rank 1 is busy until 60, so its first collective runs after the second one, which is in line.
TEST(CriticalPath, CollectivesBelongTogetherByTheOrderOfTheirSubmission) {
  MadeUpTrace first(0);
  first.step(0, 0, 100)
      .host(TraceKind::submit, "all_gather", 8, 9, 1)
      .collective("all_gather", 10, 65, 1)
      .host(TraceKind::submit, "all_gather", 11, 50, 2)
      .collective("all_gather", 12, 50, 2)
      .host(TraceKind::op, "adamw", 65, 100);
  MadeUpTrace second(1);
  second.step(0, 0, 95)
      .host(TraceKind::submit, "all_gather", 20, 21, 1)
      .host(TraceKind::op, "matmul", 22, 30)
      .host(TraceKind::submit, "all_gather", 31, 50, 2)
      .collective("all_gather", 32, 50, 2)
      .collective("all_gather", 60, 65, 1);
  const auto told_path = told(path_of({first.trace(), second.trace()}, in_node({.fsdp = 2})));
  EXPECT_THAT(told_path, testing::Contains("0 all_gather 60-65"));
  EXPECT_THAT(told_path, testing::Contains("1 all_gather 32-50"));
}

TEST(CriticalPath, StaysOnItsRankWhereTheCallsOfRanksDoNotMatch) {
  MadeUpTrace first(0);
  first.step(0, 0, 50).host(TraceKind::op, "matmul", 0, 10).collective("all_gather", 10, 50);
  MadeUpTrace second(1);
  second.step(0, 0, 49)
      .host(TraceKind::op, "norm_forward", 0, 20)
      .collective("all_gather", 20, 21)
      .host(TraceKind::op, "matmul", 21, 40)
      .collective("all_gather", 40, 49);
  EXPECT_THAT(told(path_of({first.trace(), second.trace()}, in_node({.fsdp = 2}))),
              ElementsAre("0 matmul 0-10", "0 all_gather 10-50"));
}

// Rank 0 sends an output at 30, while rank 1 has waited since 2. It waits for the end of its own send much later.
TEST(CriticalPath, AReceiveWaitsForTheSubmissionOfTheMessage) {
  MadeUpTrace sender(0);
  sender.step(0, 0, 90)
      .host(TraceKind::op, "matmul", 0, 30)
      .message("send", "onward", 30, 80, 81)
      .host(TraceKind::op, "norm_forward", 31, 80);
  MadeUpTrace receiver(1);
  receiver.step(0, 0, 100).message("receive", "onward", 0, 2, 35).host(TraceKind::op, "attention_forward", 35, 100);
  EXPECT_THAT(told(path_of({sender.trace(), receiver.trace()}, in_node({.pp = 2}))),
              ElementsAre("0 matmul 0-30", "1 receive 30-35", "1 attention_forward 35-100"));
}

// In the middle of three stages, one message goes onward and another one goes back in between. Each is the first of its
// heading.
TEST(CriticalPath, AMessageComesFromTheNeighbourInItsHeading) {
  MadeUpTrace first(0);
  first.step(0, 0, 50).host(TraceKind::op, "matmul", 0, 20).message("send", "onward", 20, 21, 22);
  MadeUpTrace middle(1);
  middle.step(0, 0, 100)
      .message("receive", "back", 0, 5, 41)
      .message("receive", "onward", 1, 41, 42)
      .host(TraceKind::op, "adamw", 42, 100);
  MadeUpTrace last(2);
  last.step(0, 0, 50).host(TraceKind::op, "norm_backward", 0, 40).message("send", "back", 40, 42, 43);
  const std::vector traces{first.trace(), middle.trace(), last.trace()};
  EXPECT_THAT(told(path_of(traces, in_node({.pp = 3}))),
              ElementsAre("2 norm_backward 0-40", "1 receive 40-41", "1 receive 41-42", "1 adamw 42-100"));
}

// A send whose receiver expects the message only at 60.
TEST(CriticalPath, ASendWaitsForTheReceiverToExpectIt) {
  MadeUpTrace sender(0);
  sender.step(0, 0, 100)
      .host(TraceKind::op, "matmul", 0, 10)
      .message("send", "back", 10, 20, 65)
      .host(TraceKind::op, "adamw", 65, 100);
  MadeUpTrace receiver(1);
  receiver.step(0, 0, 90).host(TraceKind::op, "attention_forward", 0, 60).message("receive", "back", 60, 62, 66);
  EXPECT_THAT(told(path_of({sender.trace(), receiver.trace()}, in_node({.pp = 2}))),
              ElementsAre("1 attention_forward 0-60", "0 send 60-65", "0 adamw 65-100"));
}

TEST(CriticalPath, IdleTimeIsOfTheKindThatTheSplitSays) {
  MadeUpTrace made;
  made.step(0, 0, 100)
      .host(TraceKind::host_call, "cudaLaunchKernel", 10, 20, 7)
      .device(TraceKind::kernel, "gemm", 1, 30, 60, 7)
      .host(TraceKind::host_call, "cudaLaunchKernel", 65, 70, 8)
      .device(TraceKind::kernel, "adamw", 1, 80, 90, 8);
  EXPECT_THAT(told(path_of({made.trace()})),
              ElementsAre("0 idle_host 0-20", "0 idle_dependency 20-30", "0 gemm 30-60", "0 idle_host 60-70",
                          "0 idle_dependency 70-80", "0 adamw 80-90", "0 idle_host 90-100"));
}

TEST(CriticalPath, AnEventWithoutDurationIsNotOnIt) {
  MadeUpTrace made;
  made.step(0, 0, 30)
      .host(TraceKind::op, "matmul", 0, 10)
      .host(TraceKind::op, "norm_forward", 10, 10)
      .host(TraceKind::op, "attention_forward", 10, 30)
      .collective("all_gather", 30, 30);
  EXPECT_THAT(told(path_of({made.trace()})), ElementsAre("0 matmul 0-10", "0 attention_forward 10-30"));
  EXPECT_THAT(path_of({MadeUpTrace().step(0, 5, 5).trace()}).segments, IsEmpty());
}

// The kernel at 50 began when the other stream's kernel ended. The copy still ran, so it did not wait for that.
TEST(CriticalPath, OverlappingStreamsCountByTheWorkThatEndedLast) {
  MadeUpTrace made;
  made.step(0, 0, 90)
      .device(TraceKind::kernel, "gemm_a", 1, 0, 40)
      .device(TraceKind::kernel, "norm_b", 2, 10, 50)
      .device(TraceKind::copy, "memcpy", 3, 5, 60)
      .device(TraceKind::kernel, "gemm_c", 1, 50, 90);
  EXPECT_THAT(told(path_of({made.trace()})), ElementsAre("0 gemm_a 0-10", "0 norm_b 10-50", "0 gemm_c 50-90"));
}

TEST(CriticalPath, ACollectiveIsOnItWhereWorkWaitedForItsEnd) {
  MadeUpTrace waited;
  waited.step(0, 0, 120)
      .device(TraceKind::kernel, "gemm_a", 1, 0, 20)
      .collective("all_gather", 20, 100)
      .device(TraceKind::kernel, "gemm_b", 1, 20, 90)
      .device(TraceKind::kernel, "adamw", 1, 100, 120);
  EXPECT_THAT(told(path_of({waited.trace()})), ElementsAre("0 gemm_a 0-20", "0 all_gather 20-100", "0 adamw 100-120"));
  MadeUpTrace hidden;
  hidden.step(0, 0, 100)
      .device(TraceKind::kernel, "gemm_a", 1, 0, 40)
      .collective("all_gather", 20, 80)
      .device(TraceKind::kernel, "gemm_b", 1, 42, 100);
  EXPECT_THAT(told(path_of({hidden.trace()})), ElementsAre("0 gemm_a 0-40", "0 all_gather 40-42", "0 gemm_b 42-100"));
}

TEST(CriticalPath, SaysWhyThereIsNone) {
  const auto rank = [](std::int64_t number, std::int64_t step) {
    return MadeUpTrace(number).step(step, 0, 10).trace();
  };
  const auto why = [](const std::vector<RankTrace>& traces, const std::optional<spec::MeshSpec>& mesh) {
    return std::get<NoPath>(critical_path(traces, mesh, 0));
  };
  EXPECT_EQ(why({}, std::nullopt), NoPath::no_step);
  EXPECT_EQ(why({rank(0, 1)}, std::nullopt), NoPath::no_step);
  EXPECT_EQ(why({rank(0, 0), rank(1, 1)}, in_node({.dp = 2})), NoPath::no_step);
  EXPECT_EQ(why({rank(0, 0), rank(1, 0)}, std::nullopt), NoPath::unknown_mesh);
  EXPECT_EQ(why({rank(0, 0), rank(1, 0)}, in_node({.dp = 4})), NoPath::unknown_mesh);
  EXPECT_EQ(why({rank(0, 0), rank(2, 0)}, in_node({.dp = 2})), NoPath::unknown_mesh);
  EXPECT_EQ(why({rank(0, 0), rank(1, 0)}, spec::MeshSpec{.ici = {}, .dcn = {.dp = 2}}), NoPath::several_nodes);
}

// A stretch of time on a rank.
struct Visit {
  std::int64_t rank = 0;
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
  bool operator==(const Visit&) const = default;
};

void append(std::vector<Visit>& visits, const Visit& next) {
  if (!visits.empty() && visits.back().rank == next.rank) {
    visits.back().to_ns = next.to_ns;
  } else {
    visits.push_back(next);
  }
}

// Ranks that compute for random times and then meet in a collective, along one of the axes or both. Each rank carries
// the path to its present moment along, forwards in time, so that the expected path is known without any walk back.
class SimulatedStep {
 public:
  explicit SimulatedStep(unsigned seed) : random_(seed) {
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      const auto number_of_rank = static_cast<std::int64_t>(rank);
      made_.emplace_back(number_of_rank).step(0, 0, 0);
      paths_.push_back({{number_of_rank, 0, 0}});
    }
    for (int round = 0; round < 12; ++round) {
      for (std::size_t rank = 0; rank < kRanks; ++rank) compute(rank);
      const auto axes = std::array{"dp", "tp", "dp+tp"}[number(0, 2)];
      for (const auto& group : groups(axes)) meet(group, axes);
    }
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      compute(rank);
      made_[rank].trace().events.front().end_ns = now_ns(rank);
    }
  }

  std::vector<RankTrace> traces() const {
    std::vector<RankTrace> out;
    for (const auto& made : made_) out.push_back(made.trace());
    return out;
  }
  const std::vector<Visit>& expected() const {
    return *std::max_element(paths_.begin(), paths_.end(),
                             [](const auto& a, const auto& b) { return a.back().to_ns < b.back().to_ns; });
  }

 private:
  static constexpr std::size_t kRanks = 4;

  std::size_t number(std::size_t least, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(least, most)(random_);
  }
  std::int64_t duration() { return static_cast<std::int64_t>(number(1, 1'000'000)); }
  std::int64_t now_ns(std::size_t rank) const { return paths_[rank].back().to_ns; }

  // Ranks are row-major over (dp, tp).
  static std::vector<std::vector<std::size_t>> groups(std::string_view axes) {
    if (axes == "tp") return {{0, 1}, {2, 3}};
    if (axes == "dp") return {{0, 2}, {1, 3}};
    return {{0, 1, 2, 3}};
  }

  void compute(std::size_t rank) {
    const auto begin = now_ns(rank) + (number(0, 1) == 0 ? 0 : duration());
    paths_[rank].back().to_ns = begin + duration();
    made_[rank].host(TraceKind::op, "matmul", begin, now_ns(rank));
  }

  void meet(const std::vector<std::size_t>& group, const std::string& axes) {
    const auto last = *std::max_element(group.begin(), group.end(),
                                        [this](std::size_t a, std::size_t b) { return now_ns(a) < now_ns(b); });
    const auto path = paths_[last];
    const auto entered = now_ns(last);
    for (const auto rank : group) {
      const auto left = entered + duration();
      made_[rank].collective("all_reduce", now_ns(rank), left, 0, axes);
      paths_[rank] = path;
      append(paths_[rank], {static_cast<std::int64_t>(rank), entered, left});
    }
  }

  std::mt19937 random_;
  std::vector<MadeUpTrace> made_;
  std::vector<std::vector<Visit>> paths_;  // to the present moment of each rank
};

TEST(CriticalPath, IsTheOneThatASimulationTookForwards) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const SimulatedStep step(seed);
    const auto path = path_of(step.traces(), in_node({.dp = 2, .tp = 2}));
    std::vector<Visit> visits;
    for (const auto& [rank, stretch] : path.segments) append(visits, {rank, stretch.start_ns, stretch.end_ns});
    EXPECT_EQ(visits, step.expected()) << "seed " << seed;
    EXPECT_EQ(path.hops.size() + 1, visits.size());
  }
}

// Overlapping work of any kind on two ranks: whatever happened, the segments cover the step (path_of checks it) and the
// shares sum to it.
TEST(CriticalPath, SumsToTheStepWhateverRan) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto number = [&random](std::int64_t most) {
      return std::uniform_int_distribution<std::int64_t>(0, most)(random);
    };
    std::vector<RankTrace> traces;
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      MadeUpTrace made(rank);
      made.step(0, number(20), 80 + number(40));
      for (int i = 0; i < 12; ++i) {
        const auto start = number(110);
        const auto end = start + number(20);
        if (number(2) == 0) made.collective("all_gather", start, end);
        if (number(2) == 0) made.message(rank == 0 ? "send" : "receive", "onward", number(start), start, end);
        if (number(2) == 0) made.device(TraceKind::kernel, "gemm", number(2), start, end);
      }
      traces.push_back(made.trace());
    }
    const auto path = path_of(traces, in_node({.fsdp = seed % 2 == 0 ? 2 : 1, .pp = seed % 2 == 0 ? 1 : 2}));
    std::int64_t by_share = 0;
    for (const auto& share : path_shares(path)) by_share += share.ns;
    std::int64_t by_rank = 0;
    for (const auto& [rank, ns] : rank_times(path)) by_rank += ns;
    EXPECT_EQ(by_share, path.ns());
    EXPECT_EQ(by_rank, path.ns());
  }
}

}  // namespace
}  // namespace perfbench::harness
