// Sends bytes from one rank of a run to another. It is independent of the transport, so tests can provide their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/core/pending.h"

namespace perfbench::engine {

class Messages {
 public:
  virtual ~Messages() = default;

  // Returns at once; the buffer must not change until the message has been waited for. Messages of one tag arrive in
  // the order of sending, and may overtake those of other tags. If an exception drops a message, it is not waited for:
  // this rank takes part in nothing more, and its process must end the others before it frees memory.
  virtual std::unique_ptr<Pending::State> send(std::int64_t to, int tag, std::span<const std::byte> bytes) = 0;
  virtual std::unique_ptr<Pending::State> receive(std::int64_t from, int tag, std::span<std::byte> bytes) = 0;
};

}  // namespace perfbench::engine
