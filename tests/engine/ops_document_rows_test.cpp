// Positions in rows of several documents: each document gets the same as in a row by itself.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/engine/documents.h"
#include "tests/engine/ops_under_test.h"
#include "tests/engine/oracle/expect_within.h"

namespace perfbench::engine {
namespace {

using oracle::Operand;
using oracle::random_ids;
using oracle::random_operand;
using oracle::Values;

constexpr std::int64_t kSequences = 3;
constexpr std::int64_t kSeqLen = 13;
constexpr std::int64_t kTokens = kSequences * kSeqLen;
const DocumentLengths kLengths{4, 1, 6, 1, 1};

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// Calls f(first row, rows) for the tokens of each document; rows are counted over all.
template <class F>
void for_each_document(const Operand& documents, F f) {
  const auto first = documents.values();
  for (std::int64_t begin = 0; begin < kTokens;) {
    std::int64_t end = begin + 1;
    while (end % kSeqLen != 0 && first[at(end)] == first[at(begin)]) ++end;
    f(begin, end - begin);
    begin = end;
  }
}

class DocumentRowsTest : public OpsTest, public testing::WithParamInterface<DType> {
 protected:
  // Made within a test, because without a device there is no device memory, and the test is skipped.
  static Operand documents() { return document_starts(kSequences, kSeqLen, kLengths); }
};
INSTANTIATE_TEST_SUITE_P(Types, DocumentRowsTest, testing::Values(DType::f32, DType::bf16),
                         [](const auto& name) { return std::string(dtype_name(name.param)); });

TensorView rows_of(const Operand& x, std::int64_t first, std::int64_t rows) {
  const std::int64_t width = x.view().shape[1];
  return x.view().slice(first * width, Shape{rows, width});
}

TEST_P(DocumentRowsTest, HaveTheDocumentsThatTheTestsExpect) {
  const auto starts = documents();
  std::vector<std::int64_t> found;
  for_each_document(starts, [&](std::int64_t, std::int64_t rows) { found.push_back(rows); });
  EXPECT_EQ(found, (std::vector<std::int64_t>{4, 1, 6, 1, 1, 1, 6, 1, 1, 4, 6, 1, 1, 4, 1}));
}

// With a table of angles as long as the document, the document is a sequence.
TEST_P(DocumentRowsTest, RopeTurnsEachDocumentAsASequenceOfItsOwn) {
  const auto starts = documents();
  for (const std::int64_t head_dim : {6, 16}) {
    for (const auto layout : {spec::RopeLayout::half, spec::RopeLayout::interleaved}) {
      for (const auto direction : {Direction::forward, Direction::backward}) {
        const auto table = random_operand(DType::f32, Shape{kSeqLen, head_dim}, 2);
        const auto packed = random_operand(GetParam(), Shape{kTokens, 3 * head_dim}, 1);
        const auto apart = random_operand(GetParam(), Shape{kTokens, 3 * head_dim}, 1);
        RopeArgs args{.x = packed,
                      .cos_sin_TD = table,
                      .first_N = starts,
                      .head_dim = head_dim,
                      .layout = layout,
                      .direction = direction};
        ops_->rope(args);
        args.first_N = {};
        for_each_document(starts, [&](std::int64_t first, std::int64_t rows) {
          args.x = rows_of(apart, first, rows);
          args.cos_sin_TD = rows_of(table, 0, rows);
          ops_->rope(args);
        });
        EXPECT_EQ(packed.bytes(), apart.bytes()) << head_dim;
      }
    }
  }
}

TEST_P(DocumentRowsTest, EmbeddingAddsThePositionWithinTheDocument) {
  const auto starts = documents();
  const std::int64_t vocabulary = 11, width = 37;
  const auto table = random_operand(GetParam(), Shape{vocabulary, width}, 1);
  const auto position = random_operand(GetParam(), Shape{kSeqLen, width}, 2);
  const auto tokens = random_ids(Shape{kTokens}, vocabulary, 3);
  const Operand packed(GetParam(), Shape{kTokens, width});
  const Operand apart(GetParam(), Shape{kTokens, width});
  EmbeddingForwardArgs args{.x_NM = packed,
                            .tokens_N = tokens,
                            .table_VM = table,
                            .position_TM = position,
                            .first_N = starts,
                            .seq_len = kSeqLen};
  ops_->embedding_forward(args);
  args.first_N = {};
  for_each_document(starts, [&](std::int64_t first, std::int64_t rows) {
    args.x_NM = rows_of(apart, first, rows);
    args.tokens_N = tokens.view().slice(first, Shape{rows});
    args.seq_len = rows;
    ops_->embedding_forward(args);
  });
  EXPECT_EQ(packed.bytes(), apart.bytes());
}

// Gradients of one position are added one by one, in any order: gamma of their number.
TEST_P(DocumentRowsTest, GradientsOfPositionsAreSumsOverTheDocuments) {
  const auto starts = documents();
  const std::int64_t vocabulary = 11, width = 37;
  const auto tokens = random_ids(Shape{kTokens}, vocabulary, 3);
  const auto dx = random_operand(GetParam(), Shape{kTokens, width}, 4);
  const auto dtable = random_operand(DType::f32, Shape{vocabulary, width}, 5);
  const auto dposition = random_operand(DType::f32, Shape{kSeqLen + 1, width}, 6);
  const auto d = dx.values();
  Values want = dposition.values();
  Values magnitude = want;
  for (auto& m : magnitude) m = std::abs(m);
  for_each_document(starts, [&](std::int64_t first, std::int64_t rows) {
    for (std::int64_t i = 0; i < rows * width; ++i) {
      want[at(i)] += d[at(first * width + i)];
      magnitude[at(i)] += std::abs(d[at(first * width + i)]);
    }
  });
  ops_->embedding_backward({.dtable_VM = dtable,
                            .dposition_TM = dposition,
                            .dx_NM = dx,
                            .tokens_N = tokens,
                            .first_N = starts,
                            .seq_len = kSeqLen});
  oracle::expect_within(
      dposition, want, [&](std::size_t i) { return oracle::gamma(kTokens) * magnitude[i]; }, "dposition");
}

}  // namespace
}  // namespace perfbench::engine
