#include "harness/launch/node_work.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "harness/execute/launcher.h"
#include "harness/system/place_names.h"
#include "workloads/spec/run_program.h"

namespace perfbench::harness {
namespace {

// The rest of the 40 characters that XPK allows is for a hyphen and eight digits of the run's id.
constexpr std::size_t kMatrixNameLength = 31;
constexpr std::size_t kIdLength = 8;

// A DNS label begins with a letter and has small letters, digits and hyphens.
std::string job_name(const Cell& cell) {
  std::string out;
  for (const char c : cell.matrix) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 0x80 && std::isalnum(byte) != 0;
    out += plain ? static_cast<char>(std::tolower(byte)) : '-';
  }
  out.resize(std::min(out.size(), kMatrixNameLength));
  while (out.ends_with('-')) out.pop_back();
  if (out.empty() || std::isalpha(static_cast<unsigned char>(out.front())) == 0) out = "run" + out;
  out.resize(std::min(out.size(), kMatrixNameLength));
  return out + "-" + cell.run_id.substr(0, kIdLength);
}

NodeWork work_of(const Cell& cell) {
  return {.name = job_name(cell),
          .remarks = {fmt::format("{}: {} (run {})", cell.matrix, shown_label(cell.label), cell.run_id.substr(0, 12))},
          .nodes = cell.run.mesh.dcn.size(),
          .devices_per_node = cell.run.mesh.ici.size(),
          .on_gpus = cell.run.device == spec::Device::cuda};
}

std::string how_results_come_home(const spec::ProgramSpec& program) {
  const auto reader = !program.reader.empty() ? program.reader
                      : program.files.empty() ? ""
                                              : program.files.front().format;
  if (reader.empty()) return "The program declares no reader for its numbers.";
  auto log = program.reader.empty() ? program.files.front().path : "LOG";
  if (const auto at = log.find("{run_dir}"); at != std::string::npos) log.replace(at, 9, "RUN_DIR");
  return fmt::format("Results: perfbench adapt --reader {} {} --into DIR, then perfbench ingest DIR", reader, log);
}

}  // namespace

NodeWork work_of_program(const Cell& cell, const ProgramInJob& in_job) {
  auto program = cell.run.program->spec;
  const bool in_image = in_job.has_image || !program.container.image.empty();
  if (program.workdir.empty()) {
    program.workdir = "{run_dir}";
  } else if (program.workdir == "{cwd}" && (in_image || !in_job.checkout.empty())) {
    program.workdir = escape_template(in_job.checkout);
  }
  const auto repo = in_job.checkout.empty() && !in_image ? cell.program_repo : in_job.checkout;
  for_each_template(program, [&](std::string& text) {
    text = fill_known(text, [&](const std::string& name) -> std::optional<std::string> {
      if (name == "python") return "python3";
      if (name == "repo" && !repo.empty()) return repo;  // else node_script() says what is missing
      if (name == "cwd" && !in_job.checkout.empty()) return in_job.checkout;
      if (name == "cwd" && !in_image) return std::filesystem::current_path().string();
      return std::nullopt;
    });
  });
  auto out = work_of(cell);
  out.remarks.push_back(how_results_come_home(program));
  out.env = program.env;
  out.needs = program.needs;
  out.command = rank_command(program);
  for (auto& word : out.command) word = escape_template(word);
  out.command.insert(out.command.end(), program.command.begin(), program.command.end());
  out.workdir = program.workdir;
  out.image = program.container.image;
  // mpirun and srun reach all nodes of an allocation from the first one.
  const auto starter = std::filesystem::path(out.command.front()).filename();
  if (starter == "srun" || starter == "mpirun") out.started_on = StartedOn::first_node;
  return out;
}

NodeWork work_of_engine(const Cell& cell, const EngineCell& known_as) {
  auto out = work_of(cell);
  out.remarks.emplace_back("Results: perfbench ingest the folder RUN_DIR, on a machine that sees it");
  out.started_on = StartedOn::first_node;
  out.workdir = "{run_dir}";
  const auto word = [](const std::string& text) { return escape_template(text); };
  out.command = {word(known_as.perfbench), "sweep",
                 known_as.matrix.empty() ? "{run_dir}/matrix.yaml" : word(known_as.matrix), "--db={run_dir}/perf.db"};
  for (const auto& text : known_as.words) out.command.push_back(word(text));
  out.matrix_text = known_as.text;
  out.in_own_image = known_as.in_image;
  return out;
}

}  // namespace perfbench::harness
