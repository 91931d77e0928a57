// Sides given as revisions, binaries and settings, with a small git repository whose "engine" is a script.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>

#include "harness/matrix/model_catalog.h"
#include "harness/matrix/yaml_document.h"
#include "harness/pairs/commit_build.h"
#include "harness/pairs/git_history.h"
#include "harness/pairs/sides.h"
#include "harness/system/input_error.h"
#include "tests/harness/pairs/revision_repository.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Revisions : public testing::Test {
 protected:
  template <class F>
  static std::string error_of(const F& action) {
    try {
      action();
    } catch (const std::exception& e) {
      return e.what();
    }
    return "";
  }

  ScratchFolder scratch_;
  RevisionRepository repository_{scratch_ / "repository", PERFBENCH_FAKE_ENGINE};
};

TEST_F(Revisions, FirstParentsAreListedOldestFirst) {
  const auto good = repository_.commit("one", "1");
  repository_.git({"checkout", "-q", "-b", "side"});
  repository_.commit("on a branch", "2");
  repository_.git({"checkout", "-q", "main"});
  const auto between = repository_.commit("two", "3");
  repository_.git({"merge", "-q", "--strategy=ours", "-m", "merge", "side"});
  const GitHistory history(repository_.path());
  const auto bad = history.commit("main");
  EXPECT_THAT(history.first_parents(good, bad), ElementsAre(between, bad)) << "the branch does not count as a step";
  EXPECT_EQ(history.subject(between), "two");
  EXPECT_THAT(error_of([&] { history.first_parents(history.commit("side"), bad); }), HasSubstr("first-parent"));
  EXPECT_THAT(error_of([&] { history.first_parents(bad, good); }), HasSubstr("first-parent"));
  EXPECT_THAT(error_of([&] { history.commit("nowhere"); }), HasSubstr("has no commit 'nowhere'"));
  EXPECT_THAT(error_of([&] { history.commit("--all"); }), HasSubstr("has no commit '--all'"));
  EXPECT_THAT(error_of([&] { GitHistory(fs::path("/")); }), HasSubstr("--repo"));
}

TEST_F(Revisions, AnEngineIsBuiltOnceAndKept) {
  const auto commit = repository_.commit("one", "1.5");
  const GitHistory history(repository_.path());
  std::vector<std::string> said;
  const BuildSettings settings{.cache = scratch_ / "cache", .say = [&](const std::string& s) { said.push_back(s); }};
  const auto engine = build_engine(history, commit, settings);
  EXPECT_THAT(read_text(engine), HasSubstr("PERFBENCH_FAKE_SPEED=1.5"));
  EXPECT_THAT(said, ElementsAre(HasSubstr("building")));
  EXPECT_EQ(build_engine(history, commit, settings), engine);
  EXPECT_EQ(said.size(), 1U) << "the second time nothing is built";
  auto other = settings;
  other.cmake_options = {"-DOTHER=1"};
  EXPECT_NE(build_engine(history, commit, other), engine) << "other settings are another build";
  EXPECT_THAT(repository_.git({"status", "--porcelain"}), testing::IsEmpty());
  EXPECT_THAT(repository_.git({"worktree", "list"}), Not(HasSubstr("cache"))) << "the repository is not touched";
}

TEST_F(Revisions, NothingThatTheRepositoryNamesIsRun) {
  const auto good = repository_.commit("one", "1");
  repository_.commit("two", "2");
  write_text(scratch_ / "spy", "#!/bin/sh\ntouch " + (scratch_ / "ran").string() + "\n");
  fs::permissions(scratch_ / "spy", fs::perms::owner_all);
  const auto spy = (scratch_ / "spy").string();
  // A commit with a signature, which log.showSignature would verify.
  const auto object = repository_.git({"cat-file", "commit", "HEAD"});
  const auto blank = object.find("\n\n");
  write_text(scratch_ / "signed", object.substr(0, blank) + "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n" +
                                      " -----END PGP SIGNATURE-----" + object.substr(blank));
  auto signed_commit = repository_.git({"hash-object", "-t", "commit", "-w", (scratch_ / "signed").string()});
  signed_commit.erase(signed_commit.find('\n'));
  for (const auto* setting : {"log.showSignature=true", "core.fsmonitor=SPY", "gpg.program=SPY", "core.pager=SPY",
                              "diff.external=SPY", "core.sshCommand=SPY", "core.hooksPath=HOOKS"}) {
    const std::string text = setting;
    const auto name = text.substr(0, text.find('='));
    auto value = text.substr(text.find('=') + 1);
    if (value == "SPY") value = spy;
    if (value == "HOOKS") value = (scratch_ / "hooks").string();
    repository_.git({"config", name, value});
  }
  fs::create_directories(scratch_ / "hooks");
  fs::copy_file(spy, scratch_ / "hooks/post-checkout");
  fs::remove(scratch_ / "ran");

  const GitHistory history(repository_.path());
  EXPECT_EQ(history.commit(signed_commit), signed_commit);
  EXPECT_EQ(history.subject(signed_commit), "two");
  EXPECT_EQ(history.first_parents(good, signed_commit).size(), 1U);
  history.check_out(signed_commit, scratch_ / "out");
  EXPECT_FALSE(fs::exists(scratch_ / "ran"));
}

