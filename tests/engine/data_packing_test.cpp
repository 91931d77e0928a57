// Packing documents of data sets into rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "engine/core/error.h"
#include "engine/core/no_target.h"
#include "engine/core/rng.h"
#include "engine/data/packed_rows.h"
#include "engine/data/run_data.h"
#include "engine/data/token_source.h"
#include "tests/datasets/dataset_folder.h"
#include "tests/engine/example_runs.h"
#include "workloads/datasets/flat_tokens_writer.h"

namespace perfbench::engine {
namespace {

using testing::ElementsAre;

std::vector<PackedRows::Piece> pieces_of(const std::vector<std::int64_t>& lengths) {
  std::vector<PackedRows::Piece> pieces;
  for (const auto tokens : lengths) pieces.push_back({static_cast<std::int64_t>(pieces.size()), tokens});
  return pieces;
}

std::vector<std::vector<std::int64_t>> origins_of(const PackedRows& packed) {
  std::vector<std::vector<std::int64_t>> rows;
  for (std::int64_t row = 0; row < packed.rows(); ++row) {
    rows.emplace_back();
    for (const auto& piece : packed.row(row)) rows.back().push_back(piece.origin);
  }
  return rows;
}

TEST(PackedRows, EachPieceGoesIntoTheFirstRowThatHasRoom) {
  const PackedRows packed(pieces_of({3, 5, 2, 4, 1, 6}), 6);
  EXPECT_THAT(origins_of(packed), ElementsAre(ElementsAre(0, 2, 4), ElementsAre(1), ElementsAre(3), ElementsAre(5)));
  std::vector<std::int32_t> first(6);
  packed.document_starts(0, first);
  EXPECT_THAT(first, ElementsAre(0, 0, 0, 3, 3, 5));
  packed.document_starts(1, first);
  EXPECT_THAT(first, ElementsAre(0, 0, 0, 0, 0, 5));
  packed.document_starts(2, first);
  EXPECT_THAT(first, ElementsAre(0, 0, 0, 0, 4, 5)) << "padding sees itself alone";
  EXPECT_EQ(PackedRows({}, 6).rows(), 0);
}

TEST(PackedRows, FirstFitEqualsAPlainSearch) {
  const RngStream draws(1, "lengths");
  std::vector<std::int64_t> lengths;
  for (std::uint64_t i = 0; i < 1500; ++i) lengths.push_back(1 + static_cast<std::int64_t>(draws.bits(i) % 100));
  std::vector<std::int64_t> room;
  std::vector<std::vector<std::int64_t>> want;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    std::size_t row = 0;
    while (row < room.size() && room[row] < lengths[i]) ++row;
    if (row == room.size()) {
      room.push_back(100);
      want.emplace_back();
    }
    room[row] -= lengths[i];
    want[row].push_back(static_cast<std::int64_t>(i));
  }
  EXPECT_EQ(origins_of(PackedRows(pieces_of(lengths), 100)), want);
}

// The inputs and targets of a document.
using Document = std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>;

struct CutRow {
  std::vector<Document> documents;
  TokenCounts counts;
};

// The row of a step with one sequence, cut where documents begin, without its padding.
CutRow cut_row(TokenSource& source, const spec::RunSpec& run, std::int64_t step) {
  const auto length = static_cast<std::size_t>(run.seq_len);
  std::vector<std::int32_t> tokens(length, 77);
  std::vector<std::int32_t> targets(length, 77);
  std::vector<std::int32_t> first(length, 0);
  CutRow row;
  row.counts = source.read({.step = step}, tokens, targets);
  if (run.packs_documents()) source.read_document_starts({.step = step}, first);
  const auto real = static_cast<std::int64_t>(length) - row.counts.padding;
  for (std::int64_t t = 0; t < run.seq_len; ++t) {
    const auto at = static_cast<std::size_t>(t);
    if (t >= real) {
      EXPECT_EQ(tokens[at], 0);
      EXPECT_EQ(targets[at], kNoTarget);
      EXPECT_EQ(first[at], run.packs_documents() ? t : 0);
      continue;
    }
    if (first[at] == t) row.documents.emplace_back();
    row.documents.back().first.push_back(tokens[at]);
    row.documents.back().second.push_back(targets[at]);
  }
  return row;
}

// All documents of an epoch from `step` on; moves `step` to the row behind them.
std::multiset<Document> documents_of_epoch(const spec::RunSpec& run, std::int64_t& step, std::size_t documents) {
  const auto source = make_token_source(run);
  std::multiset<Document> found;
  while (found.size() < documents) {
    for (auto& document : cut_row(*source, run, step++).documents) found.insert(std::move(document));
  }
  return found;
}

spec::RunSpec packing_run_on(const spec::DatasetFolder& folder, spec::DataKind kind, std::int64_t seq_len) {
  auto run = gpt_tiny();
  run.task = kind == spec::DataKind::instruction ? spec::Task::sft : spec::Task::pretrain;
  run.data = {
      .kind = kind, .path = folder.path().string(), .split = "train", .seed = 3, .packing = spec::Packing::documents};
  run.global_batch = 1;
  run.seq_len = seq_len;
  return run;
}

// Rows with one document each, compared with packing of the same documents: both cut documents that are longer than a
// row.
TEST(PackedInstructionSource, DocumentsEqualUnpackedOnesAndAnEpochHasEachOnce) {
  const spec::DatasetFolder folder("packing-instruction");
  {
    const RngStream draws(1, "documents");
    spec::FlatTokensWriter writer({.dataset = folder.path(), .max_token_id = 90, .prompts = spec::Prompts::counted});
    for (std::uint64_t d = 0; d < 40; ++d) {
      const auto ids = [&](std::uint64_t which, std::uint64_t most) {
        std::vector<std::int32_t> out(1 + draws.bits(10 * d + which) % most);
        for (auto& id : out) id = static_cast<std::int32_t>(1 + d);
        return out;
      };
      writer.append(spec::Split::train, ids(0, 7), ids(1, 9));
    }
    writer.finish();
  }
  const auto packed = packing_run_on(folder, spec::DataKind::instruction, 12);
  auto apart = packed;
  apart.data.packing = spec::Packing::none;
  std::int64_t row = 0;
  const auto want = documents_of_epoch(apart, row, 40);
  EXPECT_EQ(row, 40);
  row = 0;
  EXPECT_EQ(documents_of_epoch(packed, row, 40), want);
  const auto rows = row;
  EXPECT_LT(rows, 36);  // 40 documents of about (4 + 5) tokens
  EXPECT_EQ(documents_of_epoch(packed, row, 40), want) << "the second epoch";
  EXPECT_EQ(row, 2 * rows);
  // The next epoch has another order, which any rank determines by itself.
  const auto source = make_token_source(packed);
  std::int64_t others = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto later = cut_row(*source, packed, rows + i);
    others += later.documents != cut_row(*source, packed, i).documents ? 1 : 0;
    EXPECT_EQ(later.documents, cut_row(*make_token_source(packed), packed, rows + i).documents);
  }
  EXPECT_GT(others, rows / 2);
}

