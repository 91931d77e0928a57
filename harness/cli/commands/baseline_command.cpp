// perfbench baseline: the ledger of baselines for comparisons.
#include <CLI/CLI.hpp>
#include <limits>
#include <memory>

#include "harness/app/author.h"
#include "harness/app/runs/baseline_file.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/listed_values.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/cli/shell/value_checks.h"
#include "harness/judge/cell_runs.h"
#include "harness/matrix/published.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/baseline_ledger.h"
#include "harness/store/queries/query.h"
#include "harness/system/input_error.h"
#include "harness/system/utc.h"
#include "reports/content/list_document.h"
#include "reports/render/format/print.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace {

struct EntryOptions {
  std::filesystem::path db = "perf.db";
  std::string name;
  std::string reason;
  std::string author;
  std::string expires;
  BaselineKind kind = BaselineKind::anchor;
};

struct SetOptions {
  EntryOptions entry;
  std::string selection = "latest";
};

struct ImportOptions {
  EntryOptions entry;
  std::string source;
};

void add_entry_options(CLI::App& command, EntryOptions& options) {
  command.add_option("NAME", options.name, "name of the baseline")->required();
  add_db_option(command, options.db, "database");
  command.add_option("--reason", options.reason, "why this is the baseline")->required();
  add_author_option(command, options.author);
  command.add_option("--expires", options.expires, "UTC date or time after which it is no longer in force");
}

Baseline start_entry(const EntryOptions& options) {
  if (options.name.find(':') != std::string::npos) {
    throw InputError("[baseline] '" + options.name +
                     "': a name must not contain ':', which marks published:, run: and attempt:");
  }
  Baseline out;
  out.name = options.name;
  out.kind = options.kind;
  out.reason = options.reason;
  out.author = author_or_current(options.author);
  out.created_utc = utc_now();
  if (!options.expires.empty()) out.expires_utc = parse_utc(options.expires);
  if (!out.expires_utc.empty() && out.expires_utc <= out.created_utc) {
    throw InputError("[baseline] --expires " + options.expires + " has passed");
  }
  return out;
}

// Such names are looked up among the published rows.
void refuse_published(const EntryOptions& options) {
  if (options.kind != BaselineKind::published) return;
  throw InputError("[baseline] the kind 'published' is for `perfbench baseline import " + options.name +
                   " --from published:SYSTEM/ID`");
}

void announce(const Baseline& baseline) {
  reports::print("baseline '{}' ({}): {} runs, {} values, by {}: {}\n", baseline.name, spec::enum_name(baseline.kind),
                 baseline.attempt_keys.size(), baseline.values.size(), baseline.author, baseline.reason);
}

ExitCode set_baseline(const SetOptions& options) {
  refuse_published(options.entry);
  auto db = open_database(options.entry.db);
  auto baseline = start_entry(options.entry);
  baseline.source = "selection " + options.selection;
  const auto chosen = choose_attempts(db, parse_selection(options.selection));
  refuse_mixed_baseline(group_by_subject(chosen.attempts), "[baseline] --from '" + options.selection + "'",
                        options.selection);
  for (const auto& attempt : chosen.attempts) {
    if (attempt.state == AttemptState::ok) baseline.attempt_keys.push_back(attempt.key);
  }
  if (!chosen.faulty.empty()) reports::print(stderr, "note: {}\n", left_out_text(chosen.faulty));
  add_baseline(db, baseline);
  announce(baseline);
  return tell_left_out(db, ExitCode::fine);
}

std::vector<BaselineValue> published_values(const std::string& source, const CommandContext& context) {
  try {
    const auto entry = PublishedCatalog(context.data_dir()).row(source);
    std::vector<BaselineValue> out;
    const auto keep = [&](const char* metric, const std::optional<double>& value) {
      if (value) out.push_back({source, metric, *value});
    };
    keep("step_time_s", step_time_s(entry));
    keep("sequences_per_s", sequences_per_s(entry));
    keep("tokens_per_s_per_device", tokens_per_s_per_device(entry));
    return out;
  } catch (const spec::SpecError& e) {
    throw InputError(std::string("[baseline] ") + e.what());
  }
}

bool is_published(const std::string& source) {
  return source.starts_with("published:");
}

