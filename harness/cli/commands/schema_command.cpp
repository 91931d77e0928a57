// perfbench schema: describes the files of a run directory, so that other programs can check them.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/commands/commands.h"
#include "harness/evidence/evidence_file.h"
#include "harness/system/input_error.h"
#include "reports/render/format/escape.h"
#include "reports/render/format/print.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {
namespace {

void print_list(const std::vector<FileSchema>& schemas) {
  for (const auto& entry : schemas) reports::print("{:<8} {:<20} {}\n", entry.name, entry.file, entry.holds);
}

const FileSchema& named(const std::vector<FileSchema>& schemas, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& entry : schemas) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw InputError("[schema] unknown schema '" + name + "'" + spec::suggestion(name, names));
}

void print_schema(const std::optional<std::string>& name) {
  const auto schemas = file_schemas();
  if (name) {
    reports::print_text(stdout, reports::json_text(named(schemas, *name).schema, 2));
  } else {
    print_list(schemas);
  }
}

}  // namespace

void add_schema(CLI::App& app, CommandContext&) {
  auto* command = app.add_subcommand("schema", "JSON Schemas of the files of a run directory");
  auto name = std::make_shared<std::optional<std::string>>();
  command->add_option("NAME", *name, "the schema to print; without it they are listed");
  command->footer(
      "Examples:\n"
      "  perfbench schema\n"
      "  perfbench schema steps > steps.schema.json\n"
      "For a file with lines (.jsonl) the schema describes one line. Draft 2020-12.\n"
      "Exit codes: 0 success; 3 there is no schema with that name.");
  command->callback([name] { print_schema(*name); });
}

}  // namespace perfbench::harness