TEST(PackedInstructionSource, NoTokenHasATargetInAnotherDocument) {
  const spec::DatasetFolder folder("packing-row");
  {
    spec::FlatTokensWriter writer({.dataset = folder.path(), .max_token_id = 50, .prompts = spec::Prompts::counted});
    for (int i = 0; i < 2; ++i) {
      writer.append(spec::Split::train, std::vector<std::int32_t>{11, 12}, std::vector<std::int32_t>{13, 14});
    }
    writer.finish();
  }
  const auto run = packing_run_on(folder, spec::DataKind::instruction, 9);
  const auto row = cut_row(*make_token_source(run), run, 5);
  const Document document{{11, 12, 13, 14}, {kNoTarget, 13, 14, kNoTarget}};
  EXPECT_THAT(row.documents, ElementsAre(document, document));
  EXPECT_EQ(row.counts.targets, 4);
  EXPECT_EQ(row.counts.padding, 1);
}

// The sequences are 1 2, 3 4 5 and 6 7 8.
TEST(PackedFlatTokensSource, EveryTokenIsATargetOnceAfterItsPredecessor) {
  const spec::DatasetFolder folder("packing-flat");
  write_example(folder);
  const Document first{{0, 1}, {1, 2}};
  const Document second{{0, 3, 4}, {3, 4, 5}};
  const Document third{{0, 6, 7}, {6, 7, 8}};
  std::int64_t row = 0;
  const auto run = packing_run_on(folder, spec::DataKind::flat_tokens, 5);
  EXPECT_EQ(documents_of_epoch(run, row, 3), (std::multiset<Document>{first, second, third}));
  EXPECT_EQ(row, 2);
  const auto source = make_token_source(run);
  EXPECT_EQ(cut_row(*source, run, 0).counts.targets + cut_row(*source, run, 1).counts.targets, 8);
  // Sequences longer than a row are cut; each piece is treated as a sequence.
  row = 0;
  EXPECT_EQ(documents_of_epoch(packing_run_on(folder, spec::DataKind::flat_tokens, 2), row, 5),
            (std::multiset<Document>{first, {{0, 3}, {3, 4}}, {{0}, {5}}, {{0, 6}, {6, 7}}, {{0}, {8}}}));
  EXPECT_EQ(row, 4);
}

TEST(PackedFlatTokensSource, AcceptsADataSetShorterThanARow) {
  const spec::DatasetFolder folder("packing-short");
  write_example(folder);
  auto run = packing_run_on(folder, spec::DataKind::flat_tokens, 20);
  EXPECT_EQ(cut_row(*make_token_source(run), run, 3).counts.padding, 12);
  run.data.packing = spec::Packing::none;
  EXPECT_THROW(make_token_source(run), BadInput);
}

}  // namespace
}  // namespace perfbench::engine
