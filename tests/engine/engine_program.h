// Runs a program and collects its output.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

namespace perfbench::engine {

// The lines on both its streams until it ends. No shell is used: a folder may have any name.
inline std::vector<std::string> lines_of_program(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (auto& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[1]);
  std::FILE* const engine = fdopen(ends[0], "r");
  std::vector<std::string> lines(1);
  for (int c = std::fgetc(engine); c != EOF; c = std::fgetc(engine)) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += static_cast<char>(c);
    }
  }
  std::fclose(engine);
  waitpid(child, nullptr, 0);
  lines.pop_back();
  return lines;
}

}  // namespace perfbench::engine
