// perfbench list: the contents of a database, and lists that need none.
#include <CLI/CLI.hpp>
#include <cctype>
#include <memory>
#include <string>

#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/listed_values.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/store/database.h"
#include "harness/system/input_error.h"
#include "reports/content/list_document.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {

enum class Listed { runs, sweeps, models, hardware, metrics, published, baselines, tags };

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::Listed> {
  using L = perfbench::harness::Listed;
  static constexpr std::array kNames{std::pair{L::runs, "runs"},           std::pair{L::sweeps, "sweeps"},
                                     std::pair{L::models, "models"},       std::pair{L::hardware, "hardware"},
                                     std::pair{L::metrics, "metrics"},     std::pair{L::published, "published"},
                                     std::pair{L::baselines, "baselines"}, std::pair{L::tags, "tags"}};
};

namespace perfbench::harness {
namespace {

constexpr Bounds<std::size_t> kRowsListed{1, 100'000'000};

struct ListOptions {
  Listed what = Listed::runs;
  std::filesystem::path db = "perf.db";
  reports::ListQuery query;
  reports::DocumentFormat format = reports::DocumentFormat::text;
  LayoutOptions layout;
};

// Lists from a database.
reports::Document stored_list(const Connection& db, const ListOptions& options) {
  switch (options.what) {
    case Listed::sweeps:
      return reports::list_sweeps(db, options.query);
    case Listed::baselines:
      return reports::list_baselines(db, options.query);
    case Listed::tags:
      return reports::list_tags(db, options.query);
    default:
      break;
  }
  return reports::list_runs(db, options.query);
}

// Lists from the data files; nullopt if the list needs a database.
std::optional<reports::Document> known_list(const ListOptions& options, const CommandContext& context) {
  switch (options.what) {
    case Listed::metrics:
      return reports::list_metrics(options.query);
    case Listed::models:
      return reports::list_models(ModelCatalog(context.data_dir()), options.query);
    case Listed::hardware:
      return reports::list_hardware(ModelCatalog(context.data_dir()), options.query);
    case Listed::published:
      return reports::list_published(PublishedCatalog(context.data_dir()), options.query);
    default:
      break;
  }
  return std::nullopt;
}

// "Runs"
std::string page_title(const ListOptions& options) {
  std::string out(spec::enum_name(options.what));
  out.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(out.front())));
  return out;
}

ExitCode list_things(const ListOptions& options, const CommandContext& context) {
  try {
    if (auto known = known_list(options, context)) {
      known->page_title = page_title(options);
      print_document(*known, options.format, options.layout);
      return ExitCode::fine;
    }
  } catch (const spec::SpecError& e) {
    throw InputError(std::string("[list] ") + e.what());
  }
  const auto db = open_database(options.db, {.mode = OpenMode::read_only});
  auto listed = stored_list(db, options);
  listed.page_title = page_title(options);
  print_document(listed, options.format, options.layout);
  return tell_left_out(db, ExitCode::fine);
}

}  // namespace

void add_list(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("list", "Runs, sweeps and other things, newest first");
  auto options = std::make_shared<ListOptions>();
  add_enum_option(*command, "WHAT", options->what,
                  "runs, sweeps, baselines or tags of the database; models, hardware, metrics or published rows");
  add_db_option(*command, options->db, "database");
  command
      ->add_option("--where", options->query.where,
                   "KEY=PATTERN, * globs: the key is a column as in --format csv, for runs also an axis; may be "
                   "repeated, all conditions must be met")
      ->type_name("KEY=PATTERN")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_number(*command, "--limit", options->query.limit, kRowsListed, "most rows")->capture_default_str();
  add_output_options(*command, options->format, reports::DocumentFormat::text, options->layout,
                     "text, markdown, csv, json, html or svg");
  command->footer(
      "A row of runs is a run in a sweep: its state is ok if any of its attempts is, its step time is their median.\n"
      "Examples:\n"
      "  perfbench list --db perf.db\n"
      "  perfbench list --where model=gpt-mini --where 'started_utc=2026-11-*' --limit 10\n"
      "  perfbench list sweeps --where kind=night --format csv\n"
      "  perfbench list published --where 'model=*7B*'\n"
      "Exit codes: 0 success; 3 wrong input, or success without a row that cannot be read, which is named.");
  command->callback([options, &context] { context.exit_code = list_things(*options, context); });
}

}  // namespace perfbench::harness
