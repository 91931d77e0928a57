#include "harness/records/subject.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/store/queries/query.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Subject engine(char digest, const std::string& library = "1") {
  const std::map<std::string, std::string> told{{"mpi", "absent"}, {"libraries.L", library}};
  return {.engine_sha256 = std::string(64, digest),
          .told = std::make_shared<const std::map<std::string, std::string>>(told),
          .git_commit = std::string(40, 'a')};
}

TEST(Subject, IsTheEnginesBytesAndItsFaults) {
  const auto one = engine('1');
  auto renamed = one;
  renamed.git_commit = std::string(40, 'b');
  EXPECT_TRUE(same_subject(one, renamed));
  EXPECT_FALSE(same_subject(one, engine('2')));
  EXPECT_FALSE(same_subject(one, engine('1', "2")));
  auto faulty = one;
  faulty.inject = {"slow:span=matmul"};
  EXPECT_FALSE(same_subject(one, faulty));
  auto paired = one;
  paired.side = "A";
  EXPECT_FALSE(same_subject(one, paired));
}

TEST(Subject, AnAttemptWithoutFactsHasTheSubjectOfTheOthers) {
  auto silent = engine('1');
  silent.told.reset();
  SubjectGroups groups;
  EXPECT_EQ(groups.place_of(silent), 0U);
  EXPECT_EQ(groups.place_of(engine('1')), 0U);
  EXPECT_EQ(groups.place_of(engine('1', "2")), 1U);
  EXPECT_EQ(groups.place_of(silent), 0U);
}

TEST(Subject, TheClockOfADemonstrationIsNotAFault) {
  auto subject = engine('1');
  subject.inject = {"work_clock:noise=0.02"};
  EXPECT_FALSE(subject.is_faulty());
  subject.inject.emplace_back("startup:ms=5");
  EXPECT_TRUE(subject.is_faulty());
}

TEST(Subject, HasANameForPeople) {
  auto subject = engine('1');
  EXPECT_EQ(subject_name(subject), "aaaaaaaa");
  subject.git_dirty = true;
  subject.inject = {"wrong_gradient"};
  subject.side = "B";
  EXPECT_EQ(subject_name(subject), "aaaaaaaa-dirty, inject wrong_gradient, side B");
  subject.git_commit = "no commit";
  EXPECT_EQ(subject_name(subject), "engine 11111111, inject wrong_gradient, side B");
  EXPECT_EQ(subject_name({.source = "sweep", .git_commit = std::string(40, 'a')}), "unknown engine of sweep");
}

TEST(Subject, NamesOfOneCommitShowTheDifference) {
  EXPECT_THAT(distinct_names({engine('1'), engine('2')}),
              ElementsAre("aaaaaaaa (engine 11111111)", "aaaaaaaa (engine 22222222)"));
  EXPECT_THAT(distinct_names({engine('1'), engine('1', "2")}),
              ElementsAre("aaaaaaaa (libraries.L 1)", "aaaaaaaa (libraries.L 2)"));
}

Subject program(char digest, std::map<std::string, std::string> told) {
  told.try_emplace(told.contains("libraries.container.image") ? "libraries.numpy" : "libraries.packages", "same");
  return {.engine_sha256 = std::string(64, digest),
          .told = std::make_shared<const std::map<std::string, std::string>>(told)};
}

TEST(Subject, ProgramsShowInWhatTheyDiffer) {
  const auto digest = [](char letter) { return std::string(16, letter); };
  EXPECT_THAT(
      distinct_names({program('1', {{"libraries.container.image", digest('a')}}),
                      program('2', {{"libraries.container.image", digest('b')}})}),
      ElementsAre("program 11111111 (container.image aaaaaaaa)", "program 22222222 (container.image bbbbbbbb)"));
  EXPECT_THAT(distinct_names({program('1', {{"libraries.file.train.py", digest('a')},
                                            {"libraries.packages", digest('c')},
                                            {"libraries.torch", "2.3"}}),
                              program('2', {{"libraries.file.train.py", digest('b')},
                                            {"libraries.packages", digest('d')},
                                            {"libraries.torch", "2.4"}})}),
              ElementsAre("program 11111111 (torch 2.3, train.py aaaaaaaa and 1 more)",
                          "program 22222222 (torch 2.4, train.py bbbbbbbb and 1 more)"));
  const std::map<std::string, std::string> named{{"libraries.program", "maxtext"}, {"libraries.jax", "1"}};
  auto newer = named;
  newer["libraries.jax"] = "2";
  EXPECT_THAT(distinct_names({program('1', named), program('2', newer)}),
              ElementsAre("maxtext (program 11111111: jax 1)", "maxtext (program 22222222: jax 2)"));
  EXPECT_THAT(distinct_names({program('1', {}), engine('1')}), ElementsAre("program 11111111", "aaaaaaaa"));
}

// A comparison of all pairs would take minutes.
TEST(Subject, VeryManyAreNamed) {
  std::vector<Subject> all;
  for (int i = 0; i < 30'000; ++i) {
    all.push_back(engine('1'));
    all.back().git_commit = fmt::format("{:08x}{:032}", i / 2, 0);  // two engines of each commit
    if (i % 2 == 1) all.back().engine_sha256[0] = '2';
  }
  for (int i = 0; i < 30'000; ++i) all.push_back(program(static_cast<char>('0' + i % 10), {}));
  for (int i = 0; i < 30'000; ++i)
    all[static_cast<std::size_t>(30'000 + i)].engine_sha256.replace(0, 8, fmt::format("{:08x}", i));
  const auto names = distinct_names(all);
  EXPECT_EQ(names[0], "00000000 (engine 11111111)");
  EXPECT_EQ(names[29'999], "00003a97 (engine 21111111)");
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), all.size());
}

TEST(Subject, AWholeNameComesBeforeAPartOfOne) {
  auto side = engine('1');
  side.side = "A";
  const std::vector<Subject> all{side, engine('1')};
  EXPECT_THAT(named_subjects(all, "aaaaaaaa"), ElementsAre(1U));
  EXPECT_THAT(named_subjects(all, "side A"), ElementsAre(0U));
  EXPECT_THAT(named_subjects(all, "aaaa"), ElementsAre(0U, 1U));
  EXPECT_THAT(named_subjects(all, "111111"), ElementsAre(0U, 1U));
  EXPECT_THAT(named_subjects(all, "side B"), IsEmpty());
}

// An older perfbench did not record the engine: then each sweep is a subject of its own, and so is each build.
TEST(Subject, WithoutAnEngineBelongsToItsSweepAndBuild) {
  const ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  int written = 0;
  const auto add = [&](const std::string& sweep, char commit) {
    ExampleRun example{.attempt = example_attempt("c", ++written)};
    example.attempt.sweep_id = sweep;
    example.attempt.engine_sha256.clear();
    example.environment.git_commit = std::string(40, commit);
    write_run_directory(scratch / std::to_string(written), example);
    ingest_run_directory(db, scratch / std::to_string(written));
  };
  add("one", 'a');
  add("one", 'a');
  add("one", 'b');
  add("two", 'a');
  SubjectGroups groups;
  for (const auto& attempt : load_attempts(db, parse_selection("all"))) groups.place_of(attempt.subject);
  EXPECT_THAT(distinct_names(groups.subjects()),
              ElementsAre("unknown engine of one (git_commit " + std::string(40, 'a') + ")",
                          "unknown engine of one (git_commit " + std::string(40, 'b') + ")", "unknown engine of two"));
}

}  // namespace
}  // namespace perfbench::harness
