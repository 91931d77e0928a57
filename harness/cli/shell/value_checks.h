// What is wrong with a word of the command line, in words that follow the option's name; "" where nothing is. For
// CLI::Option::check, so that it is said while the command line is read.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace perfbench::harness {

struct Installation;

// One of the catalog's (workloads/spec/metric_catalog.h): else all that can be judged are listed, the nearest first.
std::string metric_complaint(const std::string& text);

// ... or "gate", which stands for those that a gate looks at.
std::string metric_or_gate_complaint(const std::string& text);

// The form of a selection (harness/store/queries/query.h); whether there is such a run only the database knows.
std::string selection_complaint(const std::string& text);

// "published:SYSTEM/ID" has to be a row of workloads/published: else its system's rows are listed, or all systems. Any
// other text is another kind of baseline, of which only the database knows. Keeps a reference to `installation`.
std::function<std::string(const std::string&)> published_check(const Installation& installation);

}  // namespace perfbench::harness
