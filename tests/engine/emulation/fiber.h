// A thread of an emulated block: a stack of its own on the host thread that runs the block. It runs until it yields.
#pragma once

#include <cstddef>

namespace perfbench::emulation {

class Fiber {
 public:
  using Body = void (*)();
  using Jump = void* [5];  // of __builtin_setjmp

  // `body` runs from the first resume(), and again from every resume() after it has returned.
  explicit Fiber(Body body);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs until yield() or the end of the body. From the host thread's own stack alone.
  void resume();
  // Back to whoever resumed the fiber that runs now.
  static void yield();
  // Forgets where the fiber was; the next resume() begins anew. What its stack held is not destroyed.
  void restart() { entered_ = false; }

 private:
  static void enter();
  void arrive_on_fiber(void* fake_stack);

  Body body_;
  char* stack_ = nullptr;
  bool entered_ = false;
  void* fake_stack_ = nullptr;
  Jump jump_{};
};

}  // namespace perfbench::emulation
