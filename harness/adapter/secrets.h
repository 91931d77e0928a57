// Values of environment variables that must not get into any file that perfbench keeps: keys and passwords.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace perfbench::adapter {

// Whether a variable of this name holds a secret. True for HF_TOKEN, WANDB_API_KEY, DB_PASSWORD; false for
// TOKENIZERS_PARALLELISM.
bool is_secret_name(std::string_view variable);

// The values in an environment (entries "NAME=value") that are secrets and long enough to be distinguished from other
// text.
std::vector<std::string> secret_values(const char* const* environment);

// Replaces secrets in a stream of text, including those that span two chunks.
class Redactor {
 public:
  explicit Redactor(std::vector<std::string> secrets);

  // Returns the part of the stream that can be shown so far; the view is valid until the next call.
  std::string_view add(std::string_view chunk);
  std::string_view finish();

 private:
  std::vector<std::string> secrets_;
  std::size_t longest_ = 0;
  std::string held_;  // the end of the stream so far, which may begin a secret
  std::string shown_;
};

}  // namespace perfbench::adapter
