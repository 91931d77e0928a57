// libFuzzer: any bytes as an export, with the matching checksum, are imported or are an InputError. Bytes that do not
// begin like an export are taken as the records in one: a zstd frame would hide most mutations from them.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "harness/store/archive/archive.h"
#include "harness/store/archive/transfer.h"
#include "harness/system/input_error.h"
#include "harness/system/run_id.h"

namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("perfbench-fuzz-" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace perfbench::harness;
  static const Folder kFolder;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto file = kFolder.path() / "export";
  if (bytes.starts_with("perfbench-export ")) {
    std::ofstream(file, std::ios::binary) << bytes << "sha256 " << sha256_hex(bytes) << '\n';
  } else {
    const auto records = kFolder.path() / "records";
    std::ofstream(records, std::ios::binary) << bytes;
    write_archive({}, records, file);
  }
  const auto db = kFolder.path() / "a.db";
  try {
    import_runs(db, file);
  } catch (const InputError&) {
    // An expected error.
  }
  fs::remove(db);
  return 0;
}
