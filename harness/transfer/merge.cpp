#include "harness/transfer/merge.h"

#include <algorithm>
#include <utility>

#include "harness/input_error.h"
#include "harness/store/sweep_kinds.h"
#include "harness/transfer/table_shape.h"

namespace perfbench::harness {
namespace {

// Messages of one installation to its webhook.
constexpr const char* kStays = "alert_outbox";

// sweeps.started_utc and sweeps.matrix are those of the first attempt that the database knows of the sweep; its
// selection is that of any, and its kind the surer one.
constexpr const char* kSweeps = "sweeps";

std::string quoted(const std::string& name) {
  return "\"" + name + "\"";
}
// temp.map_T: the rows of source.T that are taken (from_key), and what they are in main.T (to_key, with added = 1 for
// a new row). Every statement below walks it first and the other tables by their indexes: hence CROSS JOIN, by which
// SQLite keeps the order.
std::string map_of(const std::string& table) {
  return "temp." + quoted("map_" + table);
}
std::string in_source(const std::string& table) {
  return "source." + quoted(table);
}
std::string in_main(const std::string& table) {
  return "main." + quoted(table);
}

std::string joined(const std::vector<std::string>& parts, const std::string& separator) {
  std::string out;
  for (const auto& part : parts) out += (out.empty() ? "" : separator) + part;
  return out;
}

class Merge {
 public:
  Merge(Connection& db, const std::string& source_name)
      : db_(db), source_name_(source_name), shapes_(table_shapes(db)) {
    std::erase_if(shapes_, [](const TableShape& shape) { return shape.name == kStays; });
    for (const auto& shape : shapes_) {
      if (shape.key.empty()) continue;
      db_.execute("CREATE TABLE " + map_of(shape.name) +
                  " (from_key INTEGER PRIMARY KEY, to_key INTEGER, added INTEGER NOT NULL DEFAULT 0)");
    }
  }
  ~Merge() {
    for (const auto& shape : shapes_) {
      if (shape.key.empty()) continue;
      try {
        db_.execute("DROP TABLE IF EXISTS " + map_of(shape.name));
      } catch (const StoreError&) {  // the connection is beyond use, which the caller is being told
        return;
      }
    }
  }
  Merge(const Merge&) = delete;
  Merge& operator=(const Merge&) = delete;

  void take(const MergeScope& scope) {
    if (!scope.attempt_keys) {
      for (const auto& shape : shapes_) {
        if (!shape.key.empty()) take_where(shape, "TRUE");
      }
      return;
    }
    Statement attempt(db_, "INSERT INTO " + map_of("attempts") + " (from_key) VALUES (?)");
    for (const auto key : *scope.attempt_keys) attempt.run(key);
    for (const auto& shape : shapes_) take_records_about_attempts(shape);
    while (take_what_is_referred_to()) continue;
  }

  std::map<std::string, MergeCount> copy() {
    std::map<std::string, MergeCount> counts;
    for (const auto& shape : shapes_) {
      if (shape.key.empty()) {
        counts[shape.name].added = copy_parts(shape);
        continue;
      }
      find_known(shape);
      refuse_contradictions(shape);
      copy_new(shape);
      Statement count(db_, "SELECT total(added), count(*) - total(added) FROM " + map_of(shape.name));
      count.step();
      counts[shape.name] = {count.integer(0), count.integer(1)};
    }
    join_sweeps();
    return counts;
  }

 private:
  void take_where(const TableShape& shape, const std::string& condition) {
    const std::string finished = shape.has("finished_utc") ? " AND finished_utc IS NOT NULL" : "";
    db_.execute("INSERT INTO " + map_of(shape.name) + " (from_key) SELECT " + quoted(shape.key) + " FROM " +
                in_source(shape.name) + " WHERE (" + condition + ")" + finished);
  }

  // If the parts of some table's rows refer to attempts: those rows whose parts refer to none but taken ones.
  void take_records_about_attempts(const TableShape& parts) {
    if (!parts.key.empty() || parts.owner.table == "attempts") return;
    std::vector<std::string> missing;
    for (const auto& reference : parts.references) {
      if (reference.table == "attempts") {
        missing.push_back(quoted(reference.column) + " NOT IN (SELECT from_key FROM " + map_of("attempts") + ")");
      }
    }
    if (missing.empty()) return;
    const auto& owner = *std::find_if(shapes_.begin(), shapes_.end(),
                                      [&](const TableShape& shape) { return shape.name == parts.owner.table; });
    const auto column = quoted(parts.owner.column);
    take_where(owner, quoted(owner.key) + " IN (SELECT " + column + " FROM " + in_source(parts.name) + " GROUP BY " +
                          column + " HAVING sum(" + joined(missing, " OR ") + ") = 0)");
  }

