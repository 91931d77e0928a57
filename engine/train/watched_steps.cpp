#include "engine/train/watched_steps.h"

#include <memory>
#include <vector>

#include "engine/trace/device_spans.h"
#include "engine/train/dry_walk.h"
#include "engine/train/traced_steps.h"
#include "engine/train/tracing.h"

namespace perfbench::engine {
namespace {

constexpr std::int64_t kUnreportedRounds = 2;  // in the first steps libraries choose algorithms and recordings are made

class WatchedRun {
 public:
  WatchedRun(Context& context, Trainer& trainer, const spec::RunSpec& run, const Watchers& watchers)
      : context_(context),
        trainer_(trainer),
        run_(run),
        watchers_(watchers),
        recorder_(count_spans(run, context.collectives.mesh().rank())) {
    kinds_ = {"nobody", "spans"};
    if (watchers.device != nullptr) kinds_.push_back("device");
    if (watchers.telemetry != nullptr) kinds_.push_back("telemetry");
  }

  // Traced steps replay too, so names are learnt when there is something to learn.
  void learn_names() {
    recordings_ = prepare_traced_steps(context_, trainer_, run_, watchers_.device, next_++).recordings;
  }

  WatchedStep step(std::int64_t round, std::size_t which) {
    const auto kind = kinds_[which];
    return {round, kind, wall_ns(kind)};
  }
  std::size_t kinds() const { return kinds_.size(); }

 private:
  std::int64_t plain_step() { return trainer_.step(next_++).wall_ns; }

  std::int64_t wall_ns(std::string_view kind) {
    const std::int64_t rank = context_.collectives.mesh().rank();
    std::int64_t took_ns = 0;
    if (kind == "spans") {
      // Replayed like unwatched steps, unless the host has to execute them for the names.
      const bool replayed = recordings_ != Recordings::unused;
      const Tracing tracing(context_, recorder_, replayed ? Recordings::used : Recordings::unused);
      took_ns = plain_step();
    } else if (kind == "device") {
      DeviceSpans sink(recorder_, *watchers_.device);
      watchers_.device->begin_step();
      {
        const Tracing tracing(context_, sink, recordings_);
        took_ns = plain_step();
      }
      watchers_.device->end_step(rank, next_);
    } else if (kind == "telemetry") {
      watchers_.telemetry->begin_step(next_);
      took_ns = plain_step();
      watchers_.telemetry->end_step();
    } else {
      took_ns = plain_step();
    }
    recorder_.take(rank, next_);
    return took_ns;
  }

  Context& context_;
  Trainer& trainer_;
  const spec::RunSpec& run_;
  Watchers watchers_;
  TraceRecorder recorder_;
  std::vector<std::string_view> kinds_;
  Recordings recordings_ = Recordings::used;
  std::int64_t next_ = 0;
};

}  // namespace

void run_watched_steps(Context& context, Trainer& trainer, const spec::RunSpec& run, const Watchers& watchers,
                       std::int64_t rounds, const std::function<void(const WatchedStep&)>& report) {
  WatchedRun watched(context, trainer, run, watchers);
  for (std::int64_t i = 0; i < kUnreportedRounds; ++i) watched.step(-1, 0);
  watched.learn_names();
  for (std::int64_t round = -kUnreportedRounds; round < rounds; ++round) {
    for (std::size_t i = 0; i < watched.kinds(); ++i) {
      const auto turned = (i + static_cast<std::size_t>(round + kUnreportedRounds)) % watched.kinds();
      const auto step = watched.step(round, turned);
      if (round >= 0) report(step);
    }
  }
}

}  // namespace perfbench::engine
