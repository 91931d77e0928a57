// The cpu backend, which records what is rounded to 8 bits and the products that read it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/element_type.h"
#include "tests/engine/training.h"

namespace perfbench::engine {

// The log of one step.
struct Fp8Log {
  struct Rounding {
    const void* codes = nullptr;  // their address
    std::int64_t bytes = 0;
    DType format = DType::e4m3;
    const void* inverse_scale = nullptr;
    float scale = 0;
    bool holds(const RowsView& operand, const TensorView& scale_of_operand) const {
      const auto* const first = static_cast<const char*>(codes);
      const auto* const at = operand.as<const char>();
      return at >= first && at < first + bytes && operand.dtype == format && scale_of_operand.data == inverse_scale;
    }
  };
  struct Product {
    FlopPart part = FlopPart::feed_forward;
    Pass pass = Pass::first;
    DType a = DType::f32;
    DType b = DType::f32;
    bool reads_what_was_rounded = false;  // the last rounding into the memory of each operand
  };
  std::vector<Product> products;
  std::map<const void*, float> scales;             // by the address of the state's amax: the scale that was used
  std::map<const void*, double> amaxes;            // maximum over all that was rounded with the state
  std::vector<std::vector<float>> updated_scales;  // for each call, in order

 private:
  friend class Fp8Ops;
  std::vector<Rounding> roundings_;
};

class Fp8Ops final : public cpu::CpuOps {
 public:
  explicit Fp8Ops(Fp8Log& log) : log_(log) {}

 private:
  void do_quantize(const QuantizeArgs& args) override {
    CpuOps::do_quantize(args);
    for (const auto& [out, in] : args.tensors) {
      auto& most = log_.amaxes[args.state.amax.data];
      for (std::int64_t r = 0; r < in.shape[0]; ++r) {
        for (std::int64_t c = 0; c < in.shape[1]; ++c) {
          most = std::max(most, std::abs(static_cast<double>(cpu::to_f32(row_of<const cpu::Bf16>(in, r)[c]))));
        }
      }
      const std::int64_t bytes = (out.shape[0] - 1) * out.stride + out.shape[1];
      log_.roundings_.push_back({out.data, bytes, out.dtype, args.state.inverse_scale.data});
    }
    log_.scales[args.state.amax.data] = *args.state.scale.as<const float>();
  }

  void do_update_scales(const UpdateScalesArgs& args) override {
    CpuOps::do_update_scales(args);
    log_.updated_scales.push_back(to_host(args.scale_S));
  }

  void do_matmul(const MatmulArgs& args) override {
    CpuOps::do_matmul(args);
    log_.products.push_back({args.part, pass(), args.a.dtype, args.b.dtype,
                             was_rounded(args.a, args.inverse_scale_a) && was_rounded(args.b, args.inverse_scale_b)});
  }

  // Buffers are reused: the last rounding that wrote there counts.
  bool was_rounded(const RowsView& operand, const TensorView& inverse_scale) const {
    return std::any_of(log_.roundings_.rbegin(), log_.roundings_.rend(),
                       [&](const auto& rounding) { return rounding.holds(operand, inverse_scale); });
  }

  Fp8Log& log_;
};

// A training whose steps are recorded.
class LoggedFp8Run {
 public:
  explicit LoggedFp8Run(const spec::RunSpec& run, std::unique_ptr<Collectives> collectives = make_single_collectives())
      : run_(run), assembly_(run_, backend(std::move(collectives)), {.data = {.tokens = make_token_source(run_)}}) {}

  const Fp8Log& step() {
    log_ = {};
    assembly_.trainer().step(next_++);
    return log_;
  }
  Trainer& trainer() { return assembly_.trainer(); }

 private:
  Backend backend(std::unique_ptr<Collectives> collectives) {
    Backend made = make_training_backend(run_, collectives->mesh().rank());
    made.ops = std::make_unique<Fp8Ops>(log_);
    made.collectives = std::move(collectives);
    return made;
  }

  spec::RunSpec run_;
  Fp8Log log_;
  Assembly assembly_;
  std::int64_t next_ = 0;
};

}  // namespace perfbench::engine
