#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/app/data/prepare.h"
#include "harness/app/data/source_texts.h"
#include "harness/execute/process.h"
#include "harness/system/input_error.h"
#include "tests/datasets/dataset_folder.h"
#include "workloads/datasets/flat_tokens.h"
#include "workloads/datasets/instruction_tokens.h"

namespace perfbench::harness {
namespace {

using spec::DatasetFolder;
using testing::HasSubstr;
namespace fs = std::filesystem;

DatasetFolder& write_texts(DatasetFolder& folder) {
  folder.text("b/two.txt", "\xFF\x01");
  folder.text("b/one.txt", "abc");
  folder.text("b/none.txt", "");
  folder.text("a.txt", "Z");
  fs::create_symlink(folder.path() / "a.txt", folder.path() / "b/same.txt");
  return folder;
}

TEST(TextFiles, FoldersAreSortedAndEveryFileCountsOnce) {
  DatasetFolder folder("texts");
  write_texts(folder);
  const auto b = folder.path() / "b";
  EXPECT_THAT(text_files({folder.path() / "a.txt", b, b / "one.txt"}),
              testing::ElementsAre(folder.path() / "a.txt", b / "none.txt", b / "one.txt", b / "two.txt"));
  EXPECT_THROW(text_files({folder.path() / "absent"}), InputError);
}

TEST(PrepareText, EachFileIsASequenceOfItsBytes) {
  DatasetFolder folder("prepare");
  write_texts(folder);
  const auto out = folder.path() / "set";
  const auto prepared =
      prepare_dataset({.out = out, .validation_fraction = 0, .files = text_files({folder.path() / "b"})});
  EXPECT_EQ(prepared.train.sequences, 3);
  EXPECT_EQ(prepared.train.tokens, 6);
  EXPECT_EQ(prepared.empty, 1);
  spec::FlatTokens train(out, spec::kTrainSplit);
  EXPECT_EQ(train.max_token_id(), 255);
  EXPECT_THAT(train.sequence(0), testing::ElementsAre('a', 'b', 'c'));
  EXPECT_THAT(train.sequence(1), testing::ElementsAre('Z'));
  EXPECT_THAT(train.sequence(2), testing::ElementsAre(255, 1));
  EXPECT_THROW(prepare_dataset({.out = out, .files = {folder.path() / "a.txt"}}), InputError) << "already exists";
}

std::string text_of(const std::vector<std::int32_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

std::vector<std::int32_t> completion_of(spec::InstructionTokens& data, std::int64_t document) {
  const auto [ids, prompt] = data.document(document);
  return {ids.begin() + prompt, ids.end()};
}

TEST(PrepareLambada, TheLastWordCompletesTheRest) {
  DatasetFolder folder("lambada");
  folder.text("a.jsonl", "{\"text\": \"He said no \\n\", \"other\": 1}\n\n{\"text\": \"a  b\"}\n");
  const auto out = folder.path() / "set";
  const auto prepared =
      prepare_dataset({.out = out, .format = DataFormat::lambada, .files = {folder.path() / "a.jsonl"}});
  EXPECT_TRUE(prepared.evaluates);
  EXPECT_EQ(prepared.train.sequences, 0);
  EXPECT_EQ(prepared.validation.sequences, 2);
  EXPECT_EQ(prepared.vocab_size, 256);
  spec::InstructionTokens data(out, spec::kValidationSplit);
  EXPECT_EQ(text_of(data.document(0).ids), "He said no");
  EXPECT_EQ(text_of(completion_of(data, 0)), " no");
  EXPECT_EQ(text_of(completion_of(data, 1)), " b");
  EXPECT_EQ(data.questions(), 0);
}

TEST(PrepareBoolq, YesAndNoAreTheCandidatesOfEachQuestion) {
  DatasetFolder folder("boolq");
  folder.text("a.jsonl",
              "{\"question\": \"is ice cold\", \"title\": \"Ice\", \"answer\": true, \"passage\": \"Ice is cold.\"}\n"
              "{\"question\": \"is it\", \"answer\": false, \"passage\": \"No.\"}\n");
  const auto out = folder.path() / "set";
  const auto prepared =
      prepare_dataset({.out = out, .format = DataFormat::boolq, .files = {folder.path() / "a.jsonl"}});
  EXPECT_EQ(prepared.validation.sequences, 4);
  spec::InstructionTokens data(out, spec::kValidationSplit);
  ASSERT_EQ(data.questions(), 2);
  EXPECT_EQ(text_of(data.document(0).ids), "Ice is cold.\nQuestion: is ice cold?\nAnswer: no");
  EXPECT_EQ(text_of(completion_of(data, 0)), " no");
  EXPECT_EQ(text_of(completion_of(data, 1)), " yes");
  EXPECT_FALSE(data.candidate(0).right);
  EXPECT_TRUE(data.candidate(1).right);
  EXPECT_TRUE(data.candidate(2).right);
}

TEST(PrepareEvaluation, ErrorsNameTheLine) {
  DatasetFolder folder("evaluation-errors");
  const auto complaint = [&](DataFormat format, const std::string& line) {
    folder.text("a.jsonl", "\n" + line + "\n");
    try {
      prepare_dataset({.out = folder.path() / "set", .format = format, .files = {folder.path() / "a.jsonl"}});
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(complaint(DataFormat::lambada, "{\"text\": \"word\"}"), HasSubstr("a.jsonl:2: /text: found \"word\""));
  EXPECT_THAT(complaint(DataFormat::lambada, "{\"text\": \"  word \"}"), HasSubstr("the last word must follow others"));
  EXPECT_THAT(complaint(DataFormat::lambada, "{\"text\": 3}"), HasSubstr("a.jsonl:2: /text: found 3"));
  EXPECT_THAT(complaint(DataFormat::lambada, "[]"), HasSubstr("a.jsonl:2: found [] where an object"));
  EXPECT_THAT(
      complaint(DataFormat::boolq, "{\"question\": \"q\", \"passage\": \"p\"}"),
      HasSubstr("a.jsonl:2: the key 'answer' is missing; a line of boolq has 'question', 'passage' and 'answer'"));
  EXPECT_THAT(complaint(DataFormat::boolq, "{\"question\": \"q\", \"passage\": \"p\", \"answer\": \"yes\"}"),
              HasSubstr("a.jsonl:2: /answer: found \"yes\" where true or false"));
  EXPECT_THAT(complaint(DataFormat::boolq, "{\"passage\": \"p\", \"answer\": true}"),
              HasSubstr("the key 'question' is missing; a line of boolq has"));
  EXPECT_THAT(complaint(DataFormat::lambada, "{}"), HasSubstr("the key 'text' is missing; a line of lambada has"));
}

TEST(PrepareText, ValidationFilesAreSpreadEvenly) {
  DatasetFolder folder("fraction");
  std::vector<fs::path> files;
  for (int i = 0; i < 8; ++i) {
    folder.text(std::to_string(i), std::string(1, static_cast<char>('0' + i)));
    files.push_back(folder.path() / std::to_string(i));
  }
  const auto prepared = prepare_dataset({.out = folder.path() / "set", .validation_fraction = 0.25, .files = files});
  EXPECT_EQ(prepared.train.sequences, 6);
  spec::FlatTokens validation(folder.path() / "set", spec::kValidationSplit);
  ASSERT_EQ(validation.sequences(), 2);
  EXPECT_THAT(validation.sequence(0), testing::ElementsAre('3'));
  EXPECT_THAT(validation.sequence(1), testing::ElementsAre('7'));
}

TEST(PrepareLines, EachLineIsAPromptAndItsCompletion) {
  DatasetFolder folder("lines");
  folder.text("a.jsonl", R"({"prompt": [1, 2], "completion": [3]})"
                         "\n\n"
                         R"({"completion": [300, 0], "prompt": [7]})"
                         "\r\n");
  folder.text("b.jsonl", R"({"prompt": [4], "completion": [5]})");
  folder.text("none.jsonl", "\n");
  const auto out = folder.path() / "set";
  const auto prepared =
      prepare_dataset({.out = out,
                       .validation_fraction = 0.34,
                       .format = DataFormat::jsonl,
                       .files = {folder.path() / "a.jsonl", folder.path() / "none.jsonl", folder.path() / "b.jsonl"}});
  EXPECT_EQ(prepared.train.sequences, 2);
  EXPECT_EQ(prepared.train.tokens, 6);
  EXPECT_EQ(prepared.validation.sequences, 1);
  EXPECT_EQ(prepared.vocab_size, 301);
  EXPECT_EQ(prepared.empty, 0);
  spec::InstructionTokens train(out, spec::kTrainSplit);
  EXPECT_THAT(train.document(0).ids, testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(train.document(0).prompt_tokens, 2);
  EXPECT_THAT(train.document(1).ids, testing::ElementsAre(7, 300, 0));
  EXPECT_EQ(train.document(1).prompt_tokens, 1);
  spec::InstructionTokens validation(out, spec::kValidationSplit);
  EXPECT_THAT(validation.document(0).ids, testing::ElementsAre(4, 5));
}

// The format of C4, for example; other keys of a line are ignored.
TEST(PrepareLines, TextsAreTargetsAsAWhole) {
  DatasetFolder folder("text-lines");
  folder.text("c4.jsonl", R"({"text": "a\u00e9", "url": "http://x"})"
                          "\n"
                          R"({"text": ""})"
                          "\n"
                          R"({"text": "b", "timestamp": 1})"
                          "\n");
  const auto out = folder.path() / "set";
  const auto prepared = prepare_dataset(
      {.out = out, .validation_fraction = 0, .format = DataFormat::jsonl, .files = {folder.path() / "c4.jsonl"}});
  EXPECT_EQ(prepared.vocab_size, 256);
  EXPECT_EQ(prepared.empty, 1);
  EXPECT_FALSE(prepared.prompted);
  spec::FlatTokens train(out, spec::kTrainSplit);
  ASSERT_EQ(train.sequences(), 2);
  EXPECT_EQ(train.max_token_id(), 255);
  EXPECT_THAT(train.sequence(0), testing::ElementsAre('a', 0xC3, 0xA9));
  EXPECT_THAT(train.sequence(1), testing::ElementsAre('b'));
}

// Texts of nine MiB are tokenized in several batches, each on all cores.
TEST(PrepareLines, LongDataKeepsItsOrder) {
  DatasetFolder folder("long");
  constexpr std::size_t kLines = 300;
  const auto text_of_line = [](std::size_t i) {
    return std::to_string(i) + std::string(20'000 + 100 * (i % 17), static_cast<char>('a' + i % 26));
  };
  std::string lines;
  for (std::size_t i = 0; i < kLines; ++i) lines += "{\"text\": \"" + text_of_line(i) + "\"}\n";
  const auto file = folder.path() / "a.jsonl";
  std::int64_t read = 0;
  const auto prepare = [&](const char* out) {
    return prepare_dataset({.out = folder.path() / out,
                            .validation_fraction = 0,
                            .format = DataFormat::jsonl,
                            .files = {file},
                            .progress = [&](std::int64_t bytes) {
                              EXPECT_GT(bytes, read);
                              read = bytes;
                            }});
  };
  folder.text("a.jsonl", lines);
  ASSERT_EQ(prepare("set").train.sequences, std::int64_t{kLines});
  EXPECT_EQ(read, std::ssize(lines));
  spec::FlatTokens train(folder.path() / "set", spec::kTrainSplit);
  for (std::size_t i = 0; i < kLines; ++i) {
    const auto expected = text_of_line(i);
    const auto ids = train.sequence(static_cast<std::int64_t>(i));
    ASSERT_EQ(std::string(ids.begin(), ids.end()), expected) << "line " << i + 1;
  }
  // If several lines are wrong, the first one is named, whichever thread finds its mistake first.
  read = 0;
  folder.text("a.jsonl", lines + "{}\n" + lines + "[]\n");
  try {
    prepare("wrong");
    FAIL() << "line 301 has no document";
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), HasSubstr("a.jsonl:301: "));
  }
}

TEST(PrepareLines, SayHowMuchOfTheFilesWasRead) {
  DatasetFolder folder("progress");
  folder.text("a.jsonl", "{\"text\": \"a\"}\n{\"text\": \"\"}\n");
  folder.text("b.txt", "abc");
  std::vector<std::int64_t> read;
  const auto note = [&](std::int64_t bytes) { read.push_back(bytes); };
  prepare_dataset({.out = folder.path() / "lines",
                   .format = DataFormat::jsonl,
                   .files = {folder.path() / "a.jsonl"},
                   .progress = note});
  prepare_dataset({.out = folder.path() / "texts", .files = {folder.path() / "b.txt"}, .progress = note});
  EXPECT_THAT(read, testing::ElementsAre(14, 14 + 13, 3));
}

TEST(PrepareLines, PromptsAndCompletionsMayBeTexts) {
  DatasetFolder folder("prompted-lines");
  folder.text("a.jsonl", R"({"prompt": "ab", "completion": "c", "id": 7})");
  const auto out = folder.path() / "set";
  const auto prepared = prepare_dataset(
      {.out = out, .validation_fraction = 0, .format = DataFormat::jsonl, .files = {folder.path() / "a.jsonl"}});
  EXPECT_EQ(prepared.vocab_size, 256);
  EXPECT_TRUE(prepared.prompted);
  spec::InstructionTokens train(out, spec::kTrainSplit);
  EXPECT_THAT(train.document(0).ids, testing::ElementsAre('a', 'b', 'c'));
  EXPECT_EQ(train.document(0).prompt_tokens, 2);
}

TEST(PrepareLines, AWrongLineIsNamed) {
  DatasetFolder folder("bad-lines");
  const auto complaint = [&](const std::string& line) -> std::string {
    folder.text("a.jsonl", R"({"prompt": [1], "completion": [2]})"
                           "\n\n" +
                               line + "\n");
    try {
      prepare_dataset(
          {.out = folder.path() / "set", .format = DataFormat::jsonl, .files = {folder.path() / "a.jsonl"}});
    } catch (const InputError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_THAT(complaint("{"), HasSubstr("a.jsonl:3: not JSON"));
  EXPECT_THAT(complaint("[1]"), HasSubstr("a.jsonl:3: found [1] where an object"));
  EXPECT_THAT(complaint(R"({"prompt": [1]})"), HasSubstr("a.jsonl:3: the key 'completion' is missing"));
  EXPECT_THAT(complaint(R"({"prompt": [1, -1], "completion": [2]})"), HasSubstr("a.jsonl:3: /prompt/1: found -1"));
  EXPECT_THAT(complaint(R"({"prompt": [1.5], "completion": [2]})"), HasSubstr("a.jsonl:3: /prompt/0: found 1.5"));
  EXPECT_THAT(complaint(R"({"prompt": [1], "completion": [2147483648]})"),
              HasSubstr("a.jsonl:3: /completion/0: found 2147483648"));
  EXPECT_THAT(complaint(R"({"prompt": 1, "completion": [2]})"), HasSubstr("a.jsonl:3: /prompt: found 1 where"));
  EXPECT_THAT(complaint(R"({"prompt": "text", "completion": [2]})"), HasSubstr("a.jsonl:3: one of prompt and"));
  EXPECT_THAT(complaint(R"({"prompt": [], "completion": [2]})"), HasSubstr("a.jsonl:3: /prompt: is empty"));
  EXPECT_THAT(complaint(R"({"prompt": [1], "completion": []})"), HasSubstr("a.jsonl:3: /completion: is empty"));
  EXPECT_THAT(complaint(R"({"text": ["a"]})"), HasSubstr("a.jsonl:3: /text: found [\"a\"] where"));
  EXPECT_THAT(complaint(R"({"text": "a"})"), HasSubstr("a.jsonl:3: is of another kind"));
  EXPECT_THAT(complaint(R"({"prompt": "a", "completion": "b"})"),
              HasSubstr("which are prompts and completions as ids"));
  EXPECT_FALSE(fs::exists(folder.path() / "set"));
  folder.text("none.jsonl", "\n");
  EXPECT_THROW(
      prepare_dataset(
          {.out = folder.path() / "set", .format = DataFormat::jsonl, .files = {folder.path() / "none.jsonl"}}),
      InputError);
  EXPECT_THROW(
      prepare_dataset({.out = folder.path() / "set", .format = DataFormat::jsonl, .files = {folder.path() / "absent"}}),
      InputError);
}

TEST(DataCommand, PreparesShowsAndRefuses) {
  DatasetFolder folder("command");
  write_texts(folder);
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench", "data"});
    return run_process({.command = arguments,
                        .working_dir = folder.path(),
                        .environment = {{"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR}}});
  };
  const auto made = run({"prepare", "--out", "set", "b"});
  EXPECT_EQ(made.exit_code, 0) << made.error_output;
  const auto shown = run({"show", "set"});
  EXPECT_EQ(shown.exit_code, 0) << shown.error_output;
  EXPECT_THAT(shown.output, HasSubstr("train: 6 tokens in 3 sequences"));
  EXPECT_THAT(shown.output, HasSubstr("max_token_id 255"));
  const auto again = run({"prepare", "--out", "set", "b"});
  EXPECT_EQ(again.exit_code, 3);
  EXPECT_THAT(again.error_output, HasSubstr("already exists"));
  EXPECT_EQ(run({"show", "absent"}).exit_code, 3);
  EXPECT_EQ(run({"prepare", "--out", "other"}).exit_code, 3) << "no text named";
  folder.text("lines.jsonl", R"({"prompt": [1, 2], "completion": [3]})");
  const auto lines =
      run({"prepare", "--out", "lines", "--format", "jsonl", "--validation-fraction", "0", "lines.jsonl"});
  EXPECT_EQ(lines.exit_code, 0) << lines.error_output;
  EXPECT_THAT(lines.output,
              HasSubstr("lines is ready: task sft, data.kind instruction, data.path lines, model.vocab_size 4"));
  EXPECT_THAT(run({"show", "lines"}).output,
              HasSubstr("train: 3 tokens in 1 sequences\n  max_token_id 3\n  2 tokens of prompts"));
  EXPECT_EQ(run({"prepare", "--out", "other", "--format", "jsonl", "--corpus", "debian"}).exit_code, 3);
}

}  // namespace
}  // namespace perfbench::harness
