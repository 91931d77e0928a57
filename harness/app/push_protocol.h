// The protocol between `perfbench push` and `perfbench serve --accept`.
//
//     GET  /push/SHA256                         what has the server of the file with this hash?
//     POST /push/SHA256?offset=N&size=M  PART   the bytes of the file from N on; M is the size of the whole file
//
// Both answer with a PushStatus. A part that does not begin where the server's part of the file ends is not taken, and
// the answer says where it ends: so a client continues after a break. Requests are signed
// (harness/system/machine_keys.h). The server takes a complete file into its database at its own pace, and the client
// asks until that is done.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "workloads/spec/enum_names.h"
#include "workloads/spec/fields.h"

namespace perfbench::harness {

enum class PushState {
  receiving,  // the server has the first `have` bytes
  waiting,    // it has all of them, and has not taken them into its database yet
  stored,
  refused,  // the file is not valid: `reason`
};

constexpr std::int64_t kPushPartBytes = 128 * 1024;  // a request of the server is at most 256 KiB

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::PushState> {
  using S = perfbench::harness::PushState;
  static constexpr std::array kNames{std::pair{S::receiving, "receiving"}, std::pair{S::waiting, "waiting"},
                                     std::pair{S::stored, "stored"}, std::pair{S::refused, "refused"}};
};

namespace perfbench::harness {

struct PushStatus {
  PushState state = PushState::receiving;
  std::int64_t have = 0;     // bytes
  std::int64_t added = 0;    // attempts, once it is stored
  std::int64_t present = 0;  // attempts that the database had already
  std::string reason;        // of `refused`, or why it still waits

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    f(Field{"state", "what the server has done with the file"}, self.state);
    f(Field{"have", "bytes that the server has", 0}, self.have);
    f(Field{"added", "attempts that were added", 0}, self.added);
    f(Field{"present", "attempts that were there already", 0}, self.present);
    f(Field{"reason", "why it is refused, or waits"}, self.reason);
  }
};

}  // namespace perfbench::harness
