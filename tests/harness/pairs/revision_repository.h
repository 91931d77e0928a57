// A git repository in a scratch folder. The preset `engine` of its commits builds a script in place of an engine: the
// fake engine at the commit's speed.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/execute/process.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {

class RevisionRepository {
 public:
  RevisionRepository(std::filesystem::path path, std::filesystem::path fake_engine)
      : path_(std::move(path)), fake_engine_(std::move(fake_engine)) {
    std::filesystem::create_directories(path_);
    git({"init", "-q", "-b", "main"});
    write_text(path_ / "CMakePresets.json", R"({"version": 4,
      "configurePresets": [{"name": "engine", "generator": "Ninja", "binaryDir": "${sourceDir}/build/engine"}],
      "buildPresets": [{"name": "engine", "configurePreset": "engine"}]})");
  }

  const std::filesystem::path& path() const { return path_; }

  // Makes a commit whose engine takes `speed` times as long for a step as the fake engine. Returns its 40 digits.
  std::string commit(const std::string& subject, const std::string& speed) {
    write_text(path_ / "engine.sh",
               "#!/bin/sh\nPERFBENCH_FAKE_SPEED=" + speed + " exec " + fake_engine_.string() + " \"$@\"\n");
    return commit_with(subject, "");
  }

  // A commit that cannot be configured.
  std::string broken_commit(const std::string& cmake_line) { return commit_with("broken", cmake_line); }

  // Returns the standard output. Throws std::runtime_error.
  std::string git(std::vector<std::string> arguments) const {
    const std::vector<std::string> start{"git", "-c",          "user.name=ada", "-c", "user.email=ada@example.org",
                                         "-C",  path_.string()};
    arguments.insert(arguments.begin(), start.begin(), start.end());
    const auto end = run_process({.command = std::move(arguments)});
    if (!end.succeeded()) throw std::runtime_error(end.error_output);
    return end.output;
  }

 private:
  std::string commit_with(const std::string& subject, const std::string& cmake_line) {
    write_text(path_ / "CMakeLists.txt", "cmake_minimum_required(VERSION 3.22)\nproject(fake LANGUAGES NONE)\n" +
                                             cmake_line +
                                             "\nadd_custom_target(perfbench-engine\n"
                                             "  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/bin\n"
                                             "  COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/engine.sh "
                                             "${CMAKE_BINARY_DIR}/bin/perfbench-engine\n"
                                             "  COMMAND chmod +x ${CMAKE_BINARY_DIR}/bin/perfbench-engine)\n");
    git({"add", "-A"});
    git({"commit", "-q", "--allow-empty", "-m", subject});
    auto commit = git({"rev-parse", "HEAD"});
    commit.pop_back();
    return commit;
  }

  std::filesystem::path path_;
  std::filesystem::path fake_engine_;
};

}  // namespace perfbench::harness
