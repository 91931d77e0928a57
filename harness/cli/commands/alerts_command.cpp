// perfbench alerts: the findings of the nightly screen, and the decisions of users about them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "harness/app/author.h"
#include "harness/app/night/alert_delivery.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/listed_values.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "harness/system/input_error.h"
#include "harness/system/utc.h"
#include "reports/content/alert_document.h"
#include "reports/content/checks.h"
#include "reports/render/format/print.h"
#include "reports/views/store_views.h"

namespace perfbench::harness {

enum class AlertFormat { text, markdown, csv, json, junit, github };

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::AlertFormat> {
  using F = perfbench::harness::AlertFormat;
  static constexpr std::array kNames{std::pair{F::text, "text"},   std::pair{F::markdown, "markdown"},
                                     std::pair{F::csv, "csv"},     std::pair{F::json, "json"},
                                     std::pair{F::junit, "junit"}, std::pair{F::github, "github"}};
};
template <>
struct perfbench::spec::EnumNames<perfbench::harness::AlertScope> {
  using S = perfbench::harness::AlertScope;
  static constexpr std::array kNames{std::pair{S::live, "live"}, std::pair{S::all, "all"}};
};

namespace perfbench::harness {
namespace {

// The formats of documents, and those of CI systems.
struct OutputOptions {
  AlertFormat format = AlertFormat::markdown;
  LayoutOptions layout;
};

struct AlertListOptions {
  std::filesystem::path db = "perf.db";
  AlertScope state = AlertScope::live;
  OutputOptions output;
  bool gate = false;
};

struct ChangeOptions {
  std::filesystem::path db = "perf.db";
  std::string id;
  std::string reason;
  std::string author;
  AlertState to = AlertState::acknowledged;
};

void publish_alerts(const std::vector<Alert>& alerts, const reports::Document& document, const OutputOptions& output) {
  std::vector<reports::Check> checks;
  for (const auto& alert : alerts) checks.push_back(reports::check_of(alert));
  if (!document_format(output.format)) write_page(document, output.layout);
  switch (output.format) {
    case AlertFormat::junit:
      return reports::print_text(stdout, reports::to_junit(checks));
    case AlertFormat::github:
      return reports::print_workflow_commands(reports::github_annotations(checks));
    default:
      return print_document(document, document_format(output.format).value(), output.layout);
  }
}

void add_alert_output(CLI::App& command, OutputOptions& output) {
  add_output_options(command, output.format, AlertFormat::markdown, output.layout,
                     "text (for a terminal), markdown, csv, json, junit or github (annotations)");
}

ExitCode list(const AlertListOptions& options) {
  const auto db = open_database(options.db, {.mode = OpenMode::read_only});
  const auto alerts = load_alerts(db, options.state);
  publish_alerts(alerts, reports::alerts_view(alerts), options.output);
  const bool bad = std::any_of(alerts.begin(), alerts.end(), [](const Alert& alert) {
    return alert.state() == AlertState::open && is_bad(alert.finding.kind);
  });
  return tell_left_out(db, options.gate && bad ? ExitCode::regression : ExitCode::fine);
}

void show_alert(const std::filesystem::path& path, const std::string& id, const OutputOptions& output) {
  const auto alert = find_alert(open_database(path, {.mode = OpenMode::read_only}), id);
  publish_alerts({alert}, reports::alert_view(alert), output);
}

void change(const ChangeOptions& options) {
  auto db = open_database(options.db);
  const auto author = author_or_current(options.author);
  const auto alert = change_alert(db, options.id, options.to, author, options.reason, utc_now());
  reports::print("{} is {} (by {}: {})\n", alert.alert_id, spec::enum_name(alert.state()), author, options.reason);
}

ExitCode deliver(const std::filesystem::path& path) {
  auto db = open_database(path);
  if (!webhook_from_environment()) {
    throw InputError(std::string("[alerts] no webhook is set: put its address into ") + kWebhookUrlVariable +
                     " and, if it needs one, a bearer token into " + kWebhookTokenVariable);
  }
  const auto report = deliver_alerts(db);
  reports::print_text(stdout, reports::delivery_text(report).text());
  return report.waiting.empty() && report.given_up.empty() ? ExitCode::fine : ExitCode::failure;
}

constexpr const char* kChangeCodes = "Exit codes: 0 success; 3 unknown alert, or a change that is not allowed.";

std::shared_ptr<ChangeOptions> add_change(CLI::App& command, AlertState to) {
  auto options = std::make_shared<ChangeOptions>();
  options->to = to;
  command.add_option("ALERT", options->id, "the start of its id, at least 4 digits")->required();
  add_db_option(command, options->db, "database");
  command.add_option("--reason", options->reason, "the reason, for later readers")->required();
  add_author_option(command, options->author);
  command.callback([options] { change(*options); });
  return options;
}

void add_alert_list(CLI::App& parent, CommandContext& context) {
  auto* command = parent.add_subcommand("list", "Alerts by commit range");
  auto options = std::make_shared<AlertListOptions>();
  add_db_option(*command, options->db, "database");
  add_enum_option(*command, "--state", options->state, "live (open and acknowledged) or all");
  add_alert_output(*command, options->output);
  command->add_flag("--gate", options->gate, "exit with 1 while a bad alert is open: neither acknowledged nor closed");
  command->footer(
      "Examples:\n"
      "  perfbench alerts list --db perf.db\n"
      "  perfbench alerts list --db perf.db --format junit > alerts.xml\n"
      "Exit codes: 0 success; with --gate 1 while an alert other than an improvement is open.");
  command->callback([options, &context] { context.exit_code = list(*options); });
}

void add_deliver(CLI::App& parent, CommandContext& context) {
  auto* command = parent.add_subcommand("deliver", "Sends waiting messages to the webhook");
  auto path = std::make_shared<std::filesystem::path>("perf.db");
  add_db_option(*command, *path, "database");
  command->footer(
      "Examples:\n"
      "  PERFBENCH_WEBHOOK_URL=https://hooks.example/T0/B0/x perfbench alerts deliver --db perf.db\n"
      "A message is a JSON object with `text` and `blocks`, as Slack's incoming webhooks accept it. The address and, "
      "if one\n"
      "is needed, the bearer token (PERFBENCH_WEBHOOK_TOKEN) come from the environment only; they are neither stored\n"
      "nor printed. Each call makes three tries. An unacknowledged message waits for the next call, and is given up "
      "after\n"
      "30 tries.\n"
      "Exit codes: 0 no message is waiting any more; 3 no webhook is set; 4 messages are still waiting, or were given "
      "up.");
  command->callback([path, &context] { context.exit_code = deliver(*path); });
}

void add_alert_show(CLI::App& parent) {
  struct ShowOptions {
    std::filesystem::path db = "perf.db";
    std::string id;
    OutputOptions output;
  };
  auto* command = parent.add_subcommand("show", "Everything about one alert, with its history");
  auto options = std::make_shared<ShowOptions>();
  command->add_option("ALERT", options->id, "the start of its id, at least 4 digits")->required();
  add_db_option(*command, options->db, "database");
  add_alert_output(*command, options->output);
  command->footer(
      "Examples:\n"
      "  perfbench alerts show 1a2b3c --db perf.db\n"
      "Exit codes: 0 success; 3 unknown alert, or one that cannot be read.");
  command->callback([options] { show_alert(options->db, options->id, options->output); });
}

}  // namespace

void add_alerts(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("alerts", "Findings of the nightly screen, and decisions about them");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n"
      "  perfbench alerts list --db perf.db\n"
      "  perfbench alerts ack 1a2b3c --reason 'bisecting' --db perf.db\n"
      "  perfbench alerts close 1a2b3c --as fixed --reason 'reverted in 4f37cb0' --db perf.db\n"
      "States: open and acknowledged are live; fixed, wont_fix, environment and invalid are closed. If a fixed alert "
      "is\n"
      "seen again, a new alert opens and names the old one; the others stay silent until the series shifts once more.\n"
      "Exit codes: 0 success; 1 with `list --gate`, while a bad alert is open; 3 unknown alert, a change that is not\n"
      "allowed, or an alert that cannot be read and is not listed.");
  add_alert_list(*command, context);
  add_alert_show(*command);
  add_deliver(*command, context);

  auto* ack = command->add_subcommand("ack", "Acknowledges an alert: somebody works on it");
  add_change(*ack, AlertState::acknowledged);
  ack->footer("Examples:\n  perfbench alerts ack 1a2b3c --reason 'bisecting'\n" + std::string(kChangeCodes));

  auto* close = command->add_subcommand("close", "Closes an alert: nobody needs to work on it");
  auto closing = add_change(*close, AlertState::fixed);
  add_name_option(
      *close, "--as", {"fixed", "wont_fix", "environment", "invalid"},
      [closing](const std::string& text) { closing->to = spec::enum_value<AlertState>(text).value(); },
      "fixed, wont_fix (wanted or accepted), environment (the machine), or invalid (no change at all)")
      ->required();
  close->footer("Examples:\n  perfbench alerts close 1a2b3c --as wont_fix --reason 'the price of the new loss'\n" +
                std::string(kChangeCodes));

  auto* reopen = command->add_subcommand("reopen", "Opens a closed alert again, because the judgement was wrong");
  add_change(*reopen, AlertState::open);
  reopen->footer("Examples:\n  perfbench alerts reopen 1a2b3c --reason 'it was not the machine'\n" +
                 std::string(kChangeCodes));
}

}  // namespace perfbench::harness
