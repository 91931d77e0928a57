#include "harness/store/environment_reader.h"

#include <utility>

#include "harness/store/machine_class.h"

namespace perfbench::harness {

std::string StoredEnvironment::git_commit() const {
  const auto found = facts.find("git_commit");
  return found == facts.end() ? "" : found->second;
}

EnvironmentReader::EnvironmentReader(const Connection& db)
    : facts_(db, "SELECT name_key, value FROM environment_facts WHERE environment_key = ?"),
      name_(db, "SELECT name FROM names WHERE name_key = ?") {}

// Of all environments they are the same.
const std::string& EnvironmentReader::name_of(std::int64_t name_key) {
  auto& name = names_[name_key];
  if (name.empty() && name_.with(name_key).step()) name = name_.text(0);
  return name;
}

const std::shared_ptr<const StoredEnvironment>& EnvironmentReader::of(std::int64_t environment_key) {
  auto& known = known_[environment_key];
  if (known) return known;
  auto fresh = std::make_shared<StoredEnvironment>();
  facts_.with(environment_key);
  while (facts_.step()) fresh->facts[name_of(facts_.integer(0))] = facts_.text(1);
  fresh->machine_fingerprint = machine_class(fresh->facts);
  known = std::move(fresh);
  return known;
}

}  // namespace perfbench::harness
