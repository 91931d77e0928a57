// The commands of the program files for the matrices of their systems: all variables and words of each cell.
#include <gtest/gtest.h>

#include <filesystem>

#include "harness/matrix/matrix.h"
#include "harness/matrix/model_catalog.h"
#include "harness/matrix/program_cells.h"
#include "harness/matrix/yaml_document.h"
#include "harness/plan/plan_export.h"
#include "reports/render/format/escape.h"
#include "tests/reports/golden_file.h"
#include "workloads/spec/run_program.h"

namespace perfbench::reports {
namespace {

using harness::Overrides;

// A cell of a system that has no matrix of its own here.
std::string one_cell(const std::string& keys) {
  return "name: one\ndefaults: {" + keys + "}\n";
}

class Commands {
 public:
  explicit Commands(std::string program) : program_(std::move(program)) {}

  // A matrix of matrices/ by its name, or the text of one.
  void add(const std::string& matrix, const Overrides& overrides = {}) {
    const bool is_text = matrix.find('\n') != std::string::npos;
    const auto document = is_text ? harness::YamlDocument::parse(matrix, "matrix", "one.yaml")
                                  : harness::YamlDocument::load(kData / "matrices" / (matrix + ".yaml"), "matrix");
    auto expansion = harness::expand(document, catalog_, overrides);
    harness::run_with_program(expansion, {.program = program_, .repo = kData}, kData);
    std::erase_if(expansion.cells, [](const harness::Cell& cell) { return cell.excluded.has_value(); });
    text_ += "# " + expansion.name;
    for (const auto& words : overrides.set) text_ += " " + words;
    text_ += "\n";
    for (const auto& cell : expansion.cells) add_cell(cell);
  }

  const std::string& text() const { return text_; }

 private:
  void add_cell(const harness::Cell& cell) {
    text_ += "\n" + harness::shown_label(cell.label) + "\n";
    if (cell.infeasible) {
      text_ += "  refused: " + *cell.infeasible + "\n";
      return;
    }
    const auto program = harness::readable_program(cell.run.program->spec);
    for (const auto& [name, value] : program.env) text_ += "  " + name + "=" + shell_word(value) + "\n";
    text_ += " ";
    for (const auto& word : program.command) text_ += " " + shell_word(word);
    text_ += "\n";
  }

