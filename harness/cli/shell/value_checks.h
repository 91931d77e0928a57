// Checks of words on the command line: the complaint in words that follow the option's name, or "" if there is none.
// For CLI::Option::check, so that complaints appear while the command line is parsed.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace perfbench::harness {

struct Installation;

// Accepts a metric of the catalog (workloads/spec/metric_catalog.h). Otherwise lists all metrics that can be judged,
// the closest first.
std::string metric_complaint(const std::string& text);

// Checks the form of a selection (harness/store/queries/query.h); whether there is such a run only the database knows.
std::string selection_complaint(const std::string& text);

// "published:SYSTEM/ID" must be a row of workloads/published; otherwise lists the rows of its system, or all systems.
// Any other text is another kind of baseline, about which only the database knows. Keeps a reference to `installation`.
std::function<std::string(const std::string&)> published_check(const Installation& installation);

}  // namespace perfbench::harness
