#include "harness/pairs/sides.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <memory>
#include <set>

#include "harness/execute/process.h"
#include "harness/system/input_error.h"
#include "harness/system/run_id.h"
#include "harness/system/text_template.h"
#include "workloads/spec/run_program.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kInjectOption = "--inject";

constexpr std::string_view kFaultPrefix = "inject:";
constexpr std::string_view kRevisionPrefix = "rev:";
constexpr std::string_view kVariablesPrefix = "env:";
constexpr std::string_view kImagePrefix = "image:";
constexpr auto kLongestCheck = std::chrono::minutes(1);
constexpr const char* kEngineName = "perfbench-engine";
constexpr const char* kFaultyEngineName = "perfbench-engine-inject";

// The engine at a path; empty if there is none.
fs::path engine_at(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return access(path.c_str(), X_OK) == 0 ? path : fs::path();
  for (const auto& inside : {path / "bin" / kEngineName, path / kEngineName}) {
    if (fs::is_regular_file(inside, ignored) && access(inside.c_str(), X_OK) == 0) return inside;
  }
  return {};
}

bool looks_like_a_path(const std::string& text) {
  return text.starts_with('/') || text.starts_with("./") || text.starts_with("../");
}

bool runs(const Cell& cell) {
  return !cell.excluded && !cell.infeasible;
}

std::string why_not(const Cell& cell) {
  return cell.excluded ? "excluded: " + *cell.excluded : *cell.infeasible;
}

// Asks the engine, which alone knows its faults, before anything runs.
void check_faults(const AbSide& side) {
  std::vector<std::string> arguments{"check"};
  arguments.insert(arguments.end(), side.engine_arguments.begin(), side.engine_arguments.end());
  const auto end = run_process(side.engine.request(arguments), {.time_limit = kLongestCheck});
  if (end.succeeded()) return;
  const auto said = end.error_output.substr(0, end.error_output.find('\n'));
  throw InputError(fmt::format("[compare] {}: {}", side.asked,
                               said.empty() ? "the engine did not answer whether it knows this fault" : said));
}

std::map<std::string, std::string> side_variables(const std::string& text) {
  std::map<std::string, std::string> out;
  std::string_view rest = std::string_view(text).substr(kVariablesPrefix.size());
  while (true) {
    const auto entry = rest.substr(0, rest.find(','));
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      throw InputError("[compare] '" + text + "': the form is env:NAME=VALUE, more of them separated by commas");
    }
    out[std::string(entry.substr(0, equals))] = entry.substr(equals + 1);
    if (entry.size() == rest.size()) return out;
    rest.remove_prefix(entry.size() + 1);
  }
}

// As check_container of a matrix does for an image that it names.
void check_image(const Cell& cell, const AbSide& side) {
  if (side.image.empty() || !cell.run.program) return;
  const auto& program = cell.run.program->spec;
  if (program.turns || program.ranks.launched_by != spec::LaunchedBy::program) {
    throw InputError("[compare] " + side.asked +
                     ": a program with 'turns' or 'ranks' does not run in a container: leave them out of the matrix");
  }
}

void check_kind(const Cell& cell, const AbSide& side) {
  const bool of_engine = side.kind == SideKind::binary || side.kind == SideKind::fault ||
                         (side.kind == SideKind::revision && !side.program);
  if (cell.run.program && of_engine) {
    throw InputError(
        "[compare] " + side.asked +
        " names a perfbench-engine, but this matrix runs another program: name image:, env:, set: or current");
  }
  if (!cell.run.program && side.kind == SideKind::environment) {
    throw InputError("[compare] " + side.asked + " needs a matrix with a 'program', but this one has none");
  }
}

// Adds the variables of the side to those of the cell's program, and replaces its image.
void change_program(Cell& cell, const AbSide& side) {
  if (side.variables.empty() && side.image.empty()) return;
  auto program = *cell.run.program;
  if (!side.image.empty()) program.spec.container.image = escape_template(side.image);
  for (const auto& [name, value] : side.variables) program.spec.env[name] = escape_template(value);
  cell.run.program = std::make_shared<const spec::RunProgram>(std::move(program));
  cell.run_id = run_id(cell.run);
}

std::map<std::size_t, Cell> by_combination(std::vector<Cell> cells) {
  std::map<std::size_t, Cell> out;
  for (auto& cell : cells) {
    const auto combination = cell.combination;
    out.emplace(combination, std::move(cell));
  }
  return out;
}

}  // namespace

