#include "harness/launch/node_script.h"

#include <fmt/core.h>

#include "harness/system/input_error.h"
#include "harness/system/text_template.h"
#include "reports/render/format/escape.h"

namespace perfbench::harness {
namespace {

std::string variable_of(const std::string& name) {
  if (name == "run_dir") return "RUN_DIR";
  if (name == "node_rank") return "NODE_RANK";
  if (name == "coordinator") return "COORDINATOR";
  if (name == "repo" || name == "cwd") {
    throw InputError(
        fmt::format("[launch] the program needs {{{}}}: name the folder that it has in the job with --checkout", name));
  }
  throw InputError(fmt::format("[launch] a launch file has no value for {{{}}}", name));
}

std::string shell_text(const std::string& text, Variables variables) {
  std::string out;
  for (const auto& part : template_parts(text)) {
    if (!part.is_name) {
      out += reports::shell_word(part.text);
    } else {
      const auto name = "${" + variable_of(part.text) + "}";
      out += variables == Variables::quoted ? "\"" + name + "\"" : name;
    }
  }
  return out.empty() ? "''" : out;
}

}  // namespace

std::string remark_lines(const NodeWork& work) {
  std::string out;
  for (const auto& line : work.remarks) out += "# " + reports::shown(line) + "\n";
  return out;
}

std::string end_of_text(std::string_view text) {
  std::string out = "END";
  while (("\n" + std::string(text) + "\n").find("\n" + out + "\n") != std::string::npos) out += "_";
  return out;
}

std::vector<std::string> node_script(const NodeWork& work, Variables variables) {
  std::vector<std::string> out{"mkdir -p " + shell_text("{run_dir}", variables)};
  if (!work.matrix_text.empty()) {
    const auto end = end_of_text(work.matrix_text);
    out.push_back(fmt::format("cat > {} <<'{}'\n{}{}{}", shell_text("{run_dir}/matrix.yaml", variables), end,
                              work.matrix_text, work.matrix_text.ends_with('\n') ? "" : "\n", end));
  }
  if (!work.workdir.empty()) out.push_back("cd " + shell_text(work.workdir, variables));
  for (const auto& [name, value] : work.env) out.push_back("export " + name + "=" + shell_text(value, variables));
  std::string command = "exec";
  for (const auto& word : work.command) command += " " + shell_text(word, variables);
  out.push_back(command);
  return out;
}

}  // namespace perfbench::harness
