#include "harness/app/pairs/ab_preparation.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "harness/app/sweep/checks.h"
#include "harness/execute/container.h"
#include "harness/execute/interruption.h"
#include "harness/execute/launcher.h"
#include "harness/execute/process.h"
#include "harness/matrix/model_catalog.h"
#include "harness/pairs/commit_build.h"
#include "harness/store/database.h"
#include "harness/system/command_words.h"
#include "harness/system/input_error.h"
#include "reports/render/format/print.h"
#include "workloads/spec/run_program.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

// The same options as ./perfbench: builds for a GPU if there is one and the toolkit is installed.
std::vector<std::string> cmake_options(const AbOptions& options) {
  std::vector<std::string> out;
  if (fs::exists("/dev/nvidiactl")) out = {"-DPERFBENCH_CUDA=AUTO", "-DPERFBENCH_CUDA_ARCHITECTURES=native"};
  out.insert(out.end(), options.build_options.begin(), options.build_options.end());  // the later one counts
  return out;
}

BuildSettings build_settings(const AbOptions& options, int cancel_fd = -1) {
  return {.cache = options.build_cache.empty() ? default_build_cache() : options.build_cache,
          .cmake_options = cmake_options(options),
          .cancel_fd = cancel_fd,
          .say = [](const std::string& line) { reports::print(stderr, "{}\n", line); }};
}

// The programs that a side needs: its engine, or those that build it.
void check_programs(const AbSide& side, const AbOptions& options) {
  if (side.kind != SideKind::revision) {
    if (access(side.engine.file.c_str(), X_OK) == 0) return;
    throw InputError(
        fmt::format("[compare] {}: there is no executable engine {}", side.asked, side.engine.file.string()));
  }
  const auto settings = build_settings(options);
  if (!side.program && built_engine(side.commit, settings)) return;
  require_writable_folder("[compare] --build-cache", settings.cache);
  if (side.program) return;
  if (find_in_path("cmake")) return;
  throw InputError(
      fmt::format("[compare] {}: its engine is built with cmake, which is not in PATH: install it", side.asked));
}

void check_launcher(const std::vector<AbCell>& cells) {
  const auto needs_mpirun = [](const spec::RunSpec& run) {
    return run.program ? run.program->spec.ranks.launched_by == spec::LaunchedBy::mpirun : run.mesh.devices() > 1;
  };
  const bool all_need_it = std::all_of(cells.begin(), cells.end(), [&](const AbCell& cell) {
    return needs_mpirun(cell.a.run) || needs_mpirun(cell.b.run);
  });
  if (!all_need_it || find_mpirun()) return;
  throw InputError(
      "[compare] every cell needs mpirun for its ranks, which is not in PATH: install Open MPI (Debian: "
      "openmpi-bin), or set PERFBENCH_MPIRUN");
}

// An image that is missing would count as a crash of its side.
void check_images(const std::vector<AbCell>& cells) {
  std::set<std::string> found;
  for (const auto& cell : cells) {
    for (const auto* run : {&cell.a.run, &cell.b.run}) {
      if (!run->program || run->program->spec.container.image.empty()) continue;
      auto program = run->program->spec;
      if (!found.insert(program.container.image).second) continue;
      try {
        add_image_fact(program);
      } catch (const LaunchError& e) {
        throw InputError(e.what());
      }
    }
  }
}

}  // namespace

void check_pairs_elsewhere(const AbOptions& options) {
  const auto& launch = options.execution.launch;
  if (launch.is_local()) return;
  if (launch.is_container()) {
    throw InputError(fmt::format(
        "[launch] --launcher {}: an image has one engine, and pairs need two: use slurm or ssh", launch.launcher));
  }
  if (options.pairing == Pairing::turns || options.detection) {
    throw InputError(
        fmt::format("[launch] {}: with --launcher {} the two sides of a pair run one after the other; "
                    "leave it out",
                    options.detection ? "--detect" : "--pairing turns", launch.launcher));
  }
}

