// The scores of a trained model on files in the formats of LAMBADA and BoolQ, from the files to accuracy and
// perplexity, compared with a second reader of the same files and plain loops in f64 over the same weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/data/run_data.h"
#include "engine/train/assembly.h"
#include "tests/datasets/dataset_folder.h"
#include "tests/engine/engine_program.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/oracle/llama_decoder.h"
#include "tests/engine/training.h"

namespace perfbench::engine {
namespace {

// A byte is a token. Half of the questions are trained on; the other half resemble these but have different answers.
struct Asked {
  std::string prompt;
  std::vector<std::string> candidates;  // if there is one: whether it is the greedy choice
  std::size_t right = 0;
  bool trained = false;
};

std::vector<Asked> words() {
  return {{"ice is", {" cold"}, 0, true},
          {"fire is", {" hot"}, 0, true},
          {"a cat is an", {" animal"}, 0, true},
          {"tea is", {" green"}},
          {"an oak is a", {" tree"}}};
}

struct Question {
  std::string passage;
  std::string question;
  bool answer = false;
  bool trained = false;
};

// The last question contradicts the training; others are misled by their similarity to trained ones. So there are wrong
// answers of both kinds.
std::vector<Question> questions() {
  return {{"Ice is cold.", "is ice cold", true, true},
          {"Ice is cold.", "is ice warm", false, true},
          {"A cat purrs.", "is a cat loud", false, true},
          {"A fly flies.", "can a fly fly", true},
          {"Ice is wet.", "is ice hot", true},
          {"A dog barks.", "is a dog loud", true},
          {"Ice is cold.", "is ice cold", false}};
}

std::vector<Asked> asked_of(const std::vector<Question>& questions) {
  std::vector<Asked> out;
  for (const auto& q : questions) {
    out.push_back({q.passage + "\nQuestion: " + q.question + "?\nAnswer:",
                   {" no", " yes"},
                   q.answer ? std::size_t{1} : std::size_t{0},
                   q.trained});
  }
  return out;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '\n' ? "\\n" : std::string(1, c);
  return out + "\"";
}

// `perfbench data prepare` makes each data set.
class IndependentScores : public testing::Test {
 protected:
  void SetUp() override {
    std::string of_words;
    std::string of_questions;
    std::string training;
    for (const auto& word : words()) of_words += "{\"text\": " + quoted(word.prompt + word.candidates[0]) + "}\n";
    for (const auto& q : questions()) {
      of_questions += "{\"passage\": " + quoted(q.passage) + ", \"question\": " + quoted(q.question) +
                      ", \"answer\": " + (q.answer ? "true" : "false") + "}\n";
    }
    for (const auto& set : {words(), asked_of(questions())}) {
      for (const auto& asked : set) {
        if (!asked.trained) continue;
        training += "{\"prompt\": " + quoted(asked.prompt) +
                    ", \"completion\": " + quoted(asked.candidates[asked.right]) + "}\n";
      }
    }
    prepare("lambada", {"lambada"}, of_words);
    prepare("boolq", {"boolq"}, of_questions);
    prepare("training", {"jsonl", "--validation-fraction", "0"}, training);
  }

