#include "harness/cli/shell/shared_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <string>

#include "harness/cli/shell/options.h"
#include "harness/cli/shell/value_checks.h"
#include "harness/evidence/output_file.h"
#include "harness/launch/launchers.h"
#include "harness/system/input_error.h"
#include "reports/render/document/terminal.h"
#include "reports/render/format/escape.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kFewestPairs = 2;
constexpr std::size_t kMostReplacements = 10'000;
constexpr double kMostFraction = 1e6;  // practically no limit

constexpr double kLongestSeconds = 1e8;  // three years: practically no limit, and its nanoseconds fit
constexpr double kGib = 0x1p30;
constexpr double kMostGib = 1e6;

constexpr Bounds<std::size_t> kWidths{20, 10'000};  // a narrower line has no room for a word

void add_spoil_options(CLI::App& command, SpoilRule& spoil, const std::string& group) {
  const auto fraction = [&](const char* name, double& value, const char* help) {
    add_number(command, name, value, Bounds<double>{0, kMostFraction}, help)->capture_default_str()->group(group);
  };
  fraction("--most-probe-spread", spoil.most_probe_spread, "discard a pair whose noise probe moved by more in a run");
  fraction("--most-probe-shift", spoil.most_probe_shift, "... whose two runs' probes differ by more");
  fraction("--most-steal", spoil.most_steal, "... that lost more of the cores' time to the hypervisor");
  fraction("--most-foreign", spoil.most_foreign, "... that lost more of the cores' time to other processes");
}

void add_detection_options(CLI::App& command, std::optional<Detection>& detection, const std::string& group) {
  const auto asked = [&detection]() -> Detection& { return detection ? *detection : detection.emplace(); };
  auto* detect =
      add_amount(
          command, "--detect", kFraction, {.factor = 1, .name = "a share of 1"},
          {.bounds = {0.001, 0.5}, .shown_bounds = "from 0.1% to 50%"},
          [asked](double fraction) { asked().fraction = fraction; },
          "plan the pairs of each cell, and their steps, so that four of five comparisons find a step time that is "
          "larger by this fraction; this is also the margin. Two pilot pairs, which are not tested, measure the noise")
          ->excludes(command.get_option("--pairs"))
          ->group(group);
  add_amount(
      command, "--within", kDuration, {.factor = 1, .name = "seconds"},
      {.bounds = {1, kLongestSeconds}, .shown_bounds = "from 1s to 3 years"},
      [asked](double seconds) { asked().within_s = seconds; },
      "with --detect: time limit of a comparison; a cell that takes longer is not run, and the message says how long "
      "it takes")
      ->needs(detect)
      ->group(group);
}

void add_build_options(CLI::App& command, AbOptions& options, const std::string& group) {
  add_path(
      command, "--repo", options.repository, PathIs::folder,
      "git repository of revisions; default: that of the matrix's program, or the one from which this perfbench was "
      "built")
      ->group(group);
  add_path(command, "--build-cache", options.build_cache, PathIs::folder,
           "where revisions are built and kept; default: ~/.cache/perfbench/builds")
      ->group(group);
  command.add_option("--build-option", options.build_options, "for cmake, on both sides: -DPERFBENCH_CUDA=ON")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(group);
}

}  // namespace

CLI::Option* add_db_option(CLI::App& command, std::filesystem::path& db, const std::string& help) {
  auto* option = add_path(command, "--db", db, PathIs::database, help)->envname("PERFBENCH_DB");
  return db.empty() ? option : option->capture_default_str();
}

