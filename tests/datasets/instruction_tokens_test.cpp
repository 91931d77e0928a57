#include "workloads/datasets/instruction_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/datasets/dataset_folder.h"
#include "workloads/datasets/dataset_error.h"
#include "workloads/datasets/flat_tokens_writer.h"

namespace perfbench::spec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The example of the flat-tokens format, [[1, 2], [3, 4, 5], [6, 7, 8]], with prompts.
void write_prompts(const DatasetFolder& folder, const std::vector<std::uint32_t>& prompts) {
  write_example(folder);
  folder.text("train/prompt_tokens/.zarray", zarray("<u4", static_cast<int>(prompts.size()), 3));
  folder.chunk<std::uint32_t>("train/prompt_tokens/0", prompts);
}

std::string complaint(const DatasetFolder& folder) {
  try {
    InstructionTokens(folder.path(), kTrainSplit);
  } catch (const DatasetError& e) {
    return e.what();
  }
  return "no error";
}

TEST(InstructionTokens, EachSequenceIsADocumentWithItsPrompt) {
  const DatasetFolder folder("instruction-read");
  write_prompts(folder, {1, 1, 2});
  InstructionTokens data(folder.path(), kTrainSplit);
  ASSERT_EQ(data.documents(), 3);
  EXPECT_EQ(data.max_token_id(), 8);
  EXPECT_EQ(data.prompt_tokens(), 4);
  EXPECT_THAT(data.document(1).ids, ElementsAre(3, 4, 5));
  EXPECT_EQ(data.document(1).prompt_tokens, 1);
  EXPECT_THAT(data.document(2).ids, ElementsAre(6, 7, 8));
  EXPECT_EQ(data.document(2).prompt_tokens, 2);
  EXPECT_THAT(data.document(2, 2).ids, ElementsAre(6, 7));
  EXPECT_THROW(data.document(3), DatasetError);
  EXPECT_TRUE(has_prompts(folder.path(), kTrainSplit));
  EXPECT_FALSE(has_prompts(folder.path(), kValidationSplit));
}

TEST(InstructionTokens, ReadsWhatItWrote) {
  const DatasetFolder folder("instruction-written");
  const std::vector<std::int32_t> prompt{4, 9};
  const std::vector<std::int32_t> completion{9, 0, 7};
  {
    FlatTokensWriter writer(
        {.dataset = folder.path(), .max_token_id = 9, .chunk_elements = 2, .prompts = Prompts::counted});
    for (int i = 0; i < 5; ++i) writer.append(Split::train, prompt, completion);
    writer.append(Split::validation, completion, prompt);
    EXPECT_THROW(writer.append(Split::train, prompt), DatasetError) << "without a prompt";
    EXPECT_THROW(writer.append(Split::train, {}, completion), DatasetError);
    EXPECT_THROW(writer.append(Split::train, prompt, {}), DatasetError);
    writer.finish();
  }
  InstructionTokens train(folder.path(), kTrainSplit);
  ASSERT_EQ(train.documents(), 5);
  EXPECT_THAT(train.document(4).ids, ElementsAre(4, 9, 9, 0, 7));
  EXPECT_EQ(train.document(4).prompt_tokens, 2);
  EXPECT_EQ(InstructionTokens(folder.path(), kValidationSplit).document(0).prompt_tokens, 3);
  FlatTokensWriter plain({.dataset = folder.path() / "plain", .max_token_id = 9});
  EXPECT_THROW(plain.append(Split::train, prompt, completion), DatasetError);
}