  void prepare(const std::string& name, std::vector<std::string> format, const std::string& lines) {
    folder_.text(name + ".jsonl", lines);
    std::vector<std::string> command{PERFBENCH_FILE,        "data",    "prepare", "--out", path(name),
                                     path(name) + ".jsonl", "--format"};
    command.insert(command.end(), format.begin(), format.end());
    const auto said = lines_of_program(std::move(command));
    ASSERT_TRUE(std::filesystem::exists(folder_.path() / name)) << (said.empty() ? "" : said.back());
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  spec::RunSpec tuned(const std::string& evaluated) const {
    auto run = llama_tiny();
    run.model.vocab_size = 256;
    run.task = spec::Task::sft;
    run.data = {.kind = spec::DataKind::instruction, .path = path("training")};
    run.evaluation.path = path(evaluated);
    run.seq_len = 64;
    run.global_batch = 4;
    run.steps = 40;
    return run;
  }

  spec::DatasetFolder folder_{"independent-scores"};
};

// A score, with its possible deviation in f32. A logit is off by at most kSumsInOtherOrder of the largest one
// (training.h); the logarithm of a softmax is then off by at most twice that.
struct Score {
  double log_likelihood = 0;
  double within = 0;
  bool greedy = true;
};

Score score(const oracle::LlamaDecoder& decoder, const std::string& prompt, const std::string& completion) {
  const std::string text = prompt + completion;
  const auto logits = decoder.logits(std::vector<std::int32_t>(text.begin(), text.end() - 1));
  Score out;
  for (std::size_t at = prompt.size(); at < text.size(); ++at) {
    const auto& row = logits[at - 1];
    const auto target = static_cast<std::size_t>(text[at]);
    double sum = 0;
    double largest = 0;
    double other = -INFINITY;
    for (std::size_t v = 0; v < row.size(); ++v) {
      sum += std::exp(row[v]);
      largest = std::max(largest, std::abs(row[v]));
      if (v != target) other = std::max(other, row[v]);
    }
    const double within = 2 * kSumsInOtherOrder * largest;
    EXPECT_GT(std::abs(row[target] - other), within) << "a near tie after '" << text.substr(0, at) << "'";
    out.log_likelihood += row[target] - std::log(sum);
    out.within += within;
    out.greedy = out.greedy && row[target] > other;
  }
  return out;
}

struct Totals {
  double nll = 0;
  double within = 0;
  double tokens = 0;
  double right = 0;
  double asked = 0;
};

// The perplexity covers the right answers.
Totals score_all(const oracle::LlamaDecoder& decoder, const std::vector<Asked>& set) {
  Totals out;
  for (const auto& asked : set) {
    std::vector<Score> scores;
    for (const auto& candidate : asked.candidates) scores.push_back(score(decoder, asked.prompt, candidate));
    const auto& right = scores[asked.right];
    bool likeliest = true;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (i == asked.right) continue;
      const double ahead = right.log_likelihood - scores[i].log_likelihood;
      EXPECT_GT(std::abs(ahead), right.within + scores[i].within) << "a near tie of the answers to " << asked.prompt;
      likeliest = likeliest && ahead > 0;
    }
    out.nll -= right.log_likelihood;
    out.within += right.within;
    out.tokens += static_cast<double>(asked.candidates[asked.right].size());
    out.right += (scores.size() == 1 ? right.greedy : likeliest) ? 1 : 0;
    out.asked += 1;
  }
  return out;
}

void expect_independent_scores(const spec::RunSpec& run, const std::vector<Asked>& set) {
  Backend backend = make_training_backend(run);
  backend.collectives = make_single_collectives();
  Assembly assembly(run, std::move(backend), {.data = make_run_data(run)});
  Trainer& trainer = assembly.trainer();
  for (std::int64_t step = 0; step < run.steps; ++step) trainer.step(step);
  for (std::int64_t step = 0; step < trainer.evaluator()->steps(); ++step) trainer.evaluator()->step(step);
  const auto found = trainer.evaluator()->result();

  const oracle::LlamaDecoder decoder(run.model, [&](const std::string& name) -> std::vector<float> {
    for (const auto& unit : trainer.parameters().units()) {
      for (const auto& p : unit.layout.parameters) {
        if (p.spec.name == name) return to_host(unit.weight.view().slice(p.offset, Shape{p.spec.elements()}));
      }
    }
    ADD_FAILURE() << "no parameter " << name;
    return {};
  });
  const auto want = score_all(decoder, set);
  EXPECT_EQ(found.accuracy, want.right / want.asked);
  EXPECT_GT(want.right, 0) << "nothing was learnt: any answer would do";
  EXPECT_LT(want.right, want.asked) << "all is right: any question would do";
  EXPECT_EQ(static_cast<double>(found.tokens), want.tokens);
  const double perplexity = std::exp(want.nll / want.tokens);
  EXPECT_NEAR(found.perplexity, perplexity, perplexity * std::expm1(want.within / want.tokens));
}

TEST_F(IndependentScores, LastWordsScoreAsPlainLoopsOverTheSameWeights) {
  expect_independent_scores(tuned("lambada"), words());
}

TEST_F(IndependentScores, AnswersScoreAsPlainLoopsOverTheSameWeights) {
  expect_independent_scores(tuned("boolq"), asked_of(questions()));
}

}  // namespace
}  // namespace perfbench::engine
