#include "harness/execute/progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "reports/render/format/number.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point moment) {
  return std::chrono::duration<double>(Clock::now() - moment).count();
}

std::size_t terminal_columns(std::FILE* out) {
  winsize size{};
  constexpr std::size_t kUsual = 80;
  return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

}  // namespace

double seconds_left(double finished_s, double finished_work, double remaining_work) {
  if (remaining_work <= 0) return 0;
  if (finished_work <= 0) return -1;
  return finished_s / finished_work * remaining_work;
}

SweepProgress::Style SweepProgress::style_of(std::FILE* out) {
  return isatty(fileno(out)) != 0 ? Style::live : Style::lines;
}

SweepProgress::SweepProgress(std::FILE* out, Style style, std::vector<Item> items)
    : out_(out), style_(style), items_(std::move(items)) {
  for (const auto& item : items_) remaining_work_ += item.work;
}

void SweepProgress::begin(std::size_t index) {
  index_ = index;
  begun_ = Clock::now();
  if (style_ == Style::live) return steps(0);
  reports::print(out_, "[{}/{}] {}\n", index_ + 1, items_.size(), items_[index_].label);
}

void SweepProgress::steps(std::int64_t done) {
  if (style_ != Style::live) return;
  const auto& item = items_[index_];
  const auto of = item.steps > 0 ? fmt::format("{}/{}", done, item.steps) : std::to_string(done);
  const auto line = reports::Plain::format("[{}/{}] step {}, {}{}  {}", index_ + 1, items_.size(), of,
                                           reports::format_duration(seconds_since(begun_)), left_text(), item.label);
  const auto columns = terminal_columns(out_) - 1;
  reports::erase_line(out_);
  reports::print_text(out_, reports::cut_to(line.text(), columns));
  line_is_shown_ = true;
}

void SweepProgress::end(const AttemptRecord& record) {
  const auto& item = items_[index_];
  const double took_s = static_cast<double>(record.wall_ns) * 1e-9;
  finished_s_ += took_s;
  finished_work_ += item.work;
  remaining_work_ -= item.work;
  erase_live_line();
  const auto why = record.reason.empty() ? std::string() : ": " + record.reason;
  reports::print(out_, "[{}/{}] {} in {:.1f} s{}  {}{}\n", index_ + 1, items_.size(), spec::enum_name(record.state),
                 took_s, left_text(), item.label, why);
}

void SweepProgress::say(const reports::Plain& text) {
  erase_live_line();
  reports::print(out_, "{}\n", text);
}

std::string SweepProgress::left_text() const {
  if (index_ + 1 == items_.size()) return "";
  return left_s() < 0 ? "" : fmt::format(", about {} left", reports::format_duration(left_s()));
}

void SweepProgress::erase_live_line() {
  if (line_is_shown_) reports::erase_line(out_);
  line_is_shown_ = false;
}

}  // namespace perfbench::harness
