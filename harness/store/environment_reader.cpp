#include "harness/store/environment_reader.h"

#include <utility>

#include "harness/store/machine_class.h"

namespace perfbench::harness {

EnvironmentReader::EnvironmentReader(const Connection& db)
    : facts_(db, "SELECT name, value FROM environment_facts JOIN names USING (name_key) WHERE environment_key = ?") {}

const std::shared_ptr<const StoredEnvironment>& EnvironmentReader::of(std::int64_t environment_key) {
  auto& known = known_[environment_key];
  if (known) return known;
  auto fresh = std::make_shared<StoredEnvironment>();
  facts_.with(environment_key);
  while (facts_.step()) fresh->facts[facts_.text(0)] = facts_.text(1);
  fresh->machine_fingerprint = machine_class(fresh->facts);
  known = std::move(fresh);
  return known;
}

}  // namespace perfbench::harness
