#include "harness/adapter/child_command.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "harness/evidence/run_directory.h"

extern char** environ;

namespace perfbench::adapter {
namespace {

struct BothEnds {
  harness::FileDescriptor read_end;
  harness::FileDescriptor write_end;
};

BothEnds make_both_ends() {
  std::array<int, 2> fds{};
  if (pipe2(fds.data(), O_CLOEXEC) != 0) {
    throw harness::RunDirectoryError(std::string("[adapter] cannot create a pipe: ") + std::strerror(errno));
  }
  return {harness::FileDescriptor(fds[0]), harness::FileDescriptor(fds[1])};
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& added) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    if (!added.contains(text.substr(0, text.find('=')))) out.push_back(text);
  }
  for (const auto& [name, value] : added) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (auto& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// Uses only system calls between fork and exec. In a session without a terminal, opening /dev/tty fails at once;
// otherwise a program that asks a question would wait for ever.
[[noreturn]] void become_program(const ChildCommand& child, char* const* arguments, char* const* environment,
                                 int output, int problem) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int number = 1; number < NSIG; ++number) std::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  if (nothing > STDERR_FILENO) close(nothing);
  if (chdir(child.workdir.c_str()) == 0) execvpe(arguments[0], arguments, environment);
  const int error = errno;
  const auto written = write(problem, &error, sizeof error);
  _exit(written == sizeof error ? 127 : 126);
}

}  // namespace

StartedChild start_child(const ChildCommand& child) {
  auto arguments = child.command;
  auto environment = environment_with(child.environment);
  const auto argument_pointers = pointers_to(arguments);
  const auto environment_pointers = pointers_to(environment);
  BothEnds output = make_both_ends();
  BothEnds problem = make_both_ends();
  StartedChild started{.pid = fork()};
  if (started.pid < 0) {
    throw harness::RunDirectoryError(std::string("[adapter] cannot fork: ") + std::strerror(errno));
  }
  if (started.pid == 0) {
    become_program(child, argument_pointers.data(), environment_pointers.data(), output.write_end.get(),
                   problem.write_end.get());
  }
  output.write_end.close();
  problem.write_end.close();
  int error = 0;
  if (read(problem.read_end.get(), &error, sizeof error) == sizeof error) started.error = error;
  fcntl(output.read_end.get(), F_SETFL, O_NONBLOCK);
  started.output = std::move(output.read_end);
  return started;
}

}  // namespace perfbench::adapter
