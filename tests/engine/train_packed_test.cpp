// Training on rows of several documents gives the same as training on each document in its own row.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/data/synthetic_documents.h"
#include "engine/train/dry_walk.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/training.h"

namespace perfbench::engine {
namespace {

class PackedTraining : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = why_no_training(); !reason.empty()) GTEST_SKIP() << "skipped: " << reason;
  }
};

std::unique_ptr<TrainingRun> training_with(const spec::RunSpec& run, const MakeTokens& tokens) {
  return std::make_unique<TrainingRun>(run, init_rule(run), make_single_collectives(), tokens);
}

bool equal_in_all_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// A document of a made-up data set: its tokens do not depend on its place.
struct MadeDocument {
  std::int64_t id = 0;
  std::int64_t tokens = 0;
};

// The rows of every step.
class MadeRows final : public TokenSource {
 public:
  using Rows = std::vector<std::vector<MadeDocument>>;
  MadeRows(const spec::RunSpec& run, Rows rows) : run_(run), rows_(std::move(rows)) {}

  TokenCounts read(const BatchPlace& place, std::span<std::int32_t> tokens, std::span<std::int32_t> targets) override {
    std::fill(tokens.begin(), tokens.end(), 0);
    std::fill(targets.begin(), targets.end(), kNoTarget);
    TokenCounts counts{.targets = 0, .padding = static_cast<std::int64_t>(tokens.size())};
    for_documents(place, [&](std::size_t at, std::size_t, const MadeDocument& document) {
      for (std::int64_t i = 0; i < document.tokens; ++i, ++at) {
        tokens[at] = token(document.id, i);
        if (i + 1 < document.tokens) targets[at] = token(document.id, i + 1);
      }
      counts.targets += document.tokens - 1;
      counts.padding -= document.tokens;
    });
    return counts;
  }

  void read_document_starts(const BatchPlace& place, std::span<std::int32_t> first) override {
    for (std::size_t i = 0; i < first.size(); ++i) {
      first[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) % run_.seq_len);  // padding
    }
    for_documents(place, [&](std::size_t at, std::size_t begin, const MadeDocument& document) {
      std::fill_n(first.begin() + static_cast<std::ptrdiff_t>(at), document.tokens, static_cast<std::int32_t>(begin));
    });
  }

 private:
  std::int32_t token(std::int64_t document, std::int64_t i) const {
    const RngStream stream(7, "made_documents");
    return static_cast<std::int32_t>(stream.bits(static_cast<std::uint64_t>(1000 * document + i)) %
                                     static_cast<std::uint64_t>(run_.model.vocab_size));
  }
  // Calls f(where it begins in the batch, and in its row, the document).
  template <class F>
  void for_documents(const BatchPlace& place, F&& f) const {
    for (std::int64_t b = 0; b < run_.microbatch(); ++b) {
      const auto row = static_cast<std::size_t>((first_sequence(run_, place) + b) % run_.global_batch);
      std::int64_t begin = 0;
      for (const auto& document : rows_[row]) {
        f(static_cast<std::size_t>(b * run_.seq_len + begin), static_cast<std::size_t>(begin), document);
        begin += document.tokens;
      }
    }
  }

  const spec::RunSpec& run_;
  Rows rows_;
};

MakeTokens made(MadeRows::Rows rows) {
  return [rows = std::move(rows)](const spec::RunSpec& run) { return std::make_unique<MadeRows>(run, rows); };
}

// In separate rows they are fine-tuned on, without packing.
TEST_F(PackedTraining, DocumentsInARowTrainAsInSeparateRows) {
  const std::vector<MadeDocument> d{{1, 5}, {2, 1}, {3, 7}, {4, 16}, {5, 2}, {6, 14}, {7, 3}, {8, 9}};
  const MadeRows::Rows together{{d[0], d[1], d[2]}, {d[3]}, {d[4], d[5]}, {d[6], d[7]}};
  MadeRows::Rows apart;
  for (const auto& document : d) apart.push_back({document});
  for (auto run : {gpt_tiny(), llama_tiny(), qwen3_tiny(), t5_tiny()}) {
    for (const auto kind : {spec::AttentionKind::flash, spec::AttentionKind::dot_product}) {
      SCOPED_TRACE(run.model.name + " " + std::string(spec::enum_name(kind)));
      run.attention = kind;
      auto alone = run;
      alone.task = spec::Task::sft;
      alone.global_batch = 8;
      auto in_rows = run;
      in_rows.data.packing = spec::Packing::documents;
      in_rows.global_batch = 4;
      in_rows.grad_accum = 2;
      const auto want = training_with(alone, made(apart));
      const auto got = training_with(in_rows, made(together));
      const auto a = want->step();
      const auto b = got->step();
      EXPECT_EQ(a.loss_tokens, 57 - 8);
      EXPECT_EQ(b.loss_tokens, 57 - 8);
      EXPECT_EQ(a.padding_tokens, 8 * 16 - 57);
      EXPECT_EQ(b.padding_tokens, 4 * 16 - 57);
      EXPECT_NEAR(b.loss, a.loss, kSumsInOtherOrder * a.loss);
      EXPECT_NEAR(b.grad_norm, a.grad_norm, kSumsInOtherOrder * a.grad_norm);
      const auto wanted = want->all_gradients();
      const auto gradients = got->all_gradients();
      ASSERT_EQ(gradients.size(), wanted.size());
      double most = 0;
      for (const float g : wanted) most = std::max(most, std::abs(static_cast<double>(g)));
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        ASSERT_NEAR(gradients[i], wanted[i], kSumsInOtherOrder * most) << i;
      }
    }
  }
}

// If a row has only one document, telling where it begins changes no computation.
TEST_F(PackedTraining, ADocumentThatFillsItsRowHasTheBitsOfARow) {
  for (const auto& run : {gpt_tiny(), llama_tiny(), t5_tiny()}) {
    auto tuned = run;
    tuned.task = spec::Task::sft;
    const auto plain = training_with(tuned, [](const spec::RunSpec& own) {
      return make_synthetic_documents(own, [&own](std::int64_t) { return DocumentOfRow{1, own.seq_len}; });
    });
    const auto whole = training_with(packed(run), [](const spec::RunSpec& own) {
      return make_packed_documents(own, [&own](std::int64_t) { return std::vector{own.seq_len}; });
    });
    for (std::int64_t i = 0; i < run.steps; ++i) EXPECT_EQ(whole->step().loss, plain->step().loss) << run.model.name;
    EXPECT_TRUE(equal_in_all_bits(whole->all_gradients(), plain->all_gradients())) << run.model.name;
  }
}

TEST_F(PackedTraining, PaddingChangesNoBitOfPackedRows) {
  for (auto run : {packed(gpt_tiny()), packed(t5_tiny())}) {
    for (const auto kind : {spec::AttentionKind::flash, spec::AttentionKind::dot_product}) {
      run.attention = kind;
      const auto zeros = training_with(run, make_token_source);
      const auto others = training_with(
          run, [](const spec::RunSpec& own) { return make_packed_documents(own, drawn_packing(own), 7); });
      for (std::int64_t i = 0; i < run.steps; ++i) {
        const auto record = zeros->step();
        EXPECT_EQ(record.loss, others->step().loss);
        EXPECT_GT(record.padding_tokens, 0);
      }
      EXPECT_TRUE(equal_in_all_bits(zeros->all_gradients(), others->all_gradients()));
    }
  }
}

}  // namespace
}  // namespace perfbench::engine