RevisionSource revision_source(const AbOptions& options, const Installation& installation) {
  const ModelCatalog catalog(installation.data_dir());
  const auto matrix = expand_matrix({.file = options.matrix.file,
                                     .overrides = {.set = options.matrix.overrides.set},
                                     .program = options.matrix.program},
                                    catalog, installation.data_dir());
  const bool runs_program = program_cell(matrix.cells) != nullptr;
  auto program = matrix.program_repo;
  if (runs_program && !program && options.repository.empty()) {
    throw InputError(
        "[compare] the program of this matrix has no repository: add 'repo: {path: FOLDER}', or name one "
        "with --repo");
  }
  if (runs_program && !options.repository.empty()) {
    if (!program) program.emplace();
    program->path = fs::absolute(options.repository).string();
  }
  const fs::path folder = program                      ? fs::path(program->path)
                          : options.repository.empty() ? installation.data_dir()
                                                       : options.repository;
  return {.history = GitHistory(folder), .program = std::move(program)};
}

AbSide named_side(const std::string& text, const AbOptions& options, const Installation& installation) {
  constexpr std::string_view kCommandPrefix = "cmd:";
  if (text.starts_with(kCommandPrefix)) {
    auto words = options.program;
    words.command = command_words(std::string_view(text).substr(kCommandPrefix.size()));
    if (words.command.empty()) throw InputError("[compare] 'cmd:' needs a command");
    return {.asked = text, .kind = SideKind::command, .engine = {locate_adapter()}, .matrix = program_matrix(words)};
  }
  std::optional<RevisionSource> source;
  auto side = parse_side(text, installation.engine, [&](const std::string& revision) {
    source = revision_source(options, installation);
    return source->history.commit(revision);
  });
  if (!source) return side;
  auto revision = named_revision(side.commit, *source, installation);
  revision.asked = side.asked;
  return revision;
}

AbSide named_revision(const std::string& commit, const RevisionSource& source, const Installation& installation) {
  AbSide side{.asked = short_commit(commit),
              .kind = SideKind::revision,
              .commit = commit,
              .repository = source.history.root(),
              .program = source.program};
  if (source.program) side.engine = {installation.engine};
  return side;
}

PairedMatrix pair_matrix(const AbSide& a, const AbSide& b, const AbOptions& options, const ModelCatalog& catalog,
                         const Installation& installation) {
  PairedMatrix out;
  if ((a.kind == SideKind::command) != (b.kind == SideKind::command)) {
    throw InputError(fmt::format(
        "[compare] {} and {}: a command can only be compared with another command: give two sides cmd:", a.asked,
        b.asked));
  }
  out.cells = pair_cells(options.matrix.overrides, a, b, [&](const Overrides& overrides, const AbSide& side) {
    auto expansion = expand_matrix(
        {.file = options.matrix.file, .text = side.matrix, .overrides = overrides, .program = options.matrix.program},
        catalog, installation.data_dir());
    out.notices.insert(expansion.notices.begin(), expansion.notices.end());
    out.name = expansion.name;
    return expansion;
  });
  if (!options.cells.empty()) {
    std::erase_if(out.cells, [&options](const AbCell& cell) { return !options.cells.contains(cell.label); });
  }
  if (out.cells.empty()) throw InputError("[compare] the matrix has no cell that either side may run");
  return out;
}

void check_before_building(const AbSide& a, const AbSide& b, const AbOptions& options,
                           const Installation& installation) {
  check_pairs_elsewhere(options);
  const ModelCatalog catalog(installation.data_dir());
  const auto cells = pair_matrix(a, b, options, catalog, installation).cells;
  check_launcher(cells);
  check_images(cells);
  check_programs(a, options);
  check_programs(b, options);
  require_writable_folder("[compare] --runs", runs_folder(options.runs, options.db));
  open_database(options.db);
}

AbSide ready_side(AbSide side, const AbOptions& options, const Interruption& interruption) {
  if (side.kind != SideKind::revision) return side;
  const auto settings = build_settings(options, interruption.fd());
  const GitHistory history(side.repository);
  if (side.program) {
    const auto folder = fs::canonical(side.program->path).lexically_relative(fs::canonical(history.root()));
    const auto tree = build_tree(history, side.commit, side.program->build, settings);
    side.program->path = (folder == "." ? tree : tree / folder).string();
  } else {
    side.engine = {build_engine(history, side.commit, settings)};
  }
  return side;
}

}  // namespace perfbench::harness