  // Whether that was anything new: the next table may refer on.
  bool take_what_is_referred_to() {
    bool changed = false;
    for (const auto& shape : shapes_) {
      const auto& taken = shape.key.empty() ? shape.owner.table : shape.name;
      const auto& column = shape.key.empty() ? shape.owner.column : shape.key;
      for (const auto& reference : shape.references) {
        if (shape.key.empty() && reference.column == shape.owner.column) continue;
        db_.execute("INSERT OR IGNORE INTO " + map_of(reference.table) + " (from_key) SELECT s." +
                    quoted(reference.column) + " FROM " + map_of(taken) + " m CROSS JOIN " + in_source(shape.name) +
                    " s ON s." + quoted(column) + " = m.from_key WHERE s." + quoted(reference.column) + " IS NOT NULL");
        changed = changed || db_.changes() > 0;
      }
    }
    return changed;
  }

  // The column of source.T (s) as it is in the main database: keys of other tables by their maps (r0, r1, ...).
  static std::string translated(const TableShape& shape, const std::string& column) {
    for (std::size_t i = 0; i < shape.references.size(); ++i) {
      if (shape.references[i].column == column) return "r" + std::to_string(i) + ".to_key";
    }
    return "s." + quoted(column);
  }

  // source.T (s), joined to a row `m` of a map by `column`, with the maps of what it refers to.
  static std::string source_rows(const TableShape& shape, const std::string& column) {
    std::string out = " CROSS JOIN " + in_source(shape.name) + " s ON s." + quoted(column) + " = m.from_key";
    for (std::size_t i = 0; i < shape.references.size(); ++i) {
      const auto alias = "r" + std::to_string(i);
      out += " LEFT JOIN " + map_of(shape.references[i].table) + " " + alias + " ON " + alias + ".from_key = s." +
             quoted(shape.references[i].column);  // LEFT: a reference may be NULL
    }
    return out;
  }

  static std::vector<std::string> translated_columns(const TableShape& shape) {
    std::vector<std::string> out;
    for (const auto& column : shape.columns) out.push_back(translated(shape, column));
    return out;
  }
  static std::string column_list(const TableShape& shape) {
    std::vector<std::string> out;
    for (const auto& column : shape.columns) out.push_back(quoted(column));
    return joined(out, ", ");
  }

  // IS and not =: some identities have columns that may be NULL.
  void find_known(const TableShape& shape) {
    std::vector<std::string> same;
    for (const auto& column : shape.identity) {
      same.push_back("t." + quoted(column) + " IS " + translated(shape, column));
    }
    const auto map = map_of(shape.name);
    db_.execute("UPDATE " + map + " SET to_key = (SELECT t." + quoted(shape.key) + " FROM (SELECT " + map +
                ".from_key AS from_key) m" + source_rows(shape, shape.key) + " CROSS JOIN " + in_main(shape.name) +
                " t ON " + joined(same, " AND ") + " LIMIT 1)");
  }

  void refuse_contradictions(const TableShape& shape) {
    if (shape.name == kSweeps) return;
    std::vector<std::string> differ;
    for (const auto& column : shape.columns) {
      differ.push_back("t." + quoted(column) + " IS NOT " + translated(shape, column));
    }
    const std::string rows = " FROM " + map_of(shape.name) + " m" + source_rows(shape, shape.key) + " CROSS JOIN " +
                             in_main(shape.name) + " t ON t." + quoted(shape.key) + " = m.to_key";
    Statement found(db_, "SELECT m.from_key" + rows + " WHERE " + joined(differ, " OR ") + " LIMIT 1");
    if (!found.step()) return;
    std::string what;
    for (std::size_t i = 0; i < shape.columns.size(); ++i) {
      Statement values(db_, "SELECT " + translated(shape, shape.columns[i]) + ", t." + quoted(shape.columns[i]) + rows +
                                " WHERE m.from_key = ? AND (" + differ[i] + ")");
      values.with(found.integer(0));
      if (!values.step()) continue;
      what += (what.empty() ? "" : "; ") + shape.columns[i] + " is " + values.text(0) + " in the file, " +
              values.text(1) + " in the database";
    }
    throw InputError("[import] " + source_name_ + " contradicts " + db_.path().string() + " about the row of " +
                     shape.name + " (" + identity_text(shape, found.integer(0)) + "): " + what +
                     ". One of the two was changed; nothing was taken in: import into a database of its own");
  }

