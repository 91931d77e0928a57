#include "harness/store/archive/archive.h"

#include <fmt/core.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include "harness/evidence/output_file.h"
#include "harness/system/files.h"
#include "harness/system/input_error.h"
#include "harness/system/sha256.h"
#include "workloads/spec/fields_json.h"
#include "workloads/spec/regular_file.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace {

struct FreeCompressor {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};
struct FreeDecompressor {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

std::size_t check_stream(std::size_t code) {
  if (ZSTD_isError(code) != 0) throw ZstdError(std::string("zstd: ") + ZSTD_getErrorName(code));
  return code;
}

}  // namespace

void zstd_compress(const ByteSource& source, const ByteSink& sink) {
  const std::unique_ptr<ZSTD_CCtx, FreeCompressor> context(ZSTD_createCCtx());
  std::string out(ZSTD_CStreamOutSize(), '\0');
  std::string in;
  bool done = false;
  while (!done) {
    source(in);
    const auto mode = in.empty() ? ZSTD_e_end : ZSTD_e_continue;
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    bool taken = false;  // whether all of `in` was taken and, at the end, all buffered output was written
    while (!taken) {
      ZSTD_outBuffer output{out.data(), out.size(), 0};
      const auto left = check_stream(ZSTD_compressStream2(context.get(), &output, &input, mode));
      sink({out.data(), output.pos});
      taken = mode == ZSTD_e_end ? left == 0 : input.pos == input.size;
    }
    done = mode == ZSTD_e_end;
  }
}

void zstd_decompress(const ByteSource& source, const ByteSink& sink) {
  const std::unique_ptr<ZSTD_DCtx, FreeDecompressor> context(ZSTD_createDCtx());
  std::string out(ZSTD_DStreamOutSize(), '\0');
  std::string in;
  std::size_t wanted = 1;  // 0 at the end of the frame
  for (source(in); !in.empty(); source(in)) {
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    bool more = true;  // whether `in` has more, or one output buffer was too small
    while (more) {
      if (wanted == 0 && input.pos < input.size) throw ZstdError("zstd: there are bytes after the frame");
      ZSTD_outBuffer output{out.data(), out.size(), 0};
      wanted = check_stream(ZSTD_decompressStream(context.get(), &output, &input));
      sink({out.data(), output.pos});
      more = input.pos < input.size || (output.pos == output.size && wanted != 0);
    }
  }
  if (wanted != 0) throw ZstdError("zstd: the frame has no end");
}

namespace fs = std::filesystem;
namespace {

constexpr std::string_view kMagic = "perfbench-export ";
constexpr std::string_view kSumLabel = "sha256 ";
constexpr std::size_t kSumDigits = 64;
constexpr std::size_t kLastLineBytes = kSumLabel.size() + kSumDigits + 1;
constexpr std::size_t kLongestHeader = 4096;
constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
constexpr std::int64_t kNewestVersion = 2;

[[noreturn]] void reject_archive(const fs::path& file, const std::string& what) {
  throw InputError("[import] " + file.string() + " " + what);
}

// Reads a range of a file in pieces.
class FileBytes {
 public:
  FileBytes(const fs::path& file, std::uint64_t begin, std::uint64_t end)
      : file_(file), in_(file, std::ios::binary), left_(end - begin) {
    in_.seekg(static_cast<std::streamoff>(begin));
    if (!in_) reject_archive(file, "cannot be read: " + std::string(std::strerror(errno)));
  }
  void next(std::string& bytes) {
    bytes.resize(std::min<std::uint64_t>(left_, kChunkBytes));
    in_.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!in_) reject_archive(file_, "became shorter while it was read");
    left_ -= bytes.size();
  }

 private:
  fs::path file_;
  std::ifstream in_;
  std::uint64_t left_;
};

class FileSink {
 public:
  explicit FileSink(const fs::path& file) : file_(file), out_(file, std::ios::binary) { check_stream(); }
  void write(std::string_view bytes) {
    out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    check_stream();
  }
  void close() {
    out_.close();
    check_stream();
  }

 private:
  void check_stream() const {
    if (!out_) throw std::runtime_error("writing " + file_.string() + " failed: " + std::strerror(errno));
  }
  fs::path file_;
  std::ofstream out_;
};

std::string read_stretch(const fs::path& file, std::uint64_t begin, std::uint64_t end) {
  std::string bytes;
  FileBytes(file, begin, end).next(bytes);
  return bytes;
}

std::uint64_t size_of(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  if (error) reject_archive(file, "cannot be read: " + error.message());
  return size;
}

