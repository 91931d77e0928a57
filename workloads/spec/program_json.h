// The files of a program's run to and from JSON text: program_spec.h, sample.h, program_result.h.
#pragma once

#include <string>
#include <string_view>

#include "workloads/spec/program_result.h"
#include "workloads/spec/program_spec.h"
#include "workloads/spec/sample.h"

namespace perfbench::spec {

std::string to_json_line(const ProgramSpec& program);
std::string to_json_line(const Sample& sample);
std::string to_json_line(const ProgramResult& result);

// All throw SpecError. An absent key of a program takes its default; a result must be whole.
ProgramSpec parse_program_spec(std::string_view text);
Sample parse_sample(std::string_view line);
ProgramResult parse_program_result(std::string_view text);

}  // namespace perfbench::spec
