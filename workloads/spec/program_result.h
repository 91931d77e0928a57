// result.json of a program's run: how the program ended, written by perfbench-adapter. The program's exit code is a
// field of it and never the adapter's own, so that no foreign exit code is mistaken for one of perfbench-engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/spec/fields.h"

namespace perfbench::spec {

// ok: it took its steps and ended well. quarantined: it ended well, but its numbers may not be those of a whole run.
// diverged: its loss was not finite. stopped: somebody told the adapter to end it. input_error: it was not started,
// because program.json or the machine does not meet the requirements.
enum class ProgramStatus { ok, quarantined, crashed, diverged, out_of_memory, stopped, input_error };
template <>
struct EnumNames<ProgramStatus> {
  static constexpr std::array kNames{std::pair{ProgramStatus::ok, "ok"},
                                     std::pair{ProgramStatus::quarantined, "quarantined"},
                                     std::pair{ProgramStatus::crashed, "crashed"},
                                     std::pair{ProgramStatus::diverged, "diverged"},
                                     std::pair{ProgramStatus::out_of_memory, "out_of_memory"},
                                     std::pair{ProgramStatus::stopped, "stopped"},
                                     std::pair{ProgramStatus::input_error, "input_error"}};
};

struct ProgramResult {
  std::int64_t version = 1;
  ProgramStatus status = ProgramStatus::ok;
  std::string reason;               // one line: what happened and what to do; empty if there is nothing to say
  std::int64_t exit_code = 0;       // of the program
  std::int64_t signal = 0;          // that ended it; 0: no signal
  std::int64_t steps = 0;           // number of steps taken, by the program's own count
  std::int64_t wall_ns = 0;         // from start to end of the command
  std::int64_t startup_ns = 0;      // from start to the first sample; 0: no sample, or no clock saw it
  std::int64_t resident_bytes = 0;  // the most that the processes of the program held together, sampled
  std::int64_t output_bytes = 0;    // that the program printed
  std::int64_t dropped_bytes = 0;   // part of these that program.log does not contain
  std::int64_t samples = 0;
  std::int64_t restarts = 0;
  std::int64_t children_left = 0;  // processes that the program left behind and that were ended
  // as a fraction of the median step time; smaller differences have no meaning
  double step_time_resolution_fraction = 0;
  std::vector<std::string> notes;  // remarks for readers of the numbers

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"version", "version of this record", 1, 1}, self.version);
    f(Field{"status", "how the program ended"}, self.status);
    f(Field{"reason", "why, and what to do"}, self.reason);
    f(Field{"exit_code", "exit code of the program", 0}, self.exit_code);
    f(Field{"signal", "signal that ended it; 0: none", 0}, self.signal);
    f(Field{"steps", "steps taken", 0}, self.steps);
    f(Field{"wall_ns", "start to end of the command", 0}, self.wall_ns);
    f(Field{"startup_ns", "start to first sample; 0: unknown", 0}, self.startup_ns);
    f(Field{"resident_bytes", "peak memory of its processes together; 0: unknown", 0}, self.resident_bytes);
    f(Field{"output_bytes", "bytes that it printed", 0}, self.output_bytes);
    f(Field{"dropped_bytes", "of these, bytes not kept", 0}, self.dropped_bytes);
    f(Field{"samples", "lines of samples.jsonl", 0}, self.samples);
    f(Field{"restarts", "times that its step number fell", 0}, self.restarts);
    f(Field{"children_left", "processes left behind, which were ended", 0}, self.children_left);
    f(Field{"step_time_resolution_fraction", "resolution of printed step times over their median; 0: fine", 0.0},
      self.step_time_resolution_fraction);
    f(Field{"notes", "what a reader of the numbers must know"}, self.notes);
  }
};

}  // namespace perfbench::spec
