#include "harness/judge/pairs_command.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <vector>

#include "reports/render/format/escape.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::harness {
namespace {

using reports::shell_word;

constexpr std::size_t kCommitDigits = 12;

std::string commit_of(const CellRuns& cell, const std::string& unknown) {
  const auto& facts = cell.environment();
  const auto commit = facts.find("git_commit");
  const auto dirty = facts.find("git_dirty");
  const bool changed = dirty != facts.end() && dirty->second == "true";
  const auto hexadecimal = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
  // Facts come from a run directory or a file from outside, so text that is not a commit is not shown as one.
  if (commit == facts.end() || commit->second.size() < kCommitDigits || changed) return unknown;
  if (!std::all_of(commit->second.begin(), commit->second.end(), hexadecimal)) return unknown;
  return commit->second.substr(0, kCommitDigits);
}

std::string settings_of(const CellRuns& baseline, const CellRuns& cell) {
  std::string out;
  for (const auto& d : spec::difference(cell.run(), baseline.run())) {
    auto value = d.right;
    std::erase(value, '"');
    // No setting can express these values: the user has to fill them in.
    if (value.empty() || value.find(',') != std::string::npos) return "set:KEY=VALUE,...";
    out += (out.empty() ? "set:" : ",") + d.field + "=" + value;
  }
  return out;
}

// The words of a label: "model=llama-tiny fsdp=2". A word without a key belongs to the previous value.
std::vector<std::string> choices_of(const std::string& label) {
  std::vector<std::string> out;
  std::istringstream words(label);
  for (std::string word; std::getline(words, word, ' ');) {
    if (out.empty() || word.find('=') != std::string::npos) {
      out.push_back(word);
    } else {
      out.back() += " " + word;
    }
  }
  return out;
}

}  // namespace

std::string pairs_command(const CellRuns& cell, const CellRuns* baseline) {
  std::string a = "BASELINE_ENGINE";
  auto b = commit_of(cell, "current");
  if (baseline != nullptr && baseline->run_id != cell.run_id) {
    a = settings_of(*baseline, cell);
    b = "current";
  } else if (baseline != nullptr) {
    a = commit_of(*baseline, a);
  }
  const auto file = cell.matrix.empty() ? "MATRIX_FILE" : "matrices/" + cell.matrix + ".yaml";
  auto out = "perfbench compare --ab " + shell_word(a) + " " + shell_word(b) + " " + shell_word(file);
  for (const auto& choice : choices_of(cell.label)) {
    if (choice.find('=') != std::string::npos) out += " --only " + shell_word(choice);
  }
  return out;
}

}  // namespace perfbench::harness
