// Reads steps.rank<R>.jsonl quickly. Lines of our own writer differ only in their numbers, so a line is compared with
// the text between the numbers, which comes from the writer itself. Any other line goes to the general parser, whose
// result or error counts. Include in .cpp files only: it pulls in the JSON library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "workloads/spec/fields_json.h"
#include "workloads/spec/step_record.h"

namespace perfbench::spec {

// A number in a record.
struct LinePlace {
  std::vector<std::string> path;
  Field field;
  std::variant<std::int64_t*, double*> target;
};

// The lines with one set of keys, and where their numbers go.
class LineLayout {
 public:
  // `example` is the writer's line for the places. Throws std::logic_error if its numbers are not these.
  LineLayout(std::vector<LinePlace> places, std::string_view example);

  // Whether the line has this layout. Targets may have changed even if it has not.
  bool read(std::string_view line) const;

 private:
  struct Leaf {
    std::string before;  // text from the previous number to this one
    double minimum;
    double maximum;
    std::variant<std::int64_t*, double*> target;
  };
  std::vector<Leaf> leaves_;
  std::string after_;  // text behind the last number
};

// The layouts of a record whose fields are numbers; the numbers go to their places in `record`.
std::vector<LineLayout> line_layouts(const FieldTable& table, void* record);

// Record: a struct with fields() that are all numbers.
template <class Record>
class RecordLineReader {
 public:
  RecordLineReader() : layouts_(line_layouts(field_table<Record>(), &record_)) {}
  RecordLineReader(const RecordLineReader&) = delete;  // layouts_ point into record_
  RecordLineReader& operator=(const RecordLineReader&) = delete;

  // Throws SpecError. The record is valid until the next call.
  const Record& read(std::string_view line) {
    for (const auto& layout : layouts_) {
      record_ = Record{};
      if (layout.read(line)) return record_;
    }
    record_ = fields_from_json<Record>(parse_json(line), Missing::is_error);
    return record_;
  }

 private:
  Record record_;
  std::vector<LineLayout> layouts_;
};

using StepLineReader = RecordLineReader<StepRecord>;

}  // namespace perfbench::spec
