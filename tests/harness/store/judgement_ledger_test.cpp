// The ledger of decisions: the verdict of the newest night of each matrix.
#include "harness/store/ledgers/judgement_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/store/database.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class NightAnswers : public testing::Test {
 protected:
  void add(const std::string& id, const std::string& matrix, const std::string& made_utc, const std::string& answer,
           JudgementKind kind = JudgementKind::night) {
    add_judgement(db_, {.judgement_id = id,
                        .kind = kind,
                        .matrix = matrix,
                        .made_utc = made_utc,
                        .lines = {{.cell = "model=a", .part = LedgerPart::answer, .text = "SAME"},
                                  {.part = LedgerPart::answer, .text = answer}}});
  }

  ScratchFolder scratch_;
  Connection db_ = open_database(scratch_ / "perf.db");
};

TEST_F(NightAnswers, AreThoseOfTheNewestNightOfEachMatrix) {
  EXPECT_THAT(newest_night_answers(db_), IsEmpty());
  add("a2", "a", "2026-01-02T00:00:00Z", "REGRESSED");
  add("a1", "a", "2026-01-01T00:00:00Z", "SAME");  // stored later, as by an import
  add("b1", "b", "2026-01-03T00:00:00Z", "INCONCLUSIVE");
  add("b2", "b", "2026-01-04T00:00:00Z", "SAME", JudgementKind::pairs);
  const auto answers = newest_night_answers(db_);
  ASSERT_THAT(answers, SizeIs(2));
  EXPECT_EQ(answers[0].matrix, "b");
  EXPECT_EQ(answers[0].verdict, Verdict::inconclusive) << "pairs are not a night";
  EXPECT_EQ(answers[1].sweep_id, "a2");
  EXPECT_EQ(answers[1].made_utc, "2026-01-02T00:00:00Z");
  EXPECT_EQ(answers[1].verdict, Verdict::regressed);
}

TEST_F(NightAnswers, AnUnknownVerdictIsLeftOutAndSaid) {
  add("a1", "a", "2026-01-01T00:00:00Z", "WORSE");
  EXPECT_THAT(newest_night_answers(db_), IsEmpty());
  EXPECT_THAT(db_.left_out(), testing::Not(IsEmpty()));
}

}  // namespace
}  // namespace perfbench::harness