void import_baseline(ImportOptions& options, const CommandContext& context) {
  const bool published = is_published(options.source);
  if (published) {
    options.entry.kind = BaselineKind::published;
  } else {
    refuse_published(options.entry);
  }
  auto baseline = start_entry(options.entry);
  baseline.source = options.source;
  baseline.values = published ? published_values(options.source, context) : read_baseline_file(options.source);
  auto db = open_database(options.entry.db);
  add_baseline(db, baseline);
  announce(baseline);
}

struct LedgerOptions {
  std::filesystem::path db = "perf.db";
  reports::DocumentFormat format = reports::DocumentFormat::text;
  LayoutOptions layout;
};

ExitCode list_ledger(const LedgerOptions& options) {
  const auto db = open_database(options.db, {.mode = OpenMode::read_only});
  const auto entries = reports::list_baselines(db, {.limit = std::numeric_limits<std::size_t>::max()});
  print_document(entries, options.format, options.layout);
  return tell_left_out(db, ExitCode::fine);
}

}  // namespace

void add_baseline(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("baseline", "The ledger of baselines");
  command->require_subcommand(1);

  command->footer(
      "Examples:\n"
      "  perfbench baseline set main --db perf.db --reason 'release 1.2'\n"
      "  perfbench baseline import maxtext-7b --from published:maxtext/llama2-7b-8xh100 --reason 'the goal'\n"
      "  perfbench baseline list --db perf.db\n"
      "Exit codes: 0 success; 3 wrong input, or success without a row that cannot be read, which is named.");

  auto* set = command->add_subcommand("set", "A baseline from runs of this database");
  auto set_options = std::make_shared<SetOptions>();
  add_entry_options(*set, set_options->entry);
  add_enum_option(*set, "--kind", set_options->entry.kind, "anchor, rolling or other_binary");
  set->add_option("--from", set_options->selection,
                  "latest, all, a sweep's id, run:ID or attempt:ID/N; add @SUBJECT if it has several subjects")
      ->check(selection_complaint)
      ->capture_default_str();
  set->footer(
      "Examples:\n"
      "  perfbench baseline set main --db perf.db --reason 'release 1.2'\n"
      "  perfbench baseline set last-week --kind rolling --expires 2027-01-31 --reason 'the usual speed'\n"
      "Exit codes: 0 success; 3 wrong input, or success without a row that cannot be read, which is named.");
  set->callback([set_options, &context] { context.exit_code = set_baseline(*set_options); });

  auto* from_file = command->add_subcommand("import", "A baseline from a file, or from a published row");
  auto import_options = std::make_shared<ImportOptions>();
  add_entry_options(*from_file, import_options->entry);
  import_options->entry.kind = BaselineKind::other_binary;
  add_enum_option(*from_file, "--kind", import_options->entry.kind, "anchor, rolling or other_binary");
  from_file->add_option("--from", import_options->source, "FILE.yaml, FILE.json, FILE.csv or published:SYSTEM/ID")
      ->type_name("FILE|published:SYSTEM/ID")
      ->check(CLI::Validator(
          [](const std::string& text) { return is_published(text) ? "" : path_complaint(text, PathIs::file); }, ""))
      ->check(published_check(context))
      ->required();
  from_file->footer(
      "Examples:\n"
      "  perfbench baseline import maxtext-7b --from published:maxtext/llama2-7b-8xh100 --reason 'the goal'\n"
      "  perfbench baseline import other --from other.csv --reason 'the build of 1 March'\n"
      "Exit codes: 0 success; 3 wrong input.");
  from_file->callback([import_options, &context] { import_baseline(*import_options, context); });

  auto* show = command->add_subcommand(
      "list", "Every entry of the ledger, newest first: `perfbench list baselines` without a limit");
  auto list_options = std::make_shared<LedgerOptions>();
  add_db_option(*show, list_options->db, "database");
  add_output_options(*show, list_options->format, reports::DocumentFormat::text, list_options->layout,
                     "text (for a terminal), markdown, csv, json, html or svg");
  show->footer(
      "Examples:\n"
      "  perfbench baseline list --db perf.db\n"
      "Exit codes: 0 success; 3 success without a row that cannot be read, which is named.");
  show->callback([list_options, &context] { context.exit_code = list_ledger(*list_options); });
}

}  // namespace perfbench::harness
