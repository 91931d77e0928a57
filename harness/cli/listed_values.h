// Options whose values are a list of names. Help, errors and completion all know the list from the option's type name,
// which is the names with | between them.
#pragma once

#include <string>
#include <vector>

namespace perfbench::harness {

// {"markdown", "csv"} to "markdown|csv". Names are of lower-case letters, digits and underscores.
std::string type_of_values(const std::vector<std::string>& names);

// The other way round; nothing for a type that is no such list (FILE, KEY=VALUE, NUMBER from 1 to 9).
std::vector<std::string> values_of_type(const std::string& type);

// "'htm': there is no such value (did you mean 'html'?); give markdown, csv or html"; nothing for one of the names.
std::string value_complaint(const std::string& text, const std::vector<std::string>& names);

// "list, show or ack"
std::string alternatives(const std::vector<std::string>& names);

}  // namespace perfbench::harness
