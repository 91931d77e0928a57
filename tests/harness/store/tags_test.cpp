#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/tag_ledger.h"
#include "harness/system/input_error.h"
#include "harness/system/run_id.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class TagLedger : public testing::Test {
 protected:
  TagLedger() {
    for (int i = 1; i <= 2; ++i) {
      ExampleRun example{.attempt = example_attempt("c", i)};
      example.attempt.sweep_id = "night-one";
      write_run_directory(scratch_ / std::to_string(i), example);
    }
    ingest_tree(db_, scratch_.path());
  }
  Tag tag(const std::string& name, std::optional<std::int64_t> attempt = {}) const {
    return {
        .name = name, .run_id = run_, .attempt_key = attempt, .author = "ada", .created_utc = "2026-02-01T00:00:00Z"};
  }
  std::string refusal(const std::string& name) {
    try {
      record_tag(db_, tag(name));
    } catch (const InputError& e) {
      return e.what();
    }
    return "taken";
  }

  ScratchFolder scratch_;
  Connection db_ = open_database(scratch_ / "a.db");
  std::string run_ = run_id(example_spec());
};

TEST_F(TagLedger, KeepsTheTarget) {
  record_tag(db_, tag("release-1.2"));
  record_tag(db_, tag("noisy", 2));
  EXPECT_EQ(find_tag(db_, "release-1.2")->attempt_key, std::nullopt);
  EXPECT_EQ(find_tag(db_, "noisy")->attempt_key, 2);
  EXPECT_EQ(find_tag(db_, "noisy")->run_id, run_);
  EXPECT_EQ(find_tag(db_, "noisy")->author, "ada");
  EXPECT_THAT(tags_of_run(db_, run_), SizeIs(2));
  EXPECT_EQ(list_tags(db_).front().name, "noisy");
  EXPECT_FALSE(find_tag(db_, "quiet"));
}

TEST_F(TagLedger, ANameIsUsedOnce) {
  record_tag(db_, tag("noisy", 2));
  EXPECT_THAT(refusal("noisy"), HasSubstr("is a tag of run " + run_.substr(0, 12) + " (one attempt) already"));
}

TEST_F(TagLedger, RefusesReservedNames) {
  for (const auto& [name, why] : {std::pair{"latest", "already names runs"},
                                  {"all", "already names runs"},
                                  {"abcdef", "start of a run id"},
                                  {"night-one", "id of a sweep"},
                                  {"run:x", "begins with a letter"},
                                  {"a/b", "begins with a letter"},
                                  {"", "begins with a letter"},
                                  {"..", "begins with a letter"},
                                  {"-x", "begins with a letter"},
                                  {"a b", "begins with a letter"}}) {
    EXPECT_THAT(refusal(name), HasSubstr(why)) << name;
  }
}

TEST_F(TagLedger, RemovesATagOnlyFromTheNamedRun) {
  record_tag(db_, tag("noisy", 2));
  const auto refused = [&](const std::string& name, std::optional<std::int64_t> attempt) {
    try {
      remove_tag(db_, name, run_, attempt);
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string("removed");
  };
  EXPECT_THAT(refused("nosy", 2), HasSubstr("did you mean 'noisy'"));
  EXPECT_THAT(refused("noisy", 1), HasSubstr("not of the named run"));
  EXPECT_EQ(refused("noisy", 2), "removed");
  EXPECT_THAT(list_tags(db_), IsEmpty());
}

TEST_F(TagLedger, KeepsNotesInTheirOrder) {
  const auto note = [&](const std::string& text, const std::string& when, std::optional<std::int64_t> attempt) {
    record_note(db_, {.run_id = run_, .attempt_key = attempt, .author = "ada", .text = text, .created_utc = when});
  };
  note("later", "2026-02-02T00:00:00Z", 1);
  note("earlier", "2026-02-01T00:00:00Z", {});
  const auto notes = notes_of_run(db_, run_);
  ASSERT_THAT(notes, SizeIs(2));
  EXPECT_EQ(notes[0].text, "earlier");
  EXPECT_FALSE(notes[0].attempt_key);
  EXPECT_EQ(notes[1].attempt_key, 1);
  EXPECT_THROW(note("", "2026-02-02T00:00:00Z", {}), InputError);
}

TEST_F(TagLedger, NeedsAnExistingRun) {
  EXPECT_THROW(db_.execute("INSERT INTO tags VALUES (1, 'x', 77, NULL, 'ada', '2026-02-01T00:00:00Z')"), StoreError);
  EXPECT_THROW(db_.execute("INSERT INTO notes VALUES (1, 77, NULL, 'ada', 'x', '2026-02-01T00:00:00Z')"), StoreError);
  record_tag(db_, tag("noisy", 2));
  EXPECT_THROW(db_.execute("DELETE FROM runs"), StoreError) << "a tag kept nothing";
}

}  // namespace
}  // namespace perfbench::harness