// The start of the last line. Throws unless that line has the checksum of everything before it.
std::uint64_t checked_end(const fs::path& file, std::uint64_t size) {
  const auto end = size - std::min<std::uint64_t>(size, kLastLineBytes);
  const auto last = read_stretch(file, end, size);
  if (!last.starts_with(kSumLabel) || !last.ends_with('\n')) {
    reject_archive(file, "does not end with its checksum: it was cut off or modified; copy or export it again");
  }
  const auto stated = last.substr(kSumLabel.size(), kSumDigits);
  Sha256 sum;
  FileBytes contents(file, 0, end);
  std::string bytes;
  for (contents.next(bytes); !bytes.empty(); contents.next(bytes)) sum.add(bytes);
  const auto found = sum.hex();
  if (found != stated) {
    reject_archive(
        file,
        fmt::format("is damaged: its contents have SHA-256 {}, but its last line says {}; copy or export it again",
                    found, stated));
  }
  return end;
}

ArchiveHeader parse_header(const fs::path& file, std::string_view line) {
  try {
    const auto json = spec::parse_json(line.substr(kMagic.size()));
    const auto version = json.value("version", std::int64_t{0});
    if (version == 1) {
      reject_archive(file,
                     "is of version 1 of the format, which was in use before perfbench 0.1.0, and cannot be read. "
                     "Export again from a database that `perfbench ingest` made of the run directories");
    }
    if (version > kNewestVersion) {
      reject_archive(
          file,
          fmt::format("has version {} of the format, but this perfbench knows versions up to {}; use a newer perfbench",
                      version, kNewestVersion));
    }
    return spec::fields_from_json<ArchiveHeader>(json, spec::Missing::is_error);
  } catch (const spec::SpecError& e) {
    reject_archive(file, std::string("has a first line that is not a valid header: ") + e.what());
  } catch (const spec::Json::exception& e) {
    reject_archive(file, std::string("has a first line that is not a valid header: ") + e.what());
  }
}

}  // namespace

bool is_archive(const fs::path& file) {
  try {
    const auto opened = spec::RegularFile::open(file);
    std::string start(kMagic.size(), '\0');
    return opened && opened->read_at(0, start.data(), start.size()) == start.size() && start == kMagic;
  } catch (const spec::FileError&) {
    return false;
  }
}

void write_archive(const ArchiveHeader& header, const fs::path& payload, const fs::path& file) {
  const auto place = output_place(file);
  const TemporaryFile part(place.unfinished_stem(), "part");
  FileSink out(part.path());
  Sha256 sum;
  const auto write = [&](std::string_view bytes) {
    sum.add(bytes);
    out.write(bytes);
  };
  write(std::string(kMagic) + spec::json_line(spec::fields_to_json(header)) + "\n");
  FileBytes contents(payload, 0, size_of(payload));
  zstd_compress([&](std::string& bytes) { contents.next(bytes); }, write);
  out.write(std::string(kSumLabel) + sum.hex() + "\n");
  out.close();
  move_to_output(part.path(), place);
}

CheckedArchive::CheckedArchive(const fs::path& file) : file_(file), size_(size_of(file)) {
  if (!is_archive(file)) reject_archive(file, "is not a file of `perfbench export`");
  end_ = checked_end(file, size_);
  const auto start = read_stretch(file, 0, std::min<std::uint64_t>(end_, kLongestHeader));
  const auto newline = start.find('\n');
  if (newline == std::string::npos) reject_archive(file, "has no header");
  begin_ = newline + 1;
  header_ = parse_header(file, std::string_view(start).substr(0, newline));
}

// Data that compresses much better than records could be made to fill a disk or to waste time.
void CheckedArchive::unpack(std::uint64_t most_bytes, const ByteSink& sink) const {
  const auto limit = most_bytes > 0 ? most_bytes : std::max(kUnpackedAlways, size_ * kUnpackedTimes);
  std::uint64_t unpacked = 0;
  FileBytes frame(file_, begin_, end_);
  const auto bounded = [&](std::string_view bytes) {
    unpacked += bytes.size();
    if (unpacked > limit) {
      reject_archive(file_, fmt::format("unpacks to more than {} bytes, which is unusual for an export of its size; if "
                                        "it is correct, allow more with --unpacked-limit",
                                        limit));
    }
    sink(bytes);
  };
  try {
    zstd_decompress([&](std::string& bytes) { frame.next(bytes); }, bounded);
  } catch (const ZstdError& e) {
    reject_archive(file_, std::string("cannot be unpacked: ") + e.what());
  }
}

}  // namespace perfbench::harness
