// One run reports every mistake of a matrix, each with its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "harness/matrix/matrix.h"
#include "harness/matrix/model_catalog.h"
#include "harness/matrix/yaml_document.h"
#include "harness/system/input_error.h"

namespace perfbench::harness {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

// The messages about a matrix, one mistake a line.
std::string mistakes_in(const std::string& text, const Overrides& overrides = {}) {
  const ModelCatalog catalog(PERFBENCH_SOURCE_DIR "/tests/harness/matrix_data");
  try {
    expand(YamlDocument::parse(text, "matrix", "m.yaml"), catalog, overrides);
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

// Without continuation lines.
std::string first_lines(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("[matrix]")) out += line + "\n";
  }
  return out;
}

TEST(Mistakes, AreNamedInTheOrderOfTheFileForEverySection) {
  const auto found = mistakes_in(
      "name: m\n"
      "defaults: {modl: tiny-llama, seq_len: 0, global_batch: many}\n"
      "axes:\n"
      "  fsdp: [1, 2.5]\n"
      "  attention: [flash, flesh]\n"
      "exclude:\n"
      "  - when: {fspd: 2}\n"
      "    reason: slow\n"
      "constraints: ['dp <']\n",
      {.only = {"speed=fast"}, .set = {"steps=few"}});
  EXPECT_EQ(first_lines(found),
            "[matrix] m.yaml:2:12 unknown key 'modl' (did you mean 'model'?)\n"
            "[matrix] m.yaml:2:30 'seq_len' is 0, it must be at least 1 and at most 100000000\n"
            "[matrix] m.yaml:2:42 'global_batch' is \"many\", it must be a whole number\n"
            "[matrix] m.yaml:4:13 'fsdp' is 2.5, it must be a whole number\n"
            "[matrix] m.yaml:5:22 'attention' is 'flesh', which is not one of its values (did you mean 'flash'?)\n"
            "[matrix] m.yaml:7:12 unknown key 'fspd' (did you mean 'fsdp'?)\n"
            "[matrix] m.yaml:9:15 'dp <': found the end where a number or a key is needed; a constraint is one "
            "comparison such as 'fsdp * tp <= 8'\n"
            "[matrix] --only speed=fast: unknown key 'speed' (did you mean 'seed'?)\n"
            "[matrix] --set steps=few: 'steps' must be a whole number\n");
}

TEST(Mistakes, InAnInlineModelAndInNamedValuesAreAllNamed) {
  const auto found = mistakes_in(
      "name: m\n"
      "defaults: {seq_len: 8, global_batch: 1}\n"
      "axes:\n"
      "  model:\n"
      "    - {name: own, layer: 2, d_model: -1, hidden_size: 8}\n"
      "    - tiny-lama\n"
      "  size:\n"
      "    - {name: small, set: {fsdp: 0, grad_acum: 2}}\n"
      "    - {nam: big, set: {tp: many}}\n");
  for (const auto* part : {"m.yaml:5:19 unknown key 'layer' (did you mean 'layers'?)",
                           "m.yaml:5:29 'd_model' is -1, it must be at least 1 and at most 1000000",
                           "m.yaml:5:42 unknown key 'hidden_size': Hugging Face's name for model.d_model",
                           "m.yaml:6:7 unknown model 'tiny-lama'", "m.yaml:8:27 'fsdp' is 0, it must be at least 1",
                           "m.yaml:8:36 unknown key 'grad_acum' (did you mean 'grad_accum'?)",
                           "m.yaml:9:8 unknown key 'nam' (did you mean 'name'?)"}) {
    EXPECT_THAT(found, HasSubstr(part));
  }
}

TEST(Mistakes, ConsequencesOfOtherMistakesAreNotNamed) {
  const auto found = mistakes_in(
      "name: m\n"
      "defaults: {modl: tiny-llama, sequence: 4}\n"
      "axes: {size: [{name: big, set: {fsdp: none}}, {name: small, set: {fsdp: 1}}]}\n"
      "include: [{size: big}]\n"
      "exclude: [{when: {size: big}, reason: why}]\n");
  EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 2) << found;
  EXPECT_THAT(found, Not(HasSubstr("no model")));
  EXPECT_THAT(found, Not(HasSubstr("no batch")));
}

TEST(Mistakes, InCombinationsAreNamedForEachValueToChange) {
  const auto found = mistakes_in(
      "name: m\n"
      "defaults: {model: tiny-llama, seq_len: 32}\n"
      "include:\n"
      "  - {global_batch: 3, fsdp: 2}\n"
      "  - {global_batch: 8, tp: 3}\n");
  EXPECT_THAT(found, HasSubstr("m.yaml:4:6 global_batch 3 does not divide"));
  EXPECT_THAT(found, HasSubstr("\n[matrix] m.yaml:5:23 n_heads 4 do not divide over tp 3"));
}

TEST(Mistakes, AreCappedAndTheRestIsCounted) {
  std::string text = "name: m\ndefaults:\n";
  for (int i = 0; i < 53; ++i) text += "  nonesuch_" + std::to_string(i) + ": 1\n";
  const auto found = mistakes_in(text);
  EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 20);
  EXPECT_THAT(found, HasSubstr("unknown key 'nonesuch_19'"));
  EXPECT_THAT(found, EndsWith("33 more mistakes are not named here"));
}

TEST(Mistakes, BeyondAThousandAreNotLookedFor) {
  std::string text = "name: m\ndefaults:\n";
  for (int i = 0; i < 1200; ++i) text += "  x" + std::to_string(i) + ": 1\n";
  EXPECT_THAT(mistakes_in(text), EndsWith("at least 980 more mistakes are not named here"));
}

}  // namespace
}  // namespace perfbench::harness
