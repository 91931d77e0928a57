#include "engine/faults/faults.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "engine/core/error.h"
#include "engine/faults/fault_text.h"
#include "engine/faults/slow_spans.h"
#include "engine/faults/work_clock.h"
#include "engine/ops/cpu/cpu_ops.h"
#include "workloads/spec/trace_record.h"

namespace perfbench::engine {
namespace {

constexpr double kNsPerUs = 1e3;
constexpr double kNsPerMs = 1e6;
constexpr double kBytesPerMib = 1024.0 * 1024.0;
constexpr double kUsualClockNoise = 0.01;
constexpr float kPreference = 100;  // logits lie within a few units
constexpr double kUnlikely = -100;  // in nats; no short completion is that unlikely

struct WantedOfOps {
  bool wrong_gradient = false;
  bool crowded_expert = false;
  bool wrong_score = false;
  std::int64_t failing_loss = 0;  // counted from 1; 0: no failure
};

// The last stage computes the losses: with a pipeline one rank fails and the others wait for it.
class FaultyOps : public cpu::CpuOps {
 public:
  explicit FaultyOps(const WantedOfOps& wanted) : wanted_(wanted) {}

 private:
  template <class Args>
  Args faulty(const Args& args) {
    if (++losses_ == wanted_.failing_loss)
      throw OutOfMemory("out of memory: injected at loss " + std::to_string(losses_));
    Args out = args;
    if (wanted_.wrong_gradient) out.gradient_scale = -args.gradient_scale;
    return out;
  }
  void do_cross_entropy(const CrossEntropyArgs& args) override { CpuOps::do_cross_entropy(faulty(args)); }
  void do_cross_entropy_whole(const CrossEntropyWholeArgs& args) override {
    CpuOps::do_cross_entropy_whole(faulty(args));
  }
  void do_route_forward(const RouteForwardArgs& args) override {
    if (wanted_.crowded_expert) {
      auto* logits = args.logits_NE.as<float>();
      for (std::int64_t n = 0; n < args.logits_NE.shape[0]; ++n) logits[n * args.logits_NE.shape[1]] += kPreference;
    }
    CpuOps::do_route_forward(args);
  }
  void do_score(const ScoreArgs& args) override {
    if (!wanted_.wrong_score) return CpuOps::do_score(args);
    std::vector<double> right(static_cast<std::size_t>(args.scores_B3.elements()));
    auto of_these = args;
    of_these.scores_B3.data = right.data();
    CpuOps::do_score(of_these);
    auto* scores = args.scores_B3.as<double>();
    for (std::size_t i = 0; i < right.size(); i += static_cast<std::size_t>(kScores)) {
      if (right[i + 1] == 0) continue;  // these rows hold no target of the sequence
      scores[i] += kUnlikely - right[i];
      scores[i + 1] += right[i + 1];
      scores[i + 2] += right[i + 1];
    }
  }

