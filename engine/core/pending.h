// Submitted work that runs beside the computation: a collective, or a transfer to or from the host. Its buffers must
// stay valid until wait() has returned. The destructor waits if nobody has.
#pragma once

#include <memory>
#include <utility>

namespace perfbench::engine {

class Pending {
 public:
  class State {
   public:
    virtual ~State() = default;
    virtual void wait() = 0;
  };

  Pending() = default;  // nothing to wait for
  explicit Pending(std::unique_ptr<State> state) : state_(std::move(state)) {}
  Pending(Pending&&) noexcept = default;
  Pending& operator=(Pending&& other);  // waits first for the work that it held
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  ~Pending();

  void wait();

 private:
  std::unique_ptr<State> state_;
};

}  // namespace perfbench::engine
