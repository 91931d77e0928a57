// The checkpoints that a run saves while it trains, and the one that it begins from.
#pragma once

#include <cstdint>
#include <string>

#include "workloads/spec/fields.h"

namespace perfbench::spec {

struct CheckpointSpec {
  std::int64_t every_steps = 0;  // steps between checkpoints, 0: none
  std::int64_t keep = 2;         // number of newest ones to keep; an older one is removed once a newer one is whole
  // A step waits only for the copy of its values to host memory; files are written while the next steps run.
  bool asynchronous = true;
  std::string path;     // folder of the checkpoints; empty: `checkpoints` in the run's own folder
  std::string restore;  // a checkpoint, or a folder of them: its newest one; empty: the run begins from drawn weights

  constexpr bool saves() const { return every_steps > 0; }
  bool restores() const { return !restore.empty(); }

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"every_steps", "steps between checkpoints, 0 for none", 0, 1e9}, self.every_steps);
    f(Field{"keep", "newest checkpoints that are kept", 1, 1e6}.uncounted(), self.keep);
    f(Field{"asynchronous", "files are written while the next steps run"}.uncounted(), self.asynchronous);
    f(Field{"path", "folder of checkpoints, empty for one in the run's own"}.uncounted(), self.path);
    f(Field{"restore", "checkpoint from which training continues, or a folder of them, empty for none"}.uncounted(),
      self.restore);
  }
  bool operator==(const CheckpointSpec&) const = default;
};

}  // namespace perfbench::spec
