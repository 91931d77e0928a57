// Values of environment variables that must be in no file that perfbench keeps: keys and passwords.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace perfbench::adapter {

// Whether a variable of this name holds a secret: HF_TOKEN, WANDB_API_KEY, DB_PASSWORD; not TOKENIZERS_PARALLELISM.
bool is_secret_name(std::string_view variable);

// The values in an environment ("NAME=value" each) that are secrets and long enough to be told from other text.
std::vector<std::string> secret_values(const char* const* environment);

// Replaces secrets in a stream of text, those that lie across two chunks too.
class Redactor {
 public:
  explicit Redactor(std::vector<std::string> secrets);

  // What of the stream can be shown so far; a view that is valid until the next call.
  std::string_view add(std::string_view chunk);
  std::string_view finish();

 private:
  std::vector<std::string> secrets_;
  std::size_t longest_ = 0;
  std::string held_;  // the end of the stream so far, which may begin a secret
  std::string shown_;
};

}  // namespace perfbench::adapter
