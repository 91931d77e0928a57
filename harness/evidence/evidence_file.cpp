#include "harness/evidence/evidence_file.h"

#include "workloads/spec/regular_file.h"

namespace perfbench::harness {

std::optional<std::string> document_text(const std::filesystem::path& file) {
  try {
    auto text = spec::read_regular_file(file, spec::kLargestDocumentBytes);
    if (text && text->empty()) throw DamagedFile(file.filename().string() + " is empty");
    return text;
  } catch (const spec::FileError& e) {
    throw DamagedFile(file.filename().string() + " " + e.trouble());
  }
}

void refuse_damaged(const std::filesystem::path& file, const spec::NotJson& error) {
  throw DamagedFile(file.filename().string() + " was cut off or damaged: " + error.what());
}

}  // namespace perfbench::harness
