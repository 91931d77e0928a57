#include "harness/execute/interruption.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace perfbench::harness {

Interruption::Interruption() {
  sigset_t taken;
  sigemptyset(&taken);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    // An ignored signal must stay ignored (nohup, a script's background job); blocking it would make it arrive all the
    // same.
    struct sigaction now {};
    sigaction(number, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaddset(&taken, number);
  }
  pthread_sigmask(SIG_BLOCK, &taken, &before_);
  fd_ = FileDescriptor(signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
}

Interruption::~Interruption() {
  while (take()) {
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool Interruption::take() {
  signalfd_siginfo info;
  return read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info);
}

}  // namespace perfbench::harness
