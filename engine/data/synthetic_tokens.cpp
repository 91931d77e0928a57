#include "engine/core/rng.h"
#include "engine/data/token_source.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

class SyntheticTokens final : public TokenSource {
 public:
  explicit SyntheticTokens(const spec::RunSpec& run)
      : run_(run), stream_(static_cast<std::uint64_t>(run.data.seed), "synthetic_tokens") {}

  TokenCounts read(const BatchPlace& place, std::span<std::int32_t> tokens, std::span<std::int32_t> targets) override {
    const std::int64_t t_count = run_.seq_len;
    const std::int64_t first = first_sequence(run_, place);
    for (std::int64_t b = 0; b < run_.microbatch(); ++b) {
      for (std::int64_t t = 0; t < t_count; ++t) {
        const auto at = static_cast<std::size_t>(b * t_count + t);
        tokens[at] = token(first + b, t);
        targets[at] = token(first + b, t + 1);
      }
    }
    return {.targets = static_cast<std::int64_t>(targets.size())};
  }

 private:
  std::int32_t token(std::int64_t sequence, std::int64_t position) const {
    const auto index = static_cast<std::uint64_t>(sequence * (run_.seq_len + 1) + position);
    return static_cast<std::int32_t>(stream_.bits(index) % static_cast<std::uint64_t>(run_.model.vocab_size));
  }

  const spec::RunSpec& run_;
  RngStream stream_;
};

}  // namespace

std::int64_t first_sequence(const spec::RunSpec& run, const BatchPlace& place) {
  return place.step * run.global_batch + place.shard * run.sequences_per_rank() + place.microbatch * run.microbatch();
}

std::unique_ptr<TokenSource> make_synthetic_tokens(const spec::RunSpec& run) {
  return std::make_unique<SyntheticTokens>(run);
}

}  // namespace perfbench::engine
