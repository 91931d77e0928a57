// An engine to start, and where it finds shared libraries first.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/launch/process.h"

namespace perfbench::harness {

struct EngineProgram {
  std::filesystem::path file = {};
  std::filesystem::path libraries = {};  // empty: where the dynamic loader finds them

  // What its process needs beside this process's own environment.
  std::map<std::string, std::string> environment() const;
  // A process of it with these arguments.
  ProcessRequest request(const std::vector<std::string>& arguments) const;
  bool operator==(const EngineProgram&) const = default;
};

}  // namespace perfbench::harness