TEST(InstructionTokens, CandidatesKnowTheirQuestion) {
  const DatasetFolder folder("instruction-questions");
  const std::vector<std::int32_t> prompt{4, 9};
  const std::vector<std::vector<std::int32_t>> candidates{{1}, {2, 3}, {5}};
  {
    FlatTokensWriter writer(
        {.dataset = folder.path(), .max_token_id = 9, .chunk_elements = 2, .prompts = Prompts::of_questions});
    writer.append_question(Split::validation, prompt, candidates, 2);
    writer.append_question(Split::validation, prompt, std::span(candidates).first(2), 0);
    EXPECT_THROW(writer.append_question(Split::train, prompt, candidates, 3), DatasetError);
    EXPECT_THROW(writer.append_question(Split::train, prompt, std::span(candidates).first(1), 0), DatasetError);
    EXPECT_THROW(writer.append(Split::train, prompt, prompt), DatasetError);
    writer.finish();
  }
  const InstructionTokens data(folder.path(), kValidationSplit);
  ASSERT_EQ(data.documents(), 5);
  EXPECT_EQ(data.questions(), 2);
  for (std::int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(data.candidate(i).question, i < 3 ? 0 : 1) << i;
    EXPECT_EQ(data.candidate(i).right, i == 2 || i == 3) << i;
  }
  EXPECT_EQ(InstructionTokens(folder.path(), kTrainSplit).questions(), 0);
}

// The data set has three documents.
TEST(InstructionTokens, QuestionsThatCannotBeAnsweredAreNamed) {
  const DatasetFolder folder("instruction-bad-questions");
  write_prompts(folder, {1, 1, 2});
  const auto complaint_about = [&](const std::vector<std::uint32_t>& candidates) {
    folder.text("train/candidates/.zarray", zarray("<u4", static_cast<int>(candidates.size()), 3));
    folder.chunk<std::uint32_t>("train/candidates/0", candidates);
    return complaint(folder);
  };
  EXPECT_EQ(complaint_about({1, 0, 3}), "no error");
  EXPECT_THAT(complaint_about({0, 0, 3}), HasSubstr("question 0 has 0 right candidates; it needs exactly one"));
  EXPECT_THAT(complaint_about({1, 1, 3}), HasSubstr("question 0 has 2 right candidates; it needs exactly one"));
  EXPECT_THAT(complaint_about({1, 3, 3}), HasSubstr("question 1 has 2 right candidates; it needs exactly one"));
  EXPECT_THAT(complaint_about({1, 0, 5}), HasSubstr("document 2 is of question 2"));
  EXPECT_THAT(complaint_about({3, 2, 2}), HasSubstr("document 0 is of question 1"));
  EXPECT_THAT(complaint_about({1, 3, 0}), HasSubstr("document 2 is of question 0"));
  EXPECT_THAT(complaint_about({1, 3}), HasSubstr("has 2 elements, but there are 3 documents"));
}

// The error comes before the first one is used, and gives their numbers.
TEST(InstructionTokens, DocumentsThatCannotBeTrainedOnAreNamed) {
  const DatasetFolder folder("instruction-bad");
  write_prompts(folder, {1, 3, 2});
  EXPECT_THAT(complaint(folder), HasSubstr("prompt_tokens: document 1 has 3 tokens and a prompt of 3: there is no"));
  write_prompts(folder, {1, 1, 4});
  EXPECT_THAT(complaint(folder), HasSubstr("document 2 has 3 tokens and a prompt of 4: the prompt is longer"));
  write_prompts(folder, {0, 1, 1});
  EXPECT_THAT(complaint(folder), HasSubstr("document 0 has 2 tokens and a prompt of 0: "));
  write_prompts(folder, {1, 1});
  EXPECT_THAT(complaint(folder), HasSubstr("has 2 elements, but there are 3 documents"));
  write_prompts(folder, {1, 1, 2});
  folder.chunk<std::uint64_t>("train/seq_starts/0", {0, 5, 2, 8});
  EXPECT_THAT(complaint(folder), HasSubstr("document 1 ends before it begins"));
  std::filesystem::remove_all(folder.path() / "train/prompt_tokens");
  EXPECT_THAT(complaint(folder), HasSubstr("prompt_tokens/.zarray"));
}

}  // namespace
}  // namespace perfbench::spec
