// The cpu backend: every do_* function is in the file with its name. Storage is f32 or bf16, arithmetic f32. The order
// of reductions depends on the shapes and not on the number of threads.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engine/ops/cpu/scratch.h"
#include "engine/ops/cpu_workspace.h"
#include "engine/ops/ops.h"

namespace perfbench::engine {

// The versions of the libraries used, for the record of a run: library -> version ("onednn" -> "2.6.3"), and "matmul"
// -> the library that computes the products.
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

  // Floats of the workspace, for one operation. Throws LogicFault if the plan (engine/ops/cpu_workspace.h) holds less.
  // Without a plan, as in tests and microbenchmarks, the buffer grows, which may throw OutOfMemory.
  float* workspace(std::int64_t floats, std::string_view op);
  // Lays out parts of workspace::cpu.
  template <class Parts, class... Dims>
  Parts place(std::string_view op, const Dims&... dims) {
    Carver carver(workspace(workspace::cpu::floats_of<Parts>(dims...), op));
    return Parts(carver, dims...);
  }
  // Computes the product without the epilogue.
  void multiply(const MatmulArgs& args);

  TensorView workspace_;
  FloatBuffer unplanned_;
  Scratch scratch_;
};

}  // namespace cpu
}  // namespace perfbench::engine
