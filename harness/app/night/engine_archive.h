// The engines that measured the nights of a store, so that tonight's can be compared with any of them, and the control:
// an engine that stays the same while everything else changes.
//
//     FOLDER/<first 16 digits of the SHA-256>   an executable
//     FOLDER/libraries/<digits>/<name>          the libraries with which it computed (installation.h); the
//                                                                                         digits are a hash of their
//                                             names and contents
//     FOLDER/nights/<sweep id>                  the digits of that night's engine and of its libraries; older
//                                                                                         archives have no libraries
//     FOLDER/matrices/<sweep id>                the matrix of that night; older archives have none
//     FOLDER/control                            the same digits for the fixed engine
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/app/installation.h"
#include "harness/execute/launcher.h"

namespace perfbench::harness {

struct ArchivedEngine {
  EngineProgram program;     // without libraries if none were kept
  std::string problem = {};  // why it must not be run: gone, not executable, changed; empty: it may be run
};

class EngineArchive {
 public:
  explicit EngineArchive(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Archives `engine`, which measured that night of `matrix`. Throws RunDirectoryError if it cannot be read or the
  // archive cannot be written.
  void keep(const std::string& sweep_id, const std::string& matrix, const std::filesystem::path& engine) const;
  void set_control(const std::filesystem::path& engine) const;

  // nullopt for an unknown night, and if no control was chosen.
  std::optional<ArchivedEngine> of_night(const std::string& sweep_id) const;
  std::optional<ArchivedEngine> control() const;

  // Forgets all nights of each matrix except the newest (ids of sweeps sort by time) and those of `kept`, and then the
  // engines that no night names.
  void prune(std::size_t newest_nights, const std::set<std::string>& kept = {}) const;

 private:
  std::string add(const std::filesystem::path& engine) const;
  std::string add_libraries(const std::filesystem::path& engine) const;
  std::optional<ArchivedEngine> named_by(const std::filesystem::path& file) const;
  std::string digits_of(const std::vector<SharedLibrary>& libraries) const;
  std::string problem_of_libraries(const std::filesystem::path& folder, const std::string& digits) const;
  const std::string& digest_of(const std::filesystem::path& file) const;

  std::filesystem::path folder_;
  // Versions of libraries as they were last read: a night asks for the same ones many times.
  using Version = std::pair<std::filesystem::file_time_type, std::uintmax_t>;
  struct Digest {
    Version version;
    std::string sha256;
  };
  mutable std::map<std::filesystem::path, Digest> digests_;
};

}  // namespace perfbench::harness
