#include "engine/parallel/collectives.h"

namespace perfbench::engine {
namespace {

class DryCollectives : public Collectives {
 public:
  DryCollectives(const Mesh& mesh, std::span<const AxisSet> declared) : Collectives(mesh, declared) {}

 private:
  using Nothing = std::unique_ptr<Pending::State>;
  Nothing do_all_gather(const MeshGroup&, TensorView, TensorView) override { return nullptr; }
  Nothing do_reduce_scatter(const MeshGroup&, TensorView, TensorView) override { return nullptr; }
  Nothing do_all_reduce(const MeshGroup&, TensorView) override { return nullptr; }
  Nothing do_copy(TensorView, TensorView) override { return nullptr; }
};

}  // namespace

std::unique_ptr<Collectives> make_dry_collectives(const Mesh& mesh, std::span<const AxisSet> declared) {
  return std::make_unique<DryCollectives>(mesh, declared);
}

}  // namespace perfbench::engine
