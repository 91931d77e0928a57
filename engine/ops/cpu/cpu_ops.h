// The cpu backend: every do_* stands in the file of its name. Storage f32 or bf16, arithmetic in f32, reductions in an
// order that is fixed by the shapes and not by the number of threads.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engine/ops/cpu/scratch.h"
#include "engine/ops/cpu_workspace.h"
#include "engine/ops/ops.h"

namespace perfbench::engine {

// Of the libraries behind it, for the record of a run: library -> version ("onednn" -> "2.6.3"), and "matmul" -> the
// one that computes the products.
std::map<std::string, std::string> cpu_library_versions();

namespace cpu {

class CpuOps : public Ops {
 public:
  bool emulates(spec::Precision precision) const override;
  void use_workspace(TensorView workspace) override { workspace_ = workspace; }

 protected:
#define PERFBENCH_OVERRIDE(name, arguments) void do_##name arguments override;
  PERFBENCH_OPERATIONS(PERFBENCH_OVERRIDE)
#undef PERFBENCH_OVERRIDE
  std::unique_ptr<Pending::State> do_transfer(TensorView out, TensorView in) override;
  void do_read_f64(std::span<double> to, TensorView values) override;

 private:
  // d *= gelu'(preactivation), in its tanh form.
  static void multiply_by_gelu_slope(TensorView d, TensorView preactivation);

  // Floats of the workspace, for one operation. Throws LogicFault when the plan (engine/ops/cpu_workspace.h) holds
  // less. Without a plan, as in tests and microbenchmarks, it is a buffer that grows; throws OutOfMemory.
  float* workspace(std::int64_t floats, std::string_view op);
  // Parts of workspace::cpu.
  template <class Parts, class... Dims>
  Parts place(std::string_view op, const Dims&... dims) {
    Carver carver(workspace(workspace::cpu::floats_of<Parts>(dims...), op));
    return Parts(carver, dims...);
  }
  // Without the epilogue.
  void multiply(const MatmulArgs& args);

  TensorView workspace_;
  FloatBuffer unplanned_;
  Scratch scratch_;
};

}  // namespace cpu
}  // namespace perfbench::engine