// As in a container, where another user owns the files: git's "dubious ownership".
TEST_F(Revisions, ARepositoryOfAnotherOwnerIsReadAndCheckedOut) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const auto commit = repository_.commit("one", "1.5");
  constexpr uid_t kSomebodyElse = 12345;
  for (const auto& entry : fs::recursive_directory_iterator(repository_.path())) {
    ASSERT_EQ(lchown(entry.path().c_str(), kSomebodyElse, kSomebodyElse), 0);
  }
  ASSERT_EQ(lchown(repository_.path().c_str(), kSomebodyElse, kSomebodyElse), 0);
  const GitHistory history(repository_.path());
  EXPECT_EQ(history.commit("main"), commit);
  EXPECT_EQ(history.subject(commit), "one");
  history.check_out(commit, scratch_ / "out");
  EXPECT_THAT(read_text(scratch_ / "out/engine.sh"), HasSubstr("PERFBENCH_FAKE_SPEED=1.5"));
}

TEST_F(Revisions, ABuildThatFailsSaysWhyWithTheEndOfItsLog) {
  const auto commit = repository_.broken_commit("message(FATAL_ERROR \"no compiler for the moon\")");
  const GitHistory history(repository_.path());
  const auto error = error_of([&] { build_engine(history, commit, {.cache = scratch_ / "cache"}); });
  EXPECT_THAT(error, HasSubstr("cannot be built: cmake --preset failed"));
  EXPECT_THAT(error, HasSubstr("no compiler for the moon"));
  EXPECT_THAT(error, HasSubstr(".log"));
}

TEST_F(Revisions, TheTreeOfAProgramIsBuiltOnceWhereItStays) {
  const auto commit = repository_.commit("one", "1.5");
  const GitHistory history(repository_.path());
  const BuildSettings settings{.cache = scratch_ / "cache"};
  const BuildCommands commands{{"cp", "engine.sh", "made"}, {"sh", "-c", "pwd >> where"}};
  const auto tree = build_tree(history, commit, commands, settings);
  EXPECT_THAT(read_text(tree / "made"), HasSubstr("PERFBENCH_FAKE_SPEED=1.5"));
  EXPECT_EQ(GitHistory(tree).commit("HEAD"), commit);
  EXPECT_EQ(build_tree(history, commit, commands, settings), tree);
  EXPECT_EQ(read_text(tree / "where"), tree.string() + "\n") << "built once, and not moved afterwards";
  EXPECT_NE(build_tree(history, commit, {{"cp", "engine.sh", "made"}}, settings), tree) << "another recipe";
  fs::remove(tree.parent_path() / (tree.stem().string() + ".built"));  // as if the build had been killed
  EXPECT_EQ(build_tree(history, commit, commands, settings), tree);
  EXPECT_EQ(read_text(tree / "where"), tree.string() + "\n") << "begins again with a fresh tree";
}

TEST_F(Revisions, OnlyTheTreesThatWereUsedLastAreKept) {
  const auto commit = repository_.commit("one", "1");
  const GitHistory history(repository_.path());
  const auto cache = scratch_ / "cache";
  const auto now = fs::file_time_type::clock::now();
  for (int i = 0; i < 20; ++i) {
    const auto tree = cache / fmt::format("tree{:02}.tree", i);
    fs::create_directories(tree);
    auto done = tree;
    write_text(done.replace_extension(".built"), "");
    fs::last_write_time(done, now - std::chrono::hours(i + 1));
  }
  const auto tree = build_tree(history, commit, {}, {.cache = cache});
  EXPECT_TRUE(fs::exists(tree));
  EXPECT_TRUE(fs::exists(cache / "tree18.tree"));
  EXPECT_FALSE(fs::exists(cache / "tree19.tree"));
  EXPECT_FALSE(fs::exists(cache / "tree19.built"));
}

