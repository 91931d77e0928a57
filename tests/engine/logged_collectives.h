// The communication that a rank of a mesh was told to do, and the other ranks in it: derived from mesh_spec.h alone,
// not from the engine's Mesh.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/parallel/collectives.h"
#include "engine/train/trainer.h"
#include "workloads/spec/mesh_spec.h"

namespace perfbench::engine {

inline constexpr std::array kAxesOfALevel{Axis::pp, Axis::dp, Axis::fsdp, Axis::ep, Axis::tp};
inline constexpr std::size_t kPlaces = 2 * kAxesOfALevel.size();

// Places along dcn's axes, then along ici's.
using Place = std::array<std::int64_t, kPlaces>;

// A mesh as mesh_spec.h says: ranks are row-major over its ten axes.
class Grid {
 public:
  explicit Grid(const spec::MeshSpec& mesh) {
    std::size_t next = 0;
    for (const auto& level : {mesh.dcn, mesh.ici}) {
      for (const auto size : {level.pp, level.dp, level.fsdp, level.ep, level.tp}) sizes_[next++] = size;
    }
  }
  Place place(std::int64_t rank) const {
    Place out{};
    for (std::size_t i = kPlaces; i-- > 0;) {
      out[i] = rank % sizes_[i];
      rank /= sizes_[i];
    }
    return out;
  }
  std::int64_t rank(const Place& place) const {
    std::int64_t out = 0;
    for (std::size_t i = 0; i < kPlaces; ++i) out = out * sizes_[i] + place[i];
    return out;
  }
  // `i` is the place among the ten axes.
  bool is_along(std::size_t i, const MeshGroup& group) const {
    const auto& axes = i < kAxesOfALevel.size() ? group.dcn : group.ici;
    return axes.has(kAxesOfALevel[i % kAxesOfALevel.size()]);
  }
  std::int64_t ranks(const MeshGroup& group) const {
    std::int64_t out = 1;
    for (std::size_t i = 0; i < kPlaces; ++i) out *= is_along(i, group) ? sizes_[i] : 1;
    return out;
  }
  // Stages inside a node follow each other.
  std::int64_t stage(std::int64_t rank) const {
    const auto at = place(rank);
    return at[kDcnPp] * sizes_[kIciPp] + at[kIciPp];
  }
  std::int64_t on_stage(std::int64_t rank, std::int64_t stage) const {
    auto at = place(rank);
    at[kDcnPp] = stage / sizes_[kIciPp];
    at[kIciPp] = stage % sizes_[kIciPp];
    return this->rank(at);
  }
  // Whether this is the first among the ranks that differ only along these axes.
  bool is_first(std::int64_t rank, AxisSet axes) const {
    const auto at = place(rank);
    for (std::size_t i = 0; i < kPlaces; ++i) {
      if (is_along(i, {axes, axes}) && at[i] != 0) return false;
    }
    return true;
  }
  bool on_one_node(std::int64_t a, std::int64_t b) const {
    const auto x = place(a);
    const auto y = place(b);
    return std::equal(x.begin(), x.begin() + kIciPp, y.begin());
  }

 private:
  static constexpr std::size_t kDcnPp = 0;
  static constexpr std::size_t kIciPp = kAxesOfALevel.size();
  Place sizes_{};
};

// One message or collective, and the bytes of its whole buffer.
struct Call {
  std::string what;
  std::int64_t bytes = 0;
  auto operator<=>(const Call&) const = default;  // NOLINT(modernize-use-nullptr): of what it expands to
};

// The communication that a rank was told to do, in order.
struct CallLog {
  std::map<Channel, std::vector<Call>> collectives;
  std::map<Heading, std::vector<std::int64_t>> sent;
  std::map<Heading, std::vector<std::int64_t>> received;
};

class LoggedCollectives final : public Collectives {
 public:
  LoggedCollectives(const Mesh& mesh, const spec::RunSpec& run, CallLog& log)
      : Collectives(mesh, communication(run)), log_(log) {}

 private:
  using Nothing = std::unique_ptr<Pending::State>;
  Nothing note(const Channel& channel, const char* what, const TensorView& whole) {
    log_.collectives[channel].push_back({what, whole.bytes()});
    return nullptr;
  }
  Nothing do_all_gather(const Channel& c, TensorView full, TensorView) override { return note(c, "all_gather", full); }
  Nothing do_reduce_scatter(const Channel& c, TensorView, TensorView full) override {
    return note(c, "reduce_scatter", full);
  }
  Nothing do_all_to_all(const Channel& c, TensorView, TensorView in) override { return note(c, "all_to_all", in); }
  Nothing do_all_reduce(const Channel& c, TensorView buffer) override { return note(c, "all_reduce", buffer); }
  Nothing do_all_reduce_max(const Channel& c, TensorView buffer) override { return note(c, "all_reduce", buffer); }
  Nothing do_send(Axis, Heading heading, TensorView buffer) override {
    log_.sent[heading].push_back(buffer.bytes());
    return nullptr;
  }
  Nothing do_receive(Axis, Heading heading, TensorView buffer) override {
    log_.received[heading].push_back(buffer.bytes());
    return nullptr;
  }
  Nothing do_copy(TensorView, TensorView) override { return nullptr; }

  CallLog& log_;
};

}  // namespace perfbench::engine
