#include "harness/launch/engine_program.h"

#include <cstdlib>

namespace perfbench::harness {

std::map<std::string, std::string> EngineProgram::environment() const {
  constexpr const char* kLibraryPath = "LD_LIBRARY_PATH";  // of the dynamic loader
  if (libraries.empty()) return {};
  const char* others = std::getenv(kLibraryPath);
  return {{kLibraryPath, libraries.string() + (others == nullptr ? "" : ":" + std::string(others))}};
}

ProcessRequest EngineProgram::request(const std::vector<std::string>& arguments) const {
  ProcessRequest request{.command = {file.string()}, .environment = environment()};
  request.command.insert(request.command.end(), arguments.begin(), arguments.end());
  return request;
}

}  // namespace perfbench::harness
