// Values of the JSON that benchmark programs write. Errors are SpecErrors with the pointer of the value. Include in
// .cpp files only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/readers/benchmarks/benchmark_file.h"
#include "harness/readers/benchmarks/utc_text.h"
#include "workloads/spec/json_pieces.h"

namespace perfbench::readers {

// Throws SpecError about the member `name`.
[[noreturn]] void refuse(std::string_view name, const std::string& what);

// A number, which may be the text NaN or Infinity. nullopt for anything else.
std::optional<double> as_number(const spec::Json& value);

// The same, and a text such as "1.5e-3".
std::optional<double> number_of_text(const spec::Json& value);

// Members of an object. `wanted_` ones throw if they are missing or of another type; the others then return nothing.
double wanted_number(const spec::Json& object, std::string_view name);
std::optional<double> number_in(const spec::Json& object, std::string_view name);
std::string wanted_text(const spec::Json& object, std::string_view name);
std::string text_in(const spec::Json& object, std::string_view name);  // empty: none
// A whole number that may be written as a text; 0: none, or one that is negative or larger than a double can count to.
std::int64_t count_in(const spec::Json& object, std::string_view name);
bool flag_in(const spec::Json& object, std::string_view name);  // false: none
// nullptr: it is missing or null.
const spec::Json* member_of(const spec::Json& object, std::string_view name);

// The numbers of a list; empty: none. Throws SpecError for anything else in it.
std::vector<double> numbers_in(const spec::Json& object, std::string_view name);

// A parameter as text: strings without quotes.
std::string parameter_text(const spec::Json& value);

// Passes the pieces of the source on (json_pieces.h); errors become BenchmarkErrors.
void read_pieces(const BenchmarkSource& source, const std::vector<std::string>& patterns,
                 const std::function<void(spec::JsonPiece)>& take);

// The factor from a unit of time ("ns") to seconds. Throws SpecError about `name` for an unknown unit.
double seconds_of(std::string_view unit, std::string_view name);

// 7 to 64 hexadecimal digits.
bool is_commit(std::string_view text);

}  // namespace perfbench::readers
