// Extracts figures from JSON objects.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "harness/readers/row.h"

namespace perfbench::readers {

// Python's json writes NaN and Infinity, which is not valid JSON. Returns the same text with these words as strings.
std::string with_quoted_words(std::string_view text);

// Adds the values that an object at the start of the text has under these keys. Keys of nested objects look like
// "train/loss". Returns false if there is no complete object.
bool add_json(std::string_view text, std::span<const KeyedFigure> keys, Row& row);

}  // namespace perfbench::readers
