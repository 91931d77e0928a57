#include "engine/parallel/collectives.h"
#include "engine/parallel/local_copy.h"

namespace perfbench::engine {
namespace {

class SingleCollectives : public Collectives {
 public:
  SingleCollectives() : Collectives(Mesh(spec::MeshSpec{}, 0)) {}

 private:
  std::unique_ptr<Pending::State> do_all_gather(MeshAxis, TensorView full, TensorView shard) override {
    local_copy(full, shard);
    return nullptr;
  }
  std::unique_ptr<Pending::State> do_reduce_scatter(MeshAxis, TensorView shard, TensorView full) override {
    local_copy(shard, full);
    return nullptr;
  }
  std::unique_ptr<Pending::State> do_all_reduce(MeshAxis, TensorView) override { return nullptr; }
};

}  // namespace

std::unique_ptr<Collectives> make_single_collectives() {
  return std::make_unique<SingleCollectives>();
}

}  // namespace perfbench::engine