  WantedOfOps wanted_;
  std::int64_t losses_ = 0;
};

struct Wanted {
  std::vector<SlowSpan> slow;
  std::int64_t startup_ns = 0;
  std::int64_t allocate_bytes = 0;
  std::optional<WantedOfOps> ops;
  std::optional<double> clock_noise;  // noise of the work_clock
};

template <class E>
bool names(const std::string& name) {
  return std::any_of(spec::EnumNames<E>::kNames.begin(), spec::EnumNames<E>::kNames.end(),
                     [&](const auto& entry) { return entry.second == name; });
}

constexpr std::array kOtherSpans{"ops",        "step",       "all_gather", "reduce_scatter",
                                 "all_to_all", "all_reduce", "send",       "receive"};

bool is_span(const std::string& name) {
  return names<spec::TraceOp>(name) || names<spec::TracePhase>(name) ||
         std::find(kOtherSpans.begin(), kOtherSpans.end(), name) != kOtherSpans.end();
}

SlowSpan parse_slow(FaultText& text, const std::string& whole) {
  SlowSpan slow{.name = text.take("span"),
                .fraction = text.take_number("fraction", 0),
                .delay_ns = static_cast<std::int64_t>(kNsPerUs * text.take_number("us", 0))};
  if (!is_span(slow.name)) {
    throw BadInput("--inject " + whole + ": unknown span '" + slow.name +
                   "'; use ops, step, a collective, or a phase or operation of trace_record.h");
  }
  if (slow.fraction == 0 && slow.delay_ns == 0) {
    throw BadInput("--inject " + whole + " needs fraction=0.1 or us=500");
  }
  if (slow.delay_ns == 0 && (names<spec::TracePhase>(slow.name) || slow.name == "step")) {
    throw BadInput("--inject " + whole + ": for a phase or a step only us is allowed");
  }
  return slow;
}

WantedOfOps& of_ops(Wanted& wanted) {
  return wanted.ops ? *wanted.ops : wanted.ops.emplace();
}

Wanted parse(const std::vector<std::string>& texts) {
  Wanted wanted;
  for (const auto& whole : texts) {
    FaultText text(whole);
    if (text.kind() == "slow") {
      wanted.slow.push_back(parse_slow(text, whole));
    } else if (text.kind() == "startup") {
      wanted.startup_ns += static_cast<std::int64_t>(kNsPerMs * text.take_number("ms"));
    } else if (text.kind() == "allocate") {
      wanted.allocate_bytes += static_cast<std::int64_t>(kBytesPerMib * text.take_number("mib"));
    } else if (text.kind() == "wrong_gradient") {
      of_ops(wanted).wrong_gradient = true;
    } else if (text.kind() == "crowded_expert") {
      of_ops(wanted).crowded_expert = true;
    } else if (text.kind() == "wrong_score") {
      of_ops(wanted).wrong_score = true;
    } else if (text.kind() == "out_of_memory") {
      of_ops(wanted).failing_loss = static_cast<std::int64_t>(text.take_number("loss"));
    } else if (text.kind() == "work_clock") {
      wanted.clock_noise = text.take_number("noise", kUsualClockNoise);
    } else {
      throw BadInput("--inject " + whole + ": unknown fault '" + text.kind() +
                     "'; use slow, startup, allocate, out_of_memory, wrong_gradient, crowded_expert, " +
                     "wrong_score or work_clock");
    }
    text.finish();
  }
  return wanted;
}

class InjectedFaults : public Faults {
 public:
  explicit InjectedFaults(Wanted wanted)
      : wanted_(std::move(wanted)),
        work_clock_(pace_of(wanted_.clock_noise)),
        slow_spans_(wanted_.slow, waiting_clock()) {}

  RunClock* clock() override { return wanted_.clock_noise ? &work_clock_ : nullptr; }

  Tensor begin(Memory& memory, const Ops& ops) override {
    work_clock_.set_flops([&ops] { return ops.flops().executed_flops(); });
    waiting_clock().wait_until(waiting_clock().now() + wanted_.startup_ns);
    if (wanted_.allocate_bytes == 0) return {};
    const auto elements = std::max<std::int64_t>(1, wanted_.allocate_bytes / size_bytes(DType::f32));
    Tensor held(memory, {"injected", MemoryScope::workspace, DType::f32, Shape{elements}});
    // Touches the memory, since otherwise the resident set would not grow.
    std::fill_n(held.view().as<float>(), elements, 0.0F);
    return held;
  }

  std::unique_ptr<Ops> make_ops() const override {
    return wanted_.ops ? std::make_unique<FaultyOps>(*wanted_.ops) : nullptr;
  }

  TraceSink* around(TraceSink* sink) override {
    if (!wanted_.slow.empty()) {
      slow_spans_.set_inner(sink);
      sink = &slow_spans_;
    }
    if (!wanted_.clock_noise) return sink;
    work_clock_.set_inner(sink);
    return &work_clock_;
  }

 private:
  static double pace_of(std::optional<double> noise) {
    if (!noise) return 1;
    std::random_device chance;
    std::normal_distribution<double> normal(0, *noise);
    return std::exp(normal(chance));
  }
  WaitingClock& waiting_clock() {
    if (wanted_.clock_noise) return work_clock_;
    return busy_clock_;
  }

  Wanted wanted_;
  BusyClock busy_clock_;
  WorkClock work_clock_;
  SlowSpans slow_spans_;
};

}  // namespace

std::unique_ptr<Faults> make_faults(const std::vector<std::string>& wanted, spec::Device device) {
  if (wanted.empty()) return nullptr;
  if (device != spec::Device::cpu) {
    throw BadInput("--inject: faults can be injected only into runs on a CPU");
  }
  return std::make_unique<InjectedFaults>(parse(wanted));
}

}  // namespace perfbench::engine