  // "run_id 0123.., sweep_id 2026.., attempt 1": of a row of the source, references by the identity of what they name.
  std::string identity_text(const TableShape& shape, std::int64_t key) {
    std::vector<std::string> out;
    for (const auto& column : shape.identity) {
      const auto* reference = shape.reference(column);
      if (reference != nullptr) {
        Statement value(db_, "SELECT " + quoted(column) + " FROM " + in_source(shape.name) + " WHERE " +
                                 quoted(shape.key) + " = ?");
        value.with(key).step();
        const auto& other = *std::find_if(shapes_.begin(), shapes_.end(),
                                          [&](const TableShape& t) { return t.name == reference->table; });
        out.push_back(identity_text(other, value.integer(0)));
        continue;
      }
      Statement value(
          db_, "SELECT " + quoted(column) + " FROM " + in_source(shape.name) + " WHERE " + quoted(shape.key) + " = ?");
      value.with(key).step();
      out.push_back(column + " " + value.text(0));
    }
    return joined(out, ", ");
  }

  void copy_new(const TableShape& shape) {
    const auto map = map_of(shape.name);
    db_.execute("UPDATE " + map + " SET added = 1, to_key = fresh.to_key FROM (SELECT from_key, (SELECT coalesce(max(" +
                quoted(shape.key) + "), 0) FROM " + in_main(shape.name) +
                ") + row_number() OVER (ORDER BY from_key) AS to_key FROM " + map +
                " WHERE to_key IS NULL) fresh WHERE fresh.from_key = " + quoted("map_" + shape.name) + ".from_key");
    db_.execute("INSERT INTO " + in_main(shape.name) + " (" + quoted(shape.key) + ", " + column_list(shape) +
                ") SELECT m.to_key, " + joined(translated_columns(shape), ", ") + " FROM " + map + " m" +
                source_rows(shape, shape.key) + " WHERE m.added = 1 ORDER BY m.from_key");
  }

  // Returns their number.
  std::int64_t copy_parts(const TableShape& shape) {
    db_.execute("INSERT INTO " + in_main(shape.name) + " (" + column_list(shape) + ") SELECT " +
                joined(translated_columns(shape), ", ") + " FROM " + map_of(shape.owner.table) + " m" +
                source_rows(shape, shape.owner.column) + " WHERE m.added = 1 ORDER BY m.from_key");
    return db_.changes();
  }

  void join_sweeps() {
    db_.execute("UPDATE main.sweeps SET kind = " + surer_kind("sweeps.kind", "s.kind") + " FROM " + map_of(kSweeps) +
                " m CROSS JOIN source.sweeps s ON s.sweep_key = m.from_key WHERE sweeps.sweep_key = m.to_key");
    db_.execute("UPDATE main.sweeps SET (started_utc, matrix) = (s.started_utc, s.matrix) FROM " + map_of(kSweeps) +
                " m CROSS JOIN source.sweeps s ON s.sweep_key = m.from_key WHERE sweeps.sweep_key = m.to_key AND "
                "(s.started_utc, s.matrix) < (sweeps.started_utc, sweeps.matrix)");
    db_.execute("INSERT INTO main.sweep_selections (sweep_key, selection) SELECT m.to_key, s.selection FROM " +
                map_of(kSweeps) +
                " m CROSS JOIN source.sweep_selections s ON s.sweep_key = m.from_key WHERE TRUE "
                "ON CONFLICT (sweep_key) DO UPDATE SET selection = min(selection, excluded.selection)");
  }

  Connection& db_;
  std::string source_name_;
  std::vector<TableShape> shapes_;
};

}  // namespace

std::map<std::string, MergeCount> merge_source(Connection& db, const MergeScope& scope,
                                               const std::string& source_name) {
  Merge merge(db, source_name);
  merge.take(scope);
  return merge.copy();
}

}  // namespace perfbench::harness
