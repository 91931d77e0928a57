// Figures out of JSON objects.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "harness/readers/row.h"

namespace perfbench::readers {

// Python's json writes NaN and Infinity, which are no JSON: the same text with them as strings.
std::string with_quoted_words(std::string_view text);

// Adds what an object at the start of the text says under the keys. Nested objects have keys like "train/loss". Returns
// false if there is no whole object.
bool add_json(std::string_view text, std::span<const KeyedFigure> keys, Row& row);

}  // namespace perfbench::readers
