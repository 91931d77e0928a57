// What people said about runs: tags, which name one run or one attempt, and notes (tables tags and notes).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/store/sqlite.h"
#include "workloads/spec/fields.h"

namespace perfbench::harness {

struct Tag {
  std::string name;
  std::string run_id;                       // whole
  std::optional<std::int64_t> attempt_key;  // of that run; nothing: the run as a whole
  std::string author;
  std::string created_utc;

  // What means the same in every database.
  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"name", "the tag"}, self.name);
    f(Field{"run_id", "of which run"}, self.run_id);
    f(Field{"author", "who gave it"}, self.author);
    f(Field{"created_utc", "when it was given"}, self.created_utc);
  }
};

struct Note {
  std::string run_id;                       // whole
  std::optional<std::int64_t> attempt_key;  // of that run; nothing: the run as a whole
  std::string author;
  std::string text;
  std::string created_utc;

  // What means the same in every database.
  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"run_id", "of which run"}, self.run_id);
    f(Field{"author", "who wrote it"}, self.author);
    f(Field{"text", "what is to be known"}, self.text);
    f(Field{"created_utc", "when it was written"}, self.created_utc);
  }
};

// Throws InputError for a name that another tag has, or that means something else where a run is named (run_name.h):
// the start of a run id, a sweep, 'latest', a path, a prefix.
void record_tag(Connection& db, const Tag& tag);

// Throws InputError where no tag has that name, or it is not of that run or attempt, which the message says.
void remove_tag(Connection& db, const std::string& name, const std::string& run_id,
                const std::optional<std::int64_t>& attempt_key);

std::optional<Tag> find_tag(const Connection& db, const std::string& name);

// By name.
std::vector<Tag> list_tags(const Connection& db);

// Of a run and its attempts, by name.
std::vector<Tag> tags_of_run(const Connection& db, const std::string& run_id);

// Throws InputError without a text or an author.
void record_note(Connection& db, const Note& note);

// Oldest first.
std::vector<Note> list_notes(const Connection& db);

// Of a run and its attempts, oldest first.
std::vector<Note> notes_of_run(const Connection& db, const std::string& run_id);

}  // namespace perfbench::harness
