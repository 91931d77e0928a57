// Two sides compared over a matrix, from the words of a person to the report: what compare --ab, bisect and nightly
// share.
#pragma once

#include <string>

#include "harness/ab/comparison_ledger.h"
#include "harness/ab/git_history.h"
#include "harness/cli/ab_options.h"
#include "harness/cli/commands.h"
#include "reports/ab_report.h"

namespace perfbench::harness {

class Interruption;

// The repository of --repo, or the one this perfbench was built from. Throws InputError.
GitHistory history_of(const AbOptions& options, const CommandContext& context);

// What the text names (sides.h), built where it is a revision. Throws InputError, BuildError, Cancelled.
AbSide ready_side(const std::string& text, const AbOptions& options, const CommandContext& context,
                  const Interruption& interruption);
// A revision of `history` alone.
AbSide ready_revision(const std::string& commit, const GitHistory& history, const AbOptions& options,
                      const Interruption& interruption);

struct AbOutcome {
  reports::AbReport report;
  bool cancelled = false;  // the comparison is unfinished; --resume goes on with it
};

// Executes, judges and records; progress goes to standard error. Throws InputError when no cell can run, or an engine
// does not understand today's runs.
AbOutcome compare_sides(const AbSide& a, const AbSide& b, const AbOptions& options, AbPurpose purpose,
                        const CommandContext& context, Interruption& interruption);

// 0 no regression, 1 a regression, 2 something is undecided or nothing was comparable.
ExitCode exit_code_of(Verdict verdict);

}  // namespace perfbench::harness
