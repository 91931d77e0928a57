// Times the operations of a step, each with the sizes that it has there:
//     perfbench-engine dry --operations --forms RUN.json > step.json
//     perfbench-micro --step=step.json --benchmark_filter=^step/
// The counter `calls` says how often the step does it: the sum of time x calls is the step without its host work. A row
// with an error is an operation without a benchmark.
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/micro/operand.h"
#include "workloads/spec/enum_names.h"
#include "workloads/spec/operation_work.h"

namespace perfbench::micro {
namespace {

using engine::DType;
using engine::Shape;
using engine::TensorView;
using engine::Transpose;
using spec::OperationWork;
using spec::TraceOp;

constexpr std::int64_t kLongestSequence = 1024;  // for the positions of rope and embeddings, which cost no time

// The operands of one call and what makes it.
class Call {
 public:
  explicit Call(const OperationWork& work) : work_(work), dtype_(work.dtype == "bf16" ? DType::bf16 : DType::f32) {
    if (work.dtype == engine::dtype_name(dtype_)) build();
  }
  bool is_known() const { return static_cast<bool>(run_); }
  void operator()() const { run_(); }

 private:
  std::int64_t dim(std::size_t i) const {
    if (i >= work_.dims.size()) throw std::runtime_error("the row does not say its sizes");
    return work_.dims[i];
  }
  template <class Kind>
  Kind kind_of() const {
    const auto kind = spec::enum_value<Kind>(work_.kind);
    if (!kind) throw std::runtime_error("unknown kind '" + work_.kind + "'");
    return *kind;
  }
  TensorView floats(DType dtype, Shape shape, double std = 1.0) {
    operands_.push_back(std::make_unique<Operand>(*ops_, dtype, shape, std));
    return operands_.back()->view();
  }
  TensorView stored(Shape shape) { return floats(dtype_, shape); }
  TensorView ids(std::int64_t count, std::int64_t below) {
    operands_.push_back(std::make_unique<Operand>(Shape{count}, static_cast<std::int32_t>(below)));
    return operands_.back()->view();
  }

  void build() {
    switch (work_.operation) {
      case TraceOp::matmul:
        return product();
      case TraceOp::attention_forward:
      case TraceOp::attention_backward:
        return attention();
      case TraceOp::norm_forward:
      case TraceOp::norm_apply:
      case TraceOp::norm_backward:
        return norm();
      case TraceOp::activation_forward:
      case TraceOp::activation_backward:
        return activation();
      case TraceOp::embedding_forward:
      case TraceOp::embedding_backward:
      case TraceOp::cross_entropy:
        return ends_of_the_model();
      case TraceOp::adamw:
        return update();
      default:
        return rows_and_elements();
    }
  }

  void product() {
    if (work_.kind.size() != 2) throw std::runtime_error("unknown kind '" + work_.kind + "'");
    const auto ta = work_.kind[0] == 'T' ? Transpose::yes : Transpose::no;
    const auto tb = work_.kind[1] == 'T' ? Transpose::yes : Transpose::no;
    const std::int64_t m = dim(0);
    const std::int64_t n = dim(1);
    const std::int64_t k = dim(2);
    const auto a = stored(ta == Transpose::yes ? Shape{k, m} : Shape{m, k});
    const auto b = stored(tb == Transpose::yes ? Shape{n, k} : Shape{k, n});
    // A gradient of a weight is f32.
    const auto c = ta == Transpose::yes ? floats(DType::f32, {m, n}) : stored({m, n});
    run_ = [this, a, b, c, ta, tb] { ops_->matmul({.a = a, .b = b, .c = c, .transpose_a = ta, .transpose_b = tb}); };
  }