  const std::filesystem::path kData = PERFBENCH_SOURCE_DIR;
  const harness::ModelCatalog catalog_{PERFBENCH_SOURCE_DIR};
  const std::string program_;
  std::string text_;
};

TEST(ProgramCommands, MaxText) {
  Commands commands("maxtext");
  commands.add("maxtext");
  commands.add("maxtext", {.only = {"set=local"}, .set = {"threads_per_rank=0"}});
  // Two nodes, on GPUs and on CPUs.
  commands.add("maxtext", {.only = {"remat=minimal_flash", "attention=flash", "scan=false"}, .set = {"dcn_fsdp=2"}});
  commands.add("maxtext", {.only = {"set=local", "attention=dot_product"}, .set = {"threads_per_rank=0", "dcn_dp=2"}});
  expect_golden("commands_maxtext.txt", commands.text());
}

TEST(ProgramCommands, Pax) {
  Commands commands("pax");
  for (const auto* matrix : {"pax_gpt", "pax_glam", "pax_llama_finetune"}) commands.add(matrix);
  expect_golden("commands_pax.txt", commands.text());
}

TEST(ProgramCommands, AxLearn) {
  Commands commands("axlearn");
  commands.add("axlearn_fuji");
  expect_golden("commands_axlearn.txt", commands.text());
}

TEST(ProgramCommands, Torchprime) {
  Commands commands("torchprime");
  commands.add("torchprime");
  commands.add("torchprime",
               {.only = {"model=torchprime-*"}, .set = {"hardware=tpu-v6e", "fsdp=4", "dcn_fsdp=1", "tp=1"}});
  expect_golden("commands_torchprime.txt", commands.text());
}

TEST(ProgramCommands, Seqax) {
  Commands commands("seqax");
  commands.add("seqax");
  commands.add("seqax", {.only = {"machine=a100x8"}, .set = {"data.kind=flat_tokens", "data.path=/no such/tokens"}});
  expect_golden("commands_seqax.txt", commands.text());
}

TEST(ProgramCommands, Torchtitan) {
  Commands commands("torchtitan");
  const auto llama = one_cell(
      "model: torchprime-llama-3.1-8b, device: cuda, hardware: h100, precision: bf16, fsdp: 8, seq_len: 8192, "
      "batch_per_device: 1");
  commands.add(llama, {.set = {"remat=full"}});
  commands.add(llama, {.set = {"remat=none", "fsdp=2", "tp=4", "batch_per_device=1", "grad_accum=2"}});
  commands.add(llama, {.set = {"remat=minimal"}});
  expect_golden("commands_torchtitan.txt", commands.text());
}

TEST(ProgramCommands, MegatronLm) {
  Commands commands("megatron");
  const auto llama = one_cell(
      "model: llama2-7b, device: cuda, hardware: h100, precision: bf16, seq_len: 4096, global_batch: 32, grad_accum: "
      "2");
  commands.add(llama, {.set = {"dp=2", "tp=4"}});
  commands.add(llama, {.set = {"fsdp=8", "remat=full", "precision=fp8"}});
  commands.add(llama, {.set = {"dp=8", "attention=dot_product"}});
  commands.add(llama, {.set = {"dp=8", "remat=minimal"}});
  commands.add(llama, {.set = {"dp=2", "tp=4", "dcn_dp=2"}});
  commands.add(llama, {.set = {"fsdp=8", "dcn_fsdp=2"}});
  commands.add(llama, {.set = {"fsdp=8", "dcn_dp=2"}});
  commands.add(llama, {.set = {"dp=8", "dcn_tp=2"}});
  expect_golden("commands_megatron.txt", commands.text());
}

TEST(ProgramCommands, LlmC) {
  Commands commands("llmc");
  const auto gpt2 = one_cell(
      "model: gpt2-124m, device: cuda, hardware: a100-80g, precision: bf16, seq_len: 1024, dp: 8, global_batch: 512");
  commands.add(gpt2);
  commands.add(gpt2, {.set = {"grad_accum=2", "optimizer.warmup_steps=700", "optimizer.learning_rate=6e-4"}});
  commands.add(gpt2, {.set = {"remat=full"}});
  expect_golden("commands_llmc.txt", commands.text());
}

TEST(ProgramCommands, NanoGpt) {
  Commands commands("nanogpt");
  const auto gpt2 = one_cell(
      "model: gpt2-124m, device: cuda, hardware: a100-40g, precision: bf16, seq_len: 1024, dp: 8, batch_per_device: "
      "60, "
      "grad_accum: 5");
  commands.add(gpt2);
  commands.add(gpt2, {.set = {"precision=tf32", "model=gpt2-350m"}});
  commands.add(gpt2, {.set = {"dp=1", "fsdp=8"}});
  expect_golden("commands_nanogpt.txt", commands.text());
}

TEST(ProgramCommands, HfTrainer) {
  Commands commands("hf_trainer");
  const auto gpt2 = one_cell(
      "model: gpt2-124m, device: cuda, hardware: a100-80g, precision: bf16, seq_len: 1024, dp: 8, batch_per_device: 8, "
      "grad_accum: 2");
  commands.add(gpt2);
  commands.add(gpt2, {.set = {"precision=fp32", "remat=full"}});
  commands.add(gpt2, {.set = {"precision=fp8"}});
  expect_golden("commands_hf_trainer.txt", commands.text());
}

}  // namespace
}  // namespace perfbench::reports
