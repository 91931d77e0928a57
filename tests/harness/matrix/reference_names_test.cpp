// Keys of reference systems, and the hint for a matrix that uses them.
#include "harness/matrix/reference_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "harness/matrix/matrix.h"
#include "harness/matrix/model_catalog.h"
#include "harness/matrix/run_keys.h"
#include "harness/matrix/yaml_document.h"
#include "harness/system/input_error.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;

TEST(ReferenceNames, AreNotKeysOfARunButNameOne) {
  for (const auto& name : reference_names()) {
    EXPECT_FALSE(find_key(name.word)) << name.word << " is a key: say what its values mean where they are read";
    EXPECT_TRUE(name.key.empty() || find_key(name.key)) << name.word << " is not " << name.key;
    EXPECT_FALSE(name.key.empty() && name.note.empty()) << name.word;
  }
}

TEST(ReferenceNames, ExactNamesComeBeforePrefixes) {
  for (const auto& name : reference_names()) {
    const bool many = name.word.ends_with('*');
    const auto word =
        many ? std::string(name.word.substr(0, name.word.size() - 1)) + "something" : std::string(name.word);
    EXPECT_THAT(reference_hint(word), HasSubstr(std::string(name.note))) << word;
    EXPECT_THAT(reference_hint(word), HasSubstr(std::string(name.key))) << word;
  }
}

TEST(ReferenceNames, UnknownWordsHaveNoHint) {
  for (const auto* word : {"", "-", "seq_len", "fsdp", "sequence", "profile", "xla", "mesh"}) {
    EXPECT_EQ(reference_hint(word), "") << word;
  }
}

std::string defaults_error(const std::string& defaults) {
  const ModelCatalog catalog(PERFBENCH_SOURCE_DIR);
  try {
    expand(YamlDocument::parse("name: m\ndefaults: {model: gpt-tiny, global_batch: 2, " + defaults + "}\n", "matrix",
                               "m.yaml"),
           catalog, {});
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

// The first words that users of each system type.
TEST(ReferenceNames, KeysOfCommonSystemsAreAnsweredWithOurKey) {
  for (const auto& [word, key] :
       std::map<std::string, std::string>{{"batch_size", "global_batch"},
                                          {"micro_batch_size", "batch_per_shard"},
                                          {"--micro-batch-size", "batch_per_shard"},
                                          {"num_layers", "model.layers"},
                                          {"num_hidden_layers", "model.layers"},
                                          {"model.hidden_size", "model.d_model"},
                                          {"dtype", "precision"},
                                          {"gradient_accumulation_steps", "grad_accum"},
                                          {"lr", "optimizer.learning_rate"},
                                          {"nodes", "mesh.dcn"},
                                          {"nproc", "mesh.ici"},
                                          {"nproc_per_node", "mesh.ici"},
                                          {"training.local_batch_size", "batch_per_shard"},
                                          {"train_micro_batch_size_per_gpu", "batch_per_device"},
                                          {"zero_optimization.stage", "mesh.ici.fsdp"},
                                          {"tensor-model-parallel-size", "mesh.ici.tp"},
                                          {"n_embd", "model.d_model"},
                                          {"base_emb_dim", "model.d_model"}}) {
    EXPECT_THAT(reference_hint(word), HasSubstr("'s name for " + key)) << word;
  }
}

TEST(ReferenceNames, AreAnsweredOnTheCommandLineToo) {
  const ModelCatalog catalog(PERFBENCH_SOURCE_DIR);
  const auto matrix =
      YamlDocument::parse("name: m\ndefaults: {model: gpt-tiny, global_batch: 2}\n", "matrix", "m.yaml");
  for (const auto& overrides : {Overrides{.only = {"batch_size=4"}}, Overrides{.set = {"batch_size=4"}}}) {
    try {
      expand(matrix, catalog, overrides);
      FAIL();
    } catch (const InputError& e) {
      EXPECT_THAT(e.what(), HasSubstr("batch_size=4: unknown key 'batch_size': nanoGPT's name for global_batch"));
    }
  }
}

TEST(ReferenceNames, KeysInAnUnknownSectionLeadToTheKey) {
  EXPECT_EQ(key_suggestion("training.seq_len", {}), " (did you mean 'seq_len'?)");
  EXPECT_EQ(key_suggestion("parallelism.fsdp", {}), " (did you mean 'fsdp'?)");
}

TEST(ReferenceNames, InAMatrixAreRefusedWithOurNameOrTheReason) {
  EXPECT_THAT(defaults_error("use_iota_embed: true"),
              HasSubstr("unknown key 'use_iota_embed': MaxText's name for embedding, one_hot for true"));
  EXPECT_THAT(defaults_error("profile_duration: 20000"),
              HasSubstr("'profile_duration': torchprime's name for profile.steps, in steps and not in milliseconds"));
  EXPECT_THAT(defaults_error("fdl.PERCORE_BATCH_SIZE: 4"), HasSubstr("Pax's name for batch_per_device"));
  EXPECT_THAT(defaults_error("attention_dropout: 0.1"),
              HasSubstr("torchprime's; flash attention never stores the probabilities to which it would"));
  EXPECT_THAT(defaults_error("resid_pdrop: 0.1"), HasSubstr("'resid_pdrop': Hugging Face's name for dropout.residual"));
  EXPECT_THAT(defaults_error("ENABLE_TE: 1"),
              HasSubstr("'ENABLE_TE': Pax's; this engine does not use Transformer Engine"));
  EXPECT_THAT(defaults_error("mesh: {d: 8}"), HasSubstr("seqax's name for mesh.ici.fsdp"));
  EXPECT_THAT(defaults_error("'--xla_gpu_graph_level': 0"), HasSubstr("XLA's name for device_graphs, false for 0"));
  EXPECT_THAT(defaults_error("xla_gpu_enable_triton_gemm: false"), HasSubstr("XLA's; this engine does not use XLA"));
}

}  // namespace
}  // namespace perfbench::harness
