// The first switch to a fiber uses ucontext, which gives it its stack. Later switches are jumps, because swapcontext
// makes a system call and a kernel switches at every shuffle. They use the compiler's own jumps, which save three
// words; libc's save every register and look for thread cleanups.
#include "tests/engine/emulation/fiber.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <new>

#if defined(__SANITIZE_ADDRESS__)
#define PERFBENCH_TELL_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PERFBENCH_TELL_ASAN 1
#endif
#endif

#if defined(PERFBENCH_TELL_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif

namespace perfbench::emulation {
namespace {

constexpr std::size_t kStackBytes = std::size_t{256} << 10;  // mapped at once; pages are allocated on first use

Fiber::Jump host_jump;
Fiber* current_fiber = nullptr;

// AddressSanitizer must know the bounds of the current stack.
#if defined(PERFBENCH_TELL_ASAN)
const void* host_stack = nullptr;
std::size_t host_stack_bytes = 0;
void leave(void** fake_stack, const void* to, std::size_t bytes) {
  __sanitizer_start_switch_fiber(fake_stack, to, bytes);
}
void leave_for_host(void** fake_stack) {
  leave(fake_stack, host_stack, host_stack_bytes);
}
void arrive_from_host(void* fake_stack) {
  __sanitizer_finish_switch_fiber(fake_stack, &host_stack, &host_stack_bytes);
}
void arrive_on_host(void* fake_stack) {
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
}
#else
void leave(void**, const void*, std::size_t) {}
void leave_for_host(void**) {}
void arrive_from_host(void*) {}
void arrive_on_host(void*) {}
#endif

// A separate function, because a function that sets a jump must not jump.
[[noreturn, gnu::noinline]] void jump(Fiber::Jump& to) {
  __builtin_longjmp(to, 1);
}

std::size_t page_bytes() {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

Fiber::Fiber(Body body) : body_(body) {
  void* const mapped =
      mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  stack_ = static_cast<char*>(mapped);
  mprotect(stack_, page_bytes(), PROT_NONE);  // a guard page: a kernel with too large a local array faults here
}

Fiber::~Fiber() {
  munmap(stack_, kStackBytes);
}

void Fiber::arrive_on_fiber(void* fake_stack) {
  arrive_from_host(fake_stack);
}

void Fiber::enter() {
  current_fiber->arrive_on_fiber(nullptr);
  for (;;) {
    current_fiber->body_();
    yield();
  }
}

void Fiber::resume() {
  current_fiber = this;
  void* fake_stack = nullptr;
  leave(&fake_stack, stack_, kStackBytes);
  if (__builtin_setjmp(host_jump) == 0) {
    if (entered_) jump(jump_);
    entered_ = true;
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = stack_;
    context.uc_stack.ss_size = kStackBytes;
    context.uc_link = nullptr;
    makecontext(&context, &Fiber::enter, 0);
    setcontext(&context);
  }
  arrive_on_host(fake_stack);
  current_fiber = nullptr;
}

void Fiber::yield() {
  Fiber* const self = current_fiber;
  leave_for_host(&self->fake_stack_);
  if (__builtin_setjmp(self->jump_) == 0) jump(host_jump);
  self->arrive_on_fiber(self->fake_stack_);
}

}  // namespace perfbench::emulation
