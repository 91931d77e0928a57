// Reads steps.rank<R>.jsonl quickly. Our own writer's lines differ only in their numbers, so a line is compared with
// the text between the numbers, which is taken from the writer itself; any other line goes to parse_step_record, whose
// answer, error or not, is then the answer.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "workloads/spec/record.h"

namespace perfbench::spec {

class StepLineReader {
 public:
  StepLineReader();
  StepLineReader(const StepLineReader&) = delete;  // leaves_ point into record_
  StepLineReader& operator=(const StepLineReader&) = delete;

  // Throws SpecError. The record is valid until the next call.
  const StepRecord& read(std::string_view line);

 private:
  struct Leaf {
    std::string before;  // text from the previous number to this one
    double minimum;
    double maximum;
    std::variant<std::int64_t*, double*> target;
  };
  bool read_canonical(std::string_view line);

  StepRecord record_;
  std::vector<Leaf> leaves_;
  std::string after_;  // text behind the last number
};

}  // namespace perfbench::spec
