// The progress display of a sweep: one line that is rewritten on a terminal, plain lines anywhere else.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "harness/evidence/attempt.h"
#include "reports/render/format/escape.h"

namespace perfbench::harness {

// The estimated time of the remaining attempts, if time is proportional to work. `work` is in any unit (FLOPs).
// Negative: unknown, because nothing has finished.
double seconds_left(double finished_s, double finished_work, double remaining_work);

class SweepProgress {
 public:
  enum class Style { live, lines };
  // Live if `out` is a terminal.
  static Style style_of(std::FILE* out);

  struct Item {
    std::string label;
    double work = 1;
    std::int64_t steps = 0;
  };
  SweepProgress(std::FILE* out, Style style, std::vector<Item> items);

  void begin(std::size_t index);
  void steps(std::int64_t done);
  void end(const AttemptRecord& record);
  // Prints a line that stays.
  void say(const reports::Plain& text);

  // The estimated time of the attempts that have not ended; negative: unknown.
  double left_s() const { return seconds_left(finished_s_, finished_work_, remaining_work_); }

 private:
  std::string left_text() const;
  void erase_live_line();

  std::FILE* out_;
  Style style_;
  std::vector<Item> items_;
  std::size_t index_ = 0;
  std::chrono::steady_clock::time_point begun_;
  double finished_s_ = 0;
  double finished_work_ = 0;
  double remaining_work_ = 0;
  bool line_is_shown_ = false;
};

}  // namespace perfbench::harness