void add_matrix_options(CLI::App& command, MatrixOptions& options, MatrixFile file) {
  add_path(command, "file", options.file, PathIs::file,
           "matrix file (docs/matrix.md), or the name of an installed one: quickstart")
      ->required(file == MatrixFile::required);
  // Takes one value at a time, because the next word may be the file.
  command
      .add_option("--only", options.overrides.only, "keep the cells with key=value[,value], * globs; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--set", options.overrides.set, "set a field of every cell, key=value; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_program_options(CLI::App& command, ProgramChoice& program) {
  auto* name = command
                   .add_option("--program", program.program,
                               "run the cells with this training program in place of perfbench-engine: maxtext, pax, "
                               "axlearn, torchprime, seqax, torchtitan, megatron, llmc, nanogpt, hf_trainer, or a "
                               "program file (docs/matrix.md)")
                   ->type_name("NAME");
  add_path(command, "--program-repo", program.repo, PathIs::folder,
           "the program's checkout; default: the current folder, if the program needs one")
      ->check(CLI::ExistingDirectory)
      ->needs(name);
}

void add_execution_options(CLI::App& command, ExecutionOptions& options) {
  add_amount(
      command, "--timeout", kDuration, {.factor = 1, .name = "seconds"},
      {.bounds = {1e-3, kLongestSeconds}, .shown_bounds = "from 1ms to 3 years"},
      [&options](double seconds) { options.timeout_s = seconds; }, "time limit of an attempt")
      ->default_str(fmt::format("{}s", options.timeout_s));
  add_amount(
      command, "--memory-limit", kSize, {.factor = kGib, .name = "GiB"},
      {.bounds = {0, kMostGib * kGib}, .shown_bounds = "up to 1000000GiB, or 0 for no limit"},
      [&options](double bytes) { options.memory_limit_bytes = static_cast<std::int64_t>(bytes); },
      "memory limit of all ranks of an attempt together");
  command.add_flag_callback(
      "--no-lock", [&options] { options.machine_use = MachineUse::shared; },
      "do not wait until no other perfbench measures on this machine; the attempts record that");
}

void add_launch_options(CLI::App& command, LaunchOptions& options) {
  const auto known = [](const std::string& words) -> std::string {
    try {
      parse_launcher(words);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  auto* launcher = command.add_option(
      "--launcher", options.launcher,
      "where attempts are executed: local, slurm[:PARTITION], ssh:HOST[,HOST...], podman, docker or "
      "kubernetes[:NAMESPACE]; other machines must see the run directories under the same path, and perfbench "
      "unless an image has it");
  launcher->type_name("LAUNCHER")->check(CLI::Validator(known, ""))->capture_default_str();
  command.add_option("--image", options.image, "image with perfbench, for --launcher podman, docker or kubernetes")
      ->type_name("IMAGE")
      ->needs(launcher);
  command
      .add_option(
          "--launch-option", options.options,
          "one more word for sbatch, podman run, docker run or kubectl, such as --launch-option=--gres=gpu:8; may "
          "be repeated")
      ->type_name("WORD")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->needs(launcher);
}

CLI::Option* add_pairing_option(CLI::App& command, AbOptions& options) {
  return add_enum_option(command, "--pairing", options.pairing,
                         "turns: both runs of a pair are alive together and step in turns; apart: one follows the "
                         "other; auto: in turns if both engines can and both fit into memory, but not on a GPU, nor if "
                         "checkpoints are written beside the steps");
}

void add_ab_options(CLI::App& command, AbOptions& options, const std::string& group) {
  add_path(command, "--runs", options.runs, PathIs::folder,
           "folder of the run directories; default: beside the database")
      ->group(group);
  add_number(command, "--pairs", options.pairs, Bounds<std::size_t>{kFewestPairs, kMostPairs},
             "most pairs of a cell; decisions are taken at 4, 8, 16, 32 of them and at the last. Without this option, "
             "compare executes up to 64 if they all fit into a minute")
      ->capture_default_str()
      ->group(group);
  add_detection_options(command, options.detection, group);
  add_pairing_option(command, options)->group(group);
  command.add_option("--metrics", options.metrics, "metrics of the catalog to judge")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("METRIC")
      ->check(metric_complaint)
      ->group(group)
      ->default_str(
          "step_time_s,step_time_mean_s,peak_memory_bytes,resident_bytes,startup_time_s,final_loss, for runs of 50 "
          "steps step_time_p90_s, and for runs that evaluate eval_accuracy,eval_perplexity; with --detect "
          "step_time_s,peak_memory_bytes,final_loss");
  command
      .add_option("--margin", options.margins, "METRIC=FRACTION: smaller differences do not matter; may be repeated")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(group);
  add_number(command, "--seed", options.seed, Bounds<std::uint64_t>{0, std::uint64_t{1} << 53U},
             "seed of the order within pairs; default: a new one")
      ->group(group);
  add_number(command, "--most-discarded", options.most_discarded, Bounds<std::size_t>{0, kMostReplacements},
             options.discards_per_pair == 1
                 ? "spoiled pairs of a cell that are replaced; default: as many as --pairs"
                 : fmt::format("spoiled pairs of a cell that are replaced; default: {} times --pairs",
                               options.discards_per_pair))
      ->group(group);
  add_spoil_options(command, options.spoil, group);
  add_build_options(command, options, group);
}

void add_author_option(CLI::App& command, std::string& author) {
  command.add_option("--author", author, "default: git's user.name, or USER");
}

void add_screens_option(CLI::App& command, ScreenBudget& budget) {
  add_number(command, "--screens-per-night", budget.screens_per_night, Bounds<double>{0.01, 100},
             "false screens that a whole matrix may have in a night; each costs a comparison. A larger matrix needs "
             "larger shifts to stay within it. Give `history` the number that `nightly` has")
      ->capture_default_str();
}

CLI::Option* add_width_option(CLI::App& command, LayoutOptions& options) {
  return add_number(command, "--width", options.width, kWidths,
                    "for format text: width of a line in columns; default: the terminal's, or COLUMNS, or 80");
}

void add_layout_options(CLI::App& command, LayoutOptions& options) {
  auto* width = add_width_option(command, options);
  command.add_flag("--full", options.full, "for format text: do not wrap lines")->excludes(width);
}

void add_page_option(CLI::App& command, LayoutOptions& options) {
  add_path(command, "--html", options.html, PathIs::file, "also write a page for a browser to this file");
}

void add_file_option(CLI::App& command, LayoutOptions& options) {
  add_path(command, "-o,--output", options.output, PathIs::file, "file to write instead of standard output");
  command.add_option("--chart", options.chart, "for format svg: only the charts with this name; default: all");
}

namespace {

// The command that is running, in the form in which a user types it.
std::string command_line() {
  std::ifstream arguments("/proc/self/cmdline", std::ios::binary);
  std::string out;
  for (std::string word; std::getline(arguments, word, '\0');) {
    out += out.empty() ? std::string("perfbench") : " " + reports::shell_word(word);
  }
  return out;
}

std::string page_of_command(reports::Document document) {
  document.add_origin("Command", command_line());
  return reports::render_html(document);
}

}  // namespace

void write_page(const reports::Document& document, const LayoutOptions& layout) {
  if (!layout.html.empty()) write_output(layout.html, page_of_command(document));
}

namespace {

std::string rendered_svg(const reports::Document& document, const std::string& chart) {
  const auto keys = reports::chart_keys(document);
  const bool is_there = std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
    return chart.empty() || key == chart || key.starts_with(chart + "_");
  });
  if (is_there) return reports::render_svg(document, chart);
  if (keys.empty()) throw InputError("--format svg: there is no chart of this; its tables have the data");
  throw InputError(fmt::format("--chart {}: there is no such chart; there are {}", chart, fmt::join(keys, ", ")));
}

}  // namespace

void print_document(const reports::Document& document, reports::DocumentFormat format, const LayoutOptions& layout) {
  write_page(document, layout);
  const bool is_drawing = format == reports::DocumentFormat::svg;
  if (is_drawing || !layout.output.empty()) {
    constexpr reports::TextLayout kWhole{.width = 0};
    const auto text = is_drawing                                ? rendered_svg(document, layout.chart)
                      : format == reports::DocumentFormat::html ? page_of_command(document)
                                                                : reports::render(document, format, kWhole);
    if (layout.output.empty()) return reports::print_text(stdout, text);
    write_output(layout.output, text);
    return;
  }
  if (format == reports::DocumentFormat::html) return reports::print_text(stdout, page_of_command(document));
  const auto width = layout.full && !layout.width ? std::optional<std::size_t>(0) : layout.width;
  reports::print_document(stdout, document, format, reports::text_layout(reports::surroundings_of(stdout), width));
}

}  // namespace perfbench::harness
