// The cpu backend: every do_* stands in the file of its name. Storage f32 or bf16, arithmetic in f32, reductions in an
// order that is fixed by the shapes and not by the number of threads.
#pragma once

#include <map>
#include <string>

#include "engine/ops/cpu/scratch.h"
#include "engine/ops/ops.h"

namespace perfbench::engine {

// Of the libraries behind it, for the record of a run: library -> version ("onednn" -> "2.6.3"), and "matmul" -> the
// one that computes the products.
std::map<std::string, std::string> cpu_library_versions();

namespace cpu {

class CpuOps : public Ops {
 public:
  bool emulates(spec::Precision precision) const override;

 protected:
#define PERFBENCH_OVERRIDE(name, arguments) void do_##name arguments override;
  PERFBENCH_OPERATIONS(PERFBENCH_OVERRIDE)
#undef PERFBENCH_OVERRIDE
  std::unique_ptr<Pending::State> do_transfer(TensorView out, TensorView in) override;
  double do_read_f64(TensorView scalar) override;

 private:
  // d *= gelu'(preactivation), in its tanh form.
  static void multiply_by_gelu_slope(TensorView d, TensorView preactivation);

  Scratch scratch_;
};

}  // namespace cpu
}  // namespace perfbench::engine