TEST_F(Revisions, ATreeThatCannotBeBuiltSaysWhichCommandFailed) {
  const auto commit = repository_.commit("one", "1");
  const GitHistory history(repository_.path());
  const auto error = error_of([&] {
    build_tree(history, commit, {{"true"}, {"sh", "-c", "echo no moon; exit 3"}}, {.cache = scratch_ / "cache"});
  });
  EXPECT_THAT(error, HasSubstr("sh -c failed"));
  EXPECT_THAT(error, HasSubstr("no moon"));
  EXPECT_THAT(error_of([&] { build_tree(history, commit, {{"no-such-maker"}}, {.cache = scratch_ / "cache"}); }),
              HasSubstr("no-such-maker"));
}

TEST_F(Revisions, ASideIsCurrentSettingsABinaryOrARevision) {
  const auto parse = [](const std::string& text) {
    return parse_side(text, "/current", [](const std::string& revision) { return "commit of " + revision; });
  };
  EXPECT_EQ(parse("current").engine.file, "/current");
  EXPECT_THAT(parse("set:remat=full,attention=flash").set, ElementsAre("remat=full", "attention=flash"));
  EXPECT_EQ(parse("HEAD~1").commit, "commit of HEAD~1");
  EXPECT_EQ(parse("rev:current").commit, "commit of current") << "a branch of that name";
  fs::create_directories(scratch_ / "installed/bin");
  write_text(scratch_ / "installed/bin/perfbench-engine", "#!/bin/sh\n");
  EXPECT_THAT(error_of([&] { parse((scratch_ / "installed").string()); }), HasSubstr("has no bin/perfbench-engine"))
      << "it cannot be executed";
  fs::permissions(scratch_ / "installed/bin/perfbench-engine", fs::perms::all);
  const auto installed = parse((scratch_ / "installed").string());
  EXPECT_EQ(installed.kind, SideKind::binary);
  EXPECT_EQ(installed.engine.file, scratch_ / "installed/bin/perfbench-engine");
  EXPECT_THAT(error_of([&] { parse("./nothing"); }), HasSubstr("'./nothing'"));
  EXPECT_THAT(error_of([&] { parse("set:"); }), HasSubstr("set:KEY=VALUE"));
}

class PairedCells : public testing::Test {
 protected:
  std::vector<AbCell> cells(const Overrides& base, const AbSide& a, const AbSide& b) {
    const auto document = YamlDocument::parse(
        "name: m\ndefaults: {model: gpt-tiny, seq_len: 8, global_batch: 2}\n"
        "axes:\n  attention: [flash, dot_product]\n  remat: [none, full]\n",
        "matrix", "m.yaml");
    const ModelCatalog catalog(PERFBENCH_SOURCE_DIR);
    return pair_cells(base, a, b,
                      [&](const Overrides& overrides, const AbSide&) { return expand(document, catalog, overrides); });
  }
};

TEST_F(PairedCells, KeepEachCellThoughASideMakesTwoOfThemEqual) {
  const auto found = cells({}, {.asked = "current"}, {.asked = "set", .set = {"attention=dot_product"}});
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].label, "attention=flash remat=none");
  EXPECT_EQ(found[0].a.run.attention, spec::AttentionKind::flash);
  EXPECT_EQ(found[0].b.run.attention, spec::AttentionKind::dot_product);
  EXPECT_EQ(found[2].b.run_id, found[0].b.run_id);
  EXPECT_EQ(found[2].a.run_id, found[2].b.run_id) << "a cell that has the setting anyway is compared with itself";
}

TEST_F(PairedCells, AreChosenByTheMatrixsOwnValues) {
  const auto found = cells({.only = {"attention=flash"}}, {}, {.set = {"attention=dot_product"}});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].label, "attention=flash remat=full");
  EXPECT_EQ(found[1].b.run.attention, spec::AttentionKind::dot_product);
}

TEST_F(PairedCells, CellsThatBecomeEqualOnBothSidesAreOne) {
  EXPECT_EQ(cells({.set = {"attention=flash"}}, {}, {}).size(), 2U);
}

}  // namespace
}  // namespace perfbench::harness
