#include "engine/parallel/collectives.h"

namespace perfbench::engine {
namespace {

class DryCollectives : public Collectives {
 public:
  DryCollectives(const Mesh& mesh, std::span<const Declared> declared) : Collectives(mesh, declared) {}

 private:
  using Nothing = std::unique_ptr<Pending::State>;
  Nothing do_all_gather(const Channel& channel, TensorView, TensorView) override { return ran(channel); }
  Nothing do_reduce_scatter(const Channel& channel, TensorView, TensorView) override { return ran(channel); }
  Nothing do_all_to_all(const Channel& channel, TensorView, TensorView) override { return ran(channel); }
  Nothing do_all_reduce(const Channel& channel, TensorView) override { return ran(channel); }
  Nothing do_all_reduce_max(const Channel& channel, TensorView) override { return ran(channel); }
  Nothing do_send(Axis, Heading, TensorView) override { return waited_for(nullptr); }
  Nothing do_receive(Axis, Heading, TensorView) override { return waited_for(nullptr); }
  Nothing do_copy(TensorView, TensorView) override { return nullptr; }

  // Opens a span where the ranks of a host would have one.
  Nothing ran(const Channel& channel) const {
    const bool in_line = channel.lane == Lane::in_line;
    const ScopedSpan running(trace(), in_line ? TraceLane::schedule : TraceLane::communication, handed_over());
    return nullptr;
  }
};

}  // namespace

std::unique_ptr<Collectives> make_dry_collectives(const Mesh& mesh, std::span<const Declared> declared) {
  return std::make_unique<DryCollectives>(mesh, declared);
}

}  // namespace perfbench::engine
