// The ledger of decisions: the verdict of the newest night of each matrix.
#include "harness/store/ledgers/judgement_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

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

TEST_F(NightAnswers, AreThoseOfTheNewestNightsOfEachMatrix) {
  const std::string now = "2026-02-01T00:00:00Z";
  EXPECT_THAT(newest_night_answers(db_, now), IsEmpty());
  add("a2", "a", "2026-01-02T00:00:00Z", "REGRESSED");
  add("a1", "a", "2026-01-01T00:00:00Z", "SAME");  // stored later, as by an import
  add("b1", "b", "2026-01-03T00:00:00Z", "INCONCLUSIVE");
  add("b2", "b", "2026-01-04T00:00:00Z", "SAME", JudgementKind::pairs);
  add("b3", "b", "2030-01-01T00:00:00Z", "SAME");  // by a wrong clock
  const auto answers = newest_night_answers(db_, now);
  ASSERT_THAT(answers, SizeIs(3));
  EXPECT_EQ(answers[0].sweep_id, "b1") << "pairs are not a night, and the future is not over";
  EXPECT_EQ(answers[0].matrix, "b");
  EXPECT_EQ(answers[0].verdict, Verdict::inconclusive);
  EXPECT_EQ(answers[1].sweep_id, "a2");
  EXPECT_EQ(answers[1].made_utc, "2026-01-02T00:00:00Z");
  EXPECT_EQ(answers[1].verdict, Verdict::regressed) << "of all cells, not of one";
  EXPECT_EQ(answers[2].sweep_id, "a1");
  for (int i = 10; i < 40; ++i)
    add("c" + std::to_string(i), "c", "2026-01-05T00:00:" + std::to_string(i) + "Z", "SAME");
  const auto of_c = std::ranges::count(newest_night_answers(db_, now), "c", &NightAnswer::matrix);
  EXPECT_EQ(of_c, 20) << "the newest ones";
}

TEST_F(NightAnswers, AnUnknownVerdictIsLeftOutAndSaid) {
  add("a1", "a", "2026-01-01T00:00:00Z", "WORSE");
  EXPECT_THAT(newest_night_answers(db_, "2026-02-01T00:00:00Z"), IsEmpty());
  EXPECT_THAT(db_.left_out(), testing::Not(IsEmpty()));
}

}  // namespace
}  // namespace perfbench::harness
