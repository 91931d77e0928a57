#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>
#include <sys/stat.h>

#include <memory>

#include "harness/app/data/prepare.h"
#include "harness/app/data/tokenizer.h"
#include "harness/system/input_error.h"
#include "tests/datasets/dataset_folder.h"
#include "workloads/datasets/flat_tokens.h"
#include "workloads/datasets/instruction_tokens.h"

namespace perfbench::harness {
namespace {

using spec::DatasetFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(ByteTokenizer, HasATokenForEachByte) {
  const auto tokenizer = make_byte_tokenizer();
  EXPECT_EQ(tokenizer->vocabulary(), 256);
  EXPECT_THAT(tokenizer->tokens_of(std::string_view("a\0\xFF", 3)), ElementsAre('a', 0, 255));
  EXPECT_TRUE(tokenizer->tokens_of("").empty());
  EXPECT_FALSE(tokenizer->begin() || tokenizer->end());
}

class SentencePieceTokenizer : public testing::Test {
 protected:
  // Each character is a piece of its own, so the tokens of a text are known without the library.
  std::filesystem::path trained(const std::string& settings) {
    folder_.text("sentences", "abc cab\nbca\na b c\n");
    const auto prefix = folder_.path() / "a";
    const auto status = sentencepiece::SentencePieceTrainer::Train(
        "--model_type=char --hard_vocab_limit=false --minloglevel=2 --input=" +
        (folder_.path() / "sentences").string() + " --model_prefix=" + prefix.string() + " " + settings);
    EXPECT_TRUE(status.ok()) << status.ToString();
    const auto file = prefix.string() + ".model";
    processor_.LoadOrDie(file);
    return file;
  }
  int id(const char* piece) const { return processor_.PieceToId(piece); }

  DatasetFolder folder_{"tokenizer"};
  sentencepiece::SentencePieceProcessor processor_;
};

// A pipe would block for ever, and a device could be read for ever.
TEST_F(SentencePieceTokenizer, IsReadOnlyFromARegularFile) {
  folder_.text("a", "");  // the folder is there
  const auto pipe = folder_.path() / "pipe.model";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT([&] { make_sentencepiece_tokenizer(pipe); },
              ThrowsMessage<InputError>(AllOf(HasSubstr("--tokenizer"), HasSubstr("pipe.model is a pipe"))));
  EXPECT_THAT([] { make_sentencepiece_tokenizer("/dev/zero"); }, ThrowsMessage<InputError>(HasSubstr("/dev/zero is ")));
  EXPECT_THAT([&] { make_sentencepiece_tokenizer(folder_.path() / "absent"); },
              ThrowsMessage<InputError>(HasSubstr("absent does not exist")));
}

TEST_F(SentencePieceTokenizer, HasTheModelsPieces) {
  const auto tokenizer = make_sentencepiece_tokenizer(trained("--unk_id=0 --bos_id=1 --eos_id=2"));
  EXPECT_EQ(tokenizer->vocabulary(), 3 + 4) << "unknown, begin, end, a space, three letters";
  const int space = id("\u2581");
  EXPECT_THAT(tokenizer->tokens_of("ab c"), ElementsAre(space, id("a"), id("b"), space, id("c")));
  EXPECT_THAT(tokenizer->tokens_of("az"), ElementsAre(space, id("a"), 0));
  EXPECT_TRUE(tokenizer->tokens_of("").empty());
  EXPECT_EQ(tokenizer->begin(), 1);
  EXPECT_EQ(tokenizer->end(), 2);
}

TEST_F(SentencePieceTokenizer, BeginsAndEndsADocumentOnce) {
  const auto model = trained("--unk_id=0 --bos_id=1 --eos_id=2");
  const int space = id("\u2581");
  folder_.text("a.jsonl", R"({"prompt": "a", "completion": "b"})");
  folder_.text("b.jsonl", R"({"text": "c"})");
  const auto prepare = [&](const char* out, const char* file) {
    const auto prepared = prepare_dataset({.out = folder_.path() / out,
                                           .validation_fraction = 0,
                                           .format = DataFormat::jsonl,
                                           .tokenizer = model,
                                           .files = {folder_.path() / file}});
    EXPECT_EQ(prepared.vocab_size, 7);
  };
  prepare("prompted", "a.jsonl");
  spec::InstructionTokens prompted(folder_.path() / "prompted", spec::kTrainSplit);
  EXPECT_THAT(prompted.document(0).ids, ElementsAre(1, space, id("a"), space, id("b"), 2));
  EXPECT_EQ(prompted.document(0).prompt_tokens, 3);
  prepare("texts", "b.jsonl");
  spec::FlatTokens texts(folder_.path() / "texts", spec::kTrainSplit);
  EXPECT_THAT(texts.sequence(0), ElementsAre(1, space, id("c"), 2));
}

TEST_F(SentencePieceTokenizer, AModelWithoutMarkersHasNeitherBeginNorEnd) {
  const auto tokenizer = make_sentencepiece_tokenizer(trained("--unk_id=0 --bos_id=-1 --eos_id=-1"));
  EXPECT_THAT(tokenizer->tokens_of("a"), ElementsAre(id("\u2581"), id("a")));
  EXPECT_FALSE(tokenizer->begin() || tokenizer->end());
}

TEST_F(SentencePieceTokenizer, NamesAFileThatIsNotAModel) {
  folder_.text("b.model", "not a model");
  for (const char* name : {"b.model", "absent.model"}) {
    EXPECT_THAT([&] { make_sentencepiece_tokenizer(folder_.path() / name); },
                ThrowsMessage<InputError>(HasSubstr(name)));
  }
}

}  // namespace
}  // namespace perfbench::harness