  void attention() {
    const auto kind = kind_of<spec::AttentionKind>();
    const engine::AttentionDims dims{
        .batch = dim(0), .seq_len = dim(1), .n_heads = dim(2), .n_kv_heads = dim(3), .head_dim = dim(4)};
    const bool full = kind == spec::AttentionKind::dot_product;
    const Shape scores{dims.batch, dims.n_heads, dims.seq_len, dims.seq_len};
    const Shape of_q{dims.batch * dims.seq_len, dims.n_heads * dims.head_dim};
    const Shape of_kv{dims.batch * dims.seq_len, dims.n_kv_heads * dims.head_dim};
    const engine::AttentionForwardArgs forward{
        .context = stored(of_q),
        .logsumexp_BHT = floats(DType::f32, {dims.batch, dims.n_heads, dims.seq_len}),
        .weights_BHTT = full ? stored(scores) : TensorView{},
        .query = stored(of_q),
        .key = stored(of_kv),
        .value = stored(of_kv),
        .dims = dims,
        .kind = kind};
    if (work_.operation == TraceOp::attention_forward) {
      run_ = [this, forward] { ops_->attention_forward(forward); };
      return;
    }
    ops_->attention_forward(forward);
    const engine::AttentionBackwardArgs backward{.dquery = stored(of_q),
                                                 .dkey = stored(of_kv),
                                                 .dvalue = stored(of_kv),
                                                 .dcontext = stored(of_q),
                                                 .query = forward.query,
                                                 .key = forward.key,
                                                 .value = forward.value,
                                                 .context = forward.context,
                                                 .logsumexp_BHT = forward.logsumexp_BHT,
                                                 .weights_BHTT = forward.weights_BHTT,
                                                 .dweights_BHTT = full ? stored(scores) : TensorView{},
                                                 .dims = dims,
                                                 .kind = kind};
    run_ = [this, backward] { ops_->attention_backward(backward); };
  }

  void norm() {
    const auto kind = kind_of<spec::NormKind>();
    const Shape shape{dim(0), dim(1)};
    const auto x = stored(shape);
    const auto weight = stored({dim(1)});
    const std::int64_t moments = kind == spec::NormKind::layernorm ? 2 : 1;
    const auto statistics = floats(DType::f32, {moments, dim(0)});
    const engine::NormForwardArgs forward{
        .y_NM = stored(shape), .statistics = statistics, .x_NM = x, .weight_M = weight, .kind = kind};
    ops_->norm_forward(forward);
    if (work_.operation == TraceOp::norm_forward) run_ = [this, forward] { ops_->norm_forward(forward); };
    if (work_.operation == TraceOp::norm_apply) run_ = [this, forward] { ops_->norm_apply(forward); };
    if (work_.operation != TraceOp::norm_backward) return;
    const engine::NormBackwardArgs backward{.dx_NM = stored(shape),
                                            .dweight_M = floats(DType::f32, {dim(1)}),
                                            .dy_NM = stored(shape),
                                            .x_NM = x,
                                            .statistics = statistics,
                                            .weight_M = weight,
                                            .kind = kind};
    run_ = [this, backward] { ops_->norm_backward(backward); };
  }

  void activation() {
    const auto kind = kind_of<spec::Activation>();
    const Shape shape{dim(0), dim(1)};
    const auto gate = spec::is_gated(kind) ? stored(shape) : TensorView{};
    const auto up = stored(shape);
    const auto product = stored(shape);
    if (work_.operation == TraceOp::activation_forward) {
      run_ = [this, gate, up, product, kind] {
        ops_->activation_forward({.product_NF = product, .gate_NF = gate, .up_NF = up, .kind = kind});
      };
      return;
    }
    run_ = [this, gate, up, product, kind] {
      ops_->activation_backward({.gate_NF = gate, .up_NF = up, .dproduct_NF = product, .kind = kind});
    };
  }

  void ends_of_the_model() {
    const auto x = stored({dim(0), dim(1)});
    if (work_.operation == TraceOp::cross_entropy) {
      const auto losses = floats(DType::f32, {dim(0)});
      const auto targets = ids(dim(0), dim(1));
      run_ = [this, x, losses, targets] {
        ops_->cross_entropy({.losses_N = losses, .logits_NV = x, .targets_N = targets});
      };
      return;
    }
    const auto tokens = ids(dim(0), dim(2));
    if (work_.operation == TraceOp::embedding_forward) {
      const auto table = stored({dim(2), dim(1)});
      run_ = [this, x, tokens, table, length = dim(0)] {
        ops_->embedding_forward({.x_NM = x, .tokens_N = tokens, .table_VM = table, .seq_len = length});
      };
      return;
    }
    const auto dtable = floats(DType::f32, {dim(2), dim(1)});
    run_ = [this, x, tokens, dtable, length = dim(0)] {
      ops_->embedding_backward({.dtable_VM = dtable, .dx_NM = x, .tokens_N = tokens, .seq_len = length});
    };
  }

  void update() {
    if (dtype_ != DType::f32) return;  // moments in bf16 draw numbers
    const Shape shape{dim(0)};
    const auto factors = floats(DType::f64, {engine::kAdamwFactors});
    constexpr std::array<double, engine::kAdamwFactors> kFactors{1e-4, 0.1, 0.05, 1.0};  // those of a first step
    ops_->upload(factors, kFactors.data());
    tensor_ = {.weight = stored(shape),
               .gradient = stored(shape),
               .first_moment = stored(shape),
               .second_moment = stored(shape),
               .weight_decay = 0.1};
    ops_->fill(tensor_.second_moment, 1.0);
    run_ = [this, factors] { ops_->adamw({.tensors = {&tensor_, 1}, .factors = factors}); };
  }

