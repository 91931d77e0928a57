// Reads programs whose records are rows of named figures in any format: lines that match a pattern, pairs of key and
// value, JSON objects, CSV. A program is a table (programs.cpp) of its formats and of the meaning of its times.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/readers/line_pattern.h"
#include "harness/readers/reader.h"
#include "harness/readers/row.h"

namespace perfbench::readers {

// The effect of a line of this form.
enum class Effect {
  record,      // it has figures
  skip,        // it looks like a record but belongs to an evaluation
  evaluation,  // the next step time includes an evaluation
  progress,    // a progress bar, which gives the step of the records after it
};

// A form of line. Lines that do not contain `literal` are skipped without a search.
struct Form {
  std::string_view literal;
  std::string_view pattern;  // empty for JSON, which starts at the first brace of the line
  Effect effect = Effect::record;
  spec::SampleKind time_kind = spec::SampleKind::per_step;
  spec::SampleKind claim_kind = spec::SampleKind::per_step;  // kind of the stated figures
  Pairs pairs = {};
  bool is_json = false;
};

// The steps over which a step time is a mean.
enum class Covers {
  one,
  since_last,        // the steps since the previous record
  since_last_reset,  // the same, but the record of the very first step resets nothing
};

// How the step time is computed where no record states it.
enum class TimeFrom { record, tokens_per_device, samples };

// Where the step of a record without one comes from.
enum class Unnumbered {
  last,     // the previous record
  counted,  // records are counted, or a progress bar gives the step
  next,     // the next record
};

struct Program {
  ReaderInfo info;
  std::span<const Form> forms;
  std::span<const Key> keys = {};
  std::int64_t first_step = 1;
  Covers covers = Covers::one;
  TimeFrom time_from = TimeFrom::record;
  Unnumbered unnumbered = Unnumbered::last;
  double elapsed_resolution_s =
      0;  // resolution of the figures "elapsed_s", where the program rounds them and their text does not show it
};

// Turns rows into samples.
class RowReader : public Reader {
 public:
  RowReader(const Program& program, const Settings& settings, SampleSink sink)
      : Reader(std::move(sink)), program_(program), work_(settings.work) {}
  void finish() override;

 protected:
  const Program& program() const { return program_; }
  void take(Row row);
  void evaluated();
  void progressed(std::int64_t position, std::int64_t end);

 private:
  // The state of one rank.
  struct Stream {
    std::optional<std::int64_t> step;
    std::optional<std::int64_t> timed_step;
    std::int64_t covers = 0;  // for the record at timed_step
    std::int64_t counted = 0;
    std::optional<double> elapsed_s;
    std::optional<std::int64_t> elapsed_step;
    double micro_s = 0;
    bool evaluated = false;
    std::vector<Row> waiting;  // rows without a step, where the next row gives it
  };
  struct StepTime {
    Number number;
    std::int64_t covers = 1;
    spec::SampleKind kind = spec::SampleKind::per_step;
  };

  bool number_row(Row& row, Stream& stream);
  void take_numbered(const Row& row, Stream& stream);
  std::int64_t covered(std::int64_t step, Stream& stream) const;
  std::optional<StepTime> step_time(const Row& row, Stream& stream) const;
  std::optional<StepTime> time_of_elapsed(const Row& row, Stream& stream) const;
  std::optional<StepTime> time_of_rate(const Row& row, Stream& stream) const;
  void emit_time(const Row& row, const StepTime& time, Stream& stream);

  const Program& program_;
  spec::StepWork work_;
  std::map<std::int64_t, Stream> streams_;
  std::int64_t position_ = 0;
  std::int64_t position_end_ = 0;
  std::int64_t evaluations_ = 0;  // number of step times left out
};

// The lines of a log, read by the forms of the program.
class FormReader final : public RowReader {
 public:
  FormReader(const Program& program, const Settings& settings, SampleSink sink);
  void feed(std::string_view bytes, ArrivalTime at_ns) override;
  void finish() override;

 private:
  struct Compiled {
    const Form* form;
    std::optional<LinePattern> pattern;
    std::vector<const Figure*> figures;  // figures of the pattern's groups
  };
  void take_line(std::string_view line, ArrivalTime at_ns);
  void take_match(Compiled& compiled, std::string_view line, ArrivalTime at_ns);

  LineFeed lines_;
  std::vector<KeyedFigure> keys_;
  std::vector<Compiled> forms_;
};

}  // namespace perfbench::readers
