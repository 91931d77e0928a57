#include "harness/store/ledgers/tag_ledger.h"

#include <cctype>

#include "harness/store/columns.h"
#include "harness/store/queries/query.h"
#include "harness/system/input_error.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {
namespace {

const std::string kTags = "SELECT name, run_id, attempt_key, author, created_utc FROM tags JOIN runs USING (run_key) ";
const std::string kNotes =
    "SELECT run_id, attempt_key, author, text, created_utc FROM notes JOIN runs USING (run_key) ";

// Letters, digits and ._-+ , which no shell, path or other kind of name interprets differently.
bool is_tag_name(const std::string& name) {
  if (name.empty() || std::isalnum(static_cast<unsigned char>(name.front())) == 0) return false;
  for (const char letter : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(letter)) != 0;
    if (!plain && std::string_view("._-+").find(letter) == std::string_view::npos) return false;
  }
  return true;
}

void check_tag_name(const Connection& db, const std::string& name) {
  const auto refuse = [&](const std::string& why) {
    throw InputError("[tag] '" + name + "' cannot be a tag: " + why + "; choose another, such as before-fix");
  };
  if (!is_tag_name(name)) refuse("a tag begins with a letter or digit, and contains only letters, digits and . _ - +");
  if (name == "latest" || name == "all") refuse("the word already names runs");
  if (is_run_id_start(name)) refuse("it looks like the start of a run id");
  if (find_key(db, "SELECT sweep_key FROM sweeps WHERE sweep_id = ?", name)) refuse("it is the id of a sweep");
}

std::int64_t run_key_of(const Connection& db, const std::string& run_id) {
  const auto key = find_key(db, "SELECT run_key FROM runs WHERE run_id = ?", run_id);
  if (!key) throw InputError("[store] " + db.path().string() + " has no run " + run_id);
  return *key;
}

Tag read_tag(const Statement& row) {
  Tag out{
      .name = row.text(0), .run_id = row.text(1), .attempt_key = {}, .author = row.text(3), .created_utc = row.text(4)};
  if (!row.is_null(2)) out.attempt_key = row.integer(2);
  return out;
}

std::vector<Tag> read_tags(Statement& rows) {
  std::vector<Tag> out;
  while (rows.step()) out.push_back(read_tag(rows));
  return out;
}

std::vector<Note> read_notes(Statement& rows) {
  std::vector<Note> out;
  while (rows.step()) {
    out.push_back({.run_id = rows.text(0),
                   .attempt_key = {},
                   .author = rows.text(2),
                   .text = rows.text(3),
                   .created_utc = rows.text(4)});
    if (!rows.is_null(1)) out.back().attempt_key = rows.integer(1);
  }
  return out;
}

std::string named_by(const Tag& tag) {
  return "run " + tag.run_id.substr(0, 12) + (tag.attempt_key ? " (one attempt)" : "");
}

}  // namespace

void record_tag(Connection& db, const Tag& tag) {
  Transaction transaction(db);  // another process may be adding the same name
  check_tag_name(db, tag.name);
  if (tag.author.empty()) throw InputError("[tag] a tag needs an author: give --author");
  if (const auto other = find_tag(db, tag.name)) {
    throw InputError("[tag] '" + tag.name + "' is a tag of " + named_by(*other) + " already; remove it first with " +
                     "`perfbench tag " + tag.name + " " + tag.name + " --remove`, or choose another name");
  }
  Statement(db, "INSERT INTO tags (name, run_key, attempt_key, author, created_utc) VALUES (?, ?, ?, ?, ?)")
      .run(tag.name, run_key_of(db, tag.run_id), tag.attempt_key, tag.author, tag.created_utc);
  transaction.commit();
}

void remove_tag(Connection& db, const std::string& name, const std::string& run_id,
                const std::optional<std::int64_t>& attempt_key) {
  Transaction transaction(db);
  const auto tag = find_tag(db, name);
  if (!tag) {
    std::vector<std::string> known;
    for (const auto& one : list_tags(db)) known.push_back(one.name);
    throw InputError("[tag] " + db.path().string() + " has no tag '" + name + "'" + spec::suggestion(name, known));
  }
  const bool same_attempt = !tag->attempt_key || tag->attempt_key == attempt_key;
  if (tag->run_id != run_id || !same_attempt) {
    throw InputError("[tag] '" + name + "' is a tag of " + named_by(*tag) + " and not of the named run; `" +
                     "perfbench tag " + name + " " + name + " --remove` removes it");
  }
  Statement(db, "DELETE FROM tags WHERE name = ?").run(name);
  transaction.commit();
}

std::optional<Tag> find_tag(const Connection& db, const std::string& name) {
  Statement row(db, kTags + "WHERE name = ?");
  if (!row.with(name).step()) return std::nullopt;
  return read_tag(row);
}

std::vector<Tag> list_tags(const Connection& db) {
  Statement rows(db, kTags + "ORDER BY name");
  return read_tags(rows);
}

std::vector<Tag> tags_of_run(const Connection& db, const std::string& run_id) {
  Statement rows(db, kTags + "WHERE run_id = ? ORDER BY name");
  rows.with(run_id);
  return read_tags(rows);
}

void record_note(Connection& db, const Note& note) {
  if (note.text.empty()) throw InputError("[note] a note needs a text: `perfbench note RUN 'text'`");
  if (note.author.empty()) throw InputError("[note] a note needs an author: give --author");
  Statement(db, "INSERT INTO notes (run_key, attempt_key, author, text, created_utc) VALUES (?, ?, ?, ?, ?)")
      .run(run_key_of(db, note.run_id), note.attempt_key, note.author, note.text, note.created_utc);
}

std::vector<Note> list_notes(const Connection& db) {
  Statement rows(db, kNotes + "ORDER BY created_utc, note_key");
  return read_notes(rows);
}

std::vector<Note> notes_of_run(const Connection& db, const std::string& run_id) {
  Statement rows(db, kNotes + "WHERE run_id = ? ORDER BY created_utc, note_key");
  rows.with(run_id);
  return read_notes(rows);
}

}  // namespace perfbench::harness