  void rows_and_elements() {
    switch (work_.operation) {
      case TraceOp::bias_backward: {
        const auto dy = stored({dim(0), dim(1)});
        const auto dbias = floats(DType::f32, {dim(1)});
        run_ = [this, dy, dbias] { ops_->bias_backward(dbias, dy, engine::Write::accumulate); };
        return;
      }
      case TraceOp::rope: {
        const auto x = stored({dim(0), dim(1)});
        const auto table = floats(DType::f32, {std::min(dim(0), kLongestSequence), dim(2)}, 0.5);
        if (dim(0) % table.shape[0] != 0) return;
        run_ = [this, x, table, width = dim(2)] {
          ops_->rope({.x = x, .cos_sin_TD = table, .head_dim = width, .layout = spec::RopeLayout::half});
        };
        return;
      }
      case TraceOp::add: {
        const auto a = stored({dim(0)});
        const auto b = stored({dim(0)});
        run_ = [this, a, b] { ops_->add(a, a, b); };
        return;
      }
      case TraceOp::copy:
      case TraceOp::cast: {
        const bool casts = work_.operation == TraceOp::cast;
        const auto other = dtype_ == DType::f32 ? DType::bf16 : DType::f32;
        const auto from = stored({dim(0)});
        const auto to = floats(casts ? other : dtype_, {dim(0)});
        run_ = [this, from, to] { ops_->copy(to, from); };
        return;
      }
      case TraceOp::sum_of_squares: {
        tensor_.weight = stored({dim(0)});
        const auto out = floats(DType::f64, {1});
        run_ = [this, out] { ops_->sum_of_squares(out, {&tensor_.weight, 1}, engine::Write::overwrite); };
        return;
      }
      case TraceOp::fill: {
        const auto out = stored({dim(0)});
        run_ = [this, out] { ops_->fill(out, 0.0); };
        return;
      }
      default:
        return;
    }
  }

  OperationWork work_;
  DType dtype_;
  std::unique_ptr<engine::Ops> ops_ = engine::make_cpu_ops();
  std::vector<std::unique_ptr<Operand>> operands_;
  engine::AdamwTensor tensor_;
  std::function<void()> run_;
};

std::string name_of(const OperationWork& work) {
  auto out = "step/" + std::string(spec::enum_name(work.operation)) + "/" + work.dtype;
  if (!work.kind.empty()) out += "/" + work.kind;
  std::string sizes;
  for (const auto size : work.dims) sizes += (sizes.empty() ? "/" : "x") + std::to_string(size);
  return out + sizes + "/" + std::to_string(work.bytes / work.calls) + "B";
}

void time_call(benchmark::State& state, const OperationWork& work) {
  std::unique_ptr<const Call> call;
  std::string why_not = "there is no benchmark for this operation";
  try {
    call = std::make_unique<const Call>(work);
  } catch (const std::exception& e) {  // of a file that is not the engine's
    why_not = e.what();
  }
  if (!call || !call->is_known()) {
    state.SkipWithError(why_not.c_str());
    return;
  }
  for (auto _ : state) (*call)();
  const auto calls = static_cast<double>(work.calls);
  state.counters["calls"] = calls;
  if (work.flops > 0) report_flops(state, static_cast<double>(work.flops) / calls);
  report_bytes(state, static_cast<double>(work.bytes) / calls);
}

void register_step(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file);
  for (std::string line; std::getline(in, line);) {
    const auto step = spec::parse_dry_operations(line);
    if (!step.feasible) throw std::runtime_error(file + ": " + step.reason);
    for (const auto& work : step.operations) {
      if (work.calls == 0) continue;
      benchmark::RegisterBenchmark(name_of(work).c_str(), time_call, work)->UseRealTime();
    }
  }
}

}  // namespace
}  // namespace perfbench::micro

int main(int argc, char** argv) {
  constexpr std::string_view kStep = "--step=";
  std::vector<char*> rest;
  try {
    for (int i = 0; i < argc; ++i) {
      const std::string_view word = argv[i];
      if (word.starts_with(kStep)) {
        perfbench::micro::register_step(std::string(word.substr(kStep.size())));
      } else {
        rest.push_back(argv[i]);
      }
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "perfbench-micro: --step: %s\n", e.what());
    return 3;
  }
  int count = static_cast<int>(rest.size());
  benchmark::Initialize(&count, rest.data());
  if (benchmark::ReportUnrecognizedArguments(count, rest.data())) return 3;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
