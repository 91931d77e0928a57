// Annotations of runs by users: tags, which name one run or one attempt, and notes (tables tags and notes).
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
  std::string run_id;                       // complete id
  std::optional<std::int64_t> attempt_key;  // of that run; nullopt: the run as a whole
  std::string author;
  std::string created_utc;

  // The fields that have the same meaning in every database.
  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"name", "the tag"}, self.name);
    f(Field{"run_id", "its run"}, self.run_id);
    f(Field{"author", "who gave it"}, self.author);
    f(Field{"created_utc", "when it was given"}, self.created_utc);
  }
};

struct Note {
  std::string run_id;                       // complete id
  std::optional<std::int64_t> attempt_key;  // of that run; nullopt: the run as a whole
  std::string author;
  std::string text;
  std::string created_utc;

  // The fields that have the same meaning in every database.
  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"run_id", "its run"}, self.run_id);
    f(Field{"author", "who wrote it"}, self.author);
    f(Field{"text", "text of the note"}, self.text);
    f(Field{"created_utc", "when it was written"}, self.created_utc);
  }
};

// Throws InputError for a name that another tag has, or that has another meaning as the name of a run (run_name.h): the
// start of a run id, a sweep, 'latest', a path, a prefix.
void record_tag(Connection& db, const Tag& tag);

// Throws InputError if there is no tag with that name, or it belongs to another run or attempt, which the message
// names.
void remove_tag(Connection& db, const std::string& name, const std::string& run_id,
                const std::optional<std::int64_t>& attempt_key);

std::optional<Tag> find_tag(const Connection& db, const std::string& name);

// By name.
std::vector<Tag> list_tags(const Connection& db);

// The tags of a run and its attempts, by name.
std::vector<Tag> tags_of_run(const Connection& db, const std::string& run_id);

// Throws InputError without a text or an author.
void record_note(Connection& db, const Note& note);

// Oldest first.
std::vector<Note> list_notes(const Connection& db);

// The notes of a run and its attempts, oldest first.
std::vector<Note> notes_of_run(const Connection& db, const std::string& run_id);

}  // namespace perfbench::harness
