// A thread of an emulated block: a separate stack on the host thread that runs the block. It runs until it yields.
#pragma once

#include <cstddef>

namespace perfbench::emulation {

class Fiber {
 public:
  using Body = void (*)();
  using Jump = void* [5];  // the type for __builtin_setjmp

  // `body` runs from the first resume(), and again from every resume() after it has returned.
  explicit Fiber(Body body);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs until yield() or the end of the body. Call it only from the host thread's own stack.
  void resume();
  // Returns to the caller that resumed the running fiber.
  static void yield();
  // Forgets the fiber's state; the next resume() starts the body again. Objects on its stack are not destroyed.
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
