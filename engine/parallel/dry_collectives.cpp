#include "engine/parallel/collectives.h"

namespace perfbench::engine {
namespace {

class DryCollectives : public Collectives {
 public:
  explicit DryCollectives(const Mesh& mesh) : Collectives(mesh) {}

 private:
  std::unique_ptr<Pending::State> do_all_gather(MeshAxis, TensorView, TensorView) override { return nullptr; }
  std::unique_ptr<Pending::State> do_reduce_scatter(MeshAxis, TensorView, TensorView) override { return nullptr; }
  std::unique_ptr<Pending::State> do_all_reduce(MeshAxis, TensorView) override { return nullptr; }
};

}  // namespace

std::unique_ptr<Collectives> make_dry_collectives(const Mesh& mesh) {
  return std::make_unique<DryCollectives>(mesh);
}

}  // namespace perfbench::engine
