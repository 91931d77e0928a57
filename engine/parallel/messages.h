// Bytes from one rank of a run to another. Knows of no transport, so that tests can give their own.
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

  // Returns at once; the buffer stays as it is until the message has been waited for. Messages of one tag arrive in the
  // order of their sending, and overtake those of others. Where an exception drops one, it is not waited for: this rank
  // takes part in nothing more, and its process is to end the others before it gives memory back.
  virtual std::unique_ptr<Pending::State> send(std::int64_t to, int tag, std::span<const std::byte> bytes) = 0;
  virtual std::unique_ptr<Pending::State> receive(std::int64_t from, int tag, std::span<std::byte> bytes) = 0;
};

}  // namespace perfbench::engine
