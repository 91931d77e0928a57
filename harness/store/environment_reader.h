// Environments out of the store, each of which many attempts share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "harness/sqlite/sqlite.h"

namespace perfbench::harness {

struct StoredEnvironment {
  std::string machine_fingerprint;           // machine_class of the facts
  std::map<std::string, std::string> facts;  // "cpu_model" -> ...

  std::string git_commit() const;  // empty: not known
};

// Each is read once.
class EnvironmentReader {
 public:
  explicit EnvironmentReader(const Connection& db);

  const std::shared_ptr<const StoredEnvironment>& of(std::int64_t environment_key);

 private:
  const std::string& name_of(std::int64_t name_key);

  Statement facts_;
  Statement name_;
  std::unordered_map<std::int64_t, std::string> names_;
  std::unordered_map<std::int64_t, std::shared_ptr<const StoredEnvironment>> known_;
};

}  // namespace perfbench::harness
