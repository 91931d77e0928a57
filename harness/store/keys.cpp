#include "harness/store/keys.h"

namespace perfbench::harness {

std::int64_t name_key(Connection& db, std::string_view name) {
  if (const auto known = find_key(db, "SELECT name_key FROM names WHERE name = ?", name)) return *known;
  Statement(db, "INSERT INTO names (name) VALUES (?)").run(name);
  return db.last_insert_key();
}

}  // namespace perfbench::harness
