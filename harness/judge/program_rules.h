// The metrics of a training program that pairs and nights judge.
#pragma once

#include <string>
#include <vector>

#include "harness/stats/verdict.h"
#include "workloads/spec/program_spec.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::harness {

// The metrics of perfbench-engine, as far as the program has them, and the declared ones that have a better direction.
// Without any, the wall time. Not the start-up, which includes imports that take many seconds.
std::vector<MetricRule> program_rules(const spec::ProgramSpec& program);

// Whether this run can be judged by the metric: one of the catalog, or one that its program declares with a better
// direction.
bool is_judged(const spec::RunSpec& run, const std::string& metric);
// The rule of a metric for this run: what its program declares, or metric_rule(). Throws InputError if it is neither.
MetricRule rule_of(const spec::RunSpec& run, const std::string& metric);

// The metrics that a night screens of each cell: kScreenedMetrics (harness/judge/screening.h) or, of a program, those
// among them that pairs can judge, its loss, and what it declares.
std::vector<std::string> screened_metrics(const spec::ProgramSpec* program);

}  // namespace perfbench::harness