StoredSide record_of(const AbSide& side, Side name, const std::string& sha256) {
  return {.side = name,
          .asked = side.asked,
          .kind = side.kind,
          .git_commit = side.commit,
          .engine = side.engine.file.string(),
          .engine_sha256 = sha256};
}

AbSide faulty_side(const std::vector<std::string>& faults, const fs::path& current_engine) {
  auto engine = current_engine.parent_path() / kFaultyEngineName;
  if (!fs::exists(engine)) {
    throw InputError(
        fmt::format("[compare] a fault needs {}, which does not exist: it is built and installed beside {}",
                    engine.string(), kEngineName));
  }
  AbSide side{.kind = SideKind::fault, .engine = {std::move(engine)}};
  for (const auto& fault : faults) {
    side.asked += (side.asked.empty() ? "" : " ") + std::string(kFaultPrefix) + fault;
    side.engine_arguments.insert(side.engine_arguments.end(), {kInjectOption, fault});
  }
  check_faults(side);
  return side;
}

std::vector<std::string> injected_faults(const std::vector<std::string>& command) {
  std::vector<std::string> out;
  for (std::size_t i = 1; i < command.size(); ++i) {
    if (command[i - 1] == kInjectOption) out.push_back(command[i]);
  }
  return out;
}

AbSide parse_side(const std::string& text, const fs::path& current_engine,
                  const std::function<std::string(const std::string&)>& commit_of) {
  if (text == "current") return {.asked = text, .kind = SideKind::current, .engine = {current_engine}};
  if (text.starts_with(kSetPrefix)) {
    return {.asked = text, .kind = SideKind::settings, .engine = {current_engine}, .set = side_settings(text)};
  }
  if (text.starts_with(kVariablesPrefix)) {
    return {
        .asked = text, .kind = SideKind::environment, .engine = {current_engine}, .variables = side_variables(text)};
  }
  if (text.starts_with(kImagePrefix)) {
    auto image = text.substr(kImagePrefix.size());
    if (image.empty())
      throw InputError("[compare] 'image:' needs the name of an image, such as image:localhost/trainer:2");
    return {.asked = text, .kind = SideKind::environment, .engine = {current_engine}, .image = std::move(image)};
  }
  if (text.starts_with(kFaultPrefix)) return faulty_side({text.substr(kFaultPrefix.size())}, current_engine);
  if (text.starts_with(kRevisionPrefix)) {
    return {.asked = text, .kind = SideKind::revision, .commit = commit_of(text.substr(kRevisionPrefix.size()))};
  }
  if (const auto engine = engine_at(text); !engine.empty()) {
    return {.asked = text, .kind = SideKind::binary, .engine = {fs::absolute(engine).lexically_normal()}};
  }
  if (looks_like_a_path(text)) {
    throw InputError("[compare] '" + text + "' is no " + kEngineName + " and has no bin/" + kEngineName);
  }
  return {.asked = text, .kind = SideKind::revision, .commit = commit_of(text)};
}

std::vector<AbCell> pair_cells(const Overrides& base, const AbSide& a, const AbSide& b,
                               const std::function<Expansion(const Overrides&, const AbSide&)>& expand_with) {
  auto chosen = base;
  chosen.equal_runs = EqualRuns::keep;
  const auto cells_of = [&](const AbSide& side) {
    Overrides overrides{.set = base.set, .equal_runs = EqualRuns::keep};  // --only refers to the matrix's own values
    overrides.set.insert(overrides.set.end(), side.set.begin(), side.set.end());
    auto cells = by_combination(expand_with(overrides, side).cells);
    for (auto& [combination, cell] : cells) {
      check_kind(cell, side);
      check_image(cell, side);
      change_program(cell, side);
      if (side.program) cell.program_repo = side.program->path;
    }
    return cells;
  };
  const auto of_a = cells_of(a);
  const auto of_b = cells_of(b);
  std::vector<AbCell> out;
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto& cell : expand_with(chosen, a).cells) {
    AbCell both{.label = cell.label, .a = of_a.at(cell.combination), .b = of_b.at(cell.combination)};
    if (!runs(both.a) && !runs(both.b)) continue;
    if (!seen.emplace(both.a.run_id, both.b.run_id).second) continue;  // the same two runs as an earlier cell
    for (const auto side : {Side::a, Side::b}) {
      if (runs(both.of(side))) continue;
      both.not_comparable = fmt::format("{} does not run it: {}", spec::enum_name(side), why_not(both.of(side)));
    }
    out.push_back(std::move(both));
  }
  return out;
}

}  // namespace perfbench::harness
