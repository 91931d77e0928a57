// oneDNN's products. It uses the same OpenMP runtime as this library; inside a parallel region products run on the
// calling thread.
#include <omp.h>

#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <tuple>

#include "engine/core/error.h"
#include "engine/ops/cpu/matmul_provider.h"

namespace perfbench::engine::cpu {
namespace {

using Matrix = dnnl::memory::desc;

Matrix matrix(std::int64_t rows, std::int64_t columns, std::int64_t row_step, std::int64_t column_step) {
  return {{rows, columns}, dnnl::memory::data_type::f32, dnnl::memory::dims{row_step, column_step}};
}

// One shape of a b^T, computed by the library's matmul primitive.
class TransposedProduct {
 public:
  explicit TransposedProduct(const SgemmArgs& s)
      : engine_(dnnl::engine::kind::cpu, 0),
        stream_(engine_),
        a_(matrix(s.m, s.k, s.a_stride, 1), engine_, nullptr),
        b_(matrix(s.k, s.n, 1, s.b_stride), engine_, nullptr),
        c_(matrix(s.m, s.n, s.c_stride, 1), engine_, nullptr),
        product_(described()) {}

  void operator()(const SgemmArgs& s) {
    a_.set_data_handle(const_cast<float*>(s.a));
    b_.set_data_handle(const_cast<float*>(s.b));
    c_.set_data_handle(s.c);
    product_.execute(stream_, {{DNNL_ARG_SRC, a_}, {DNNL_ARG_WEIGHTS, b_}, {DNNL_ARG_DST, c_}});
    stream_.wait();
  }

 private:
  dnnl::matmul::primitive_desc described() const {
#if DNNL_VERSION_MAJOR >= 3
    return {engine_, a_.get_desc(), b_.get_desc(), c_.get_desc()};
#else
    return {dnnl::matmul::desc(a_.get_desc(), b_.get_desc(), c_.get_desc()), engine_};
#endif
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::memory a_;
  dnnl::memory b_;
  dnnl::memory c_;
  dnnl::matmul product_;
};

// sgemm copies a transposed b into the order of its kernel. This is slow if rows are a multiple of a page apart (they
// share cache sets), and with few rows of a it is not amortised. The primitive does not copy. Otherwise sgemm is
// faster. Measured by product_benchmark: tests/benchmarks/README.md.
bool primitive_is_faster(const SgemmArgs& s) {
  // Builds for SYCL have no CPU engine if no driver lists the CPU; their sgemm works nevertheless.
  static const bool has_primitives = dnnl::engine::get_count(dnnl::engine::kind::cpu) > 0;
  if (!has_primitives) return false;
  constexpr std::int64_t kPage = 4096 / sizeof(float);
  if (s.factor != 1.0F) return false;  // primitives are made without a factor
  return s.m <= 256 || (s.b_stride % kPage == 0 && s.m <= 1024);
}

// A run has few shapes. A primitive is made for a certain number of threads.
void transposed_product(const SgemmArgs& s) {
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, int>;
  thread_local std::map<Key, TransposedProduct> products;
  const Key key{s.m, s.n, s.k, s.a_stride, s.b_stride, s.c_stride, omp_get_max_threads()};
  auto found = products.find(key);
  if (found == products.end()) found = products.try_emplace(key, s).first;
  found->second(s);
}

dnnl_status_t sgemm(const SgemmArgs& s) {
  const char transpose_a = s.transpose_a == Transpose::yes ? 'T' : 'N';
  const char transpose_b = s.transpose_b == Transpose::yes ? 'T' : 'N';
  const float beta = s.write == Write::accumulate ? 1.0F : 0.0F;
  return dnnl_sgemm(transpose_a, transpose_b, s.m, s.n, s.k, s.factor, s.a, s.a_stride, s.b, s.b_stride, beta, s.c,
                    s.c_stride);
}

[[noreturn]] void refuse(const SgemmArgs& s, dnnl_status_t status) {
  const std::string what = "oneDNN: the product of " + std::to_string(s.m) + " x " + std::to_string(s.k) + " and " +
                           std::to_string(s.k) + " x " + std::to_string(s.n);
  if (status == dnnl_out_of_memory) throw OutOfMemory(what + " found no memory");
  throw LogicFault(what + " failed with status " + std::to_string(status));
}

void onednn_sgemm(const SgemmArgs& s) {
  const bool transposed_b = s.transpose_a == Transpose::no && s.transpose_b == Transpose::yes;
  if (!transposed_b || s.write == Write::accumulate || omp_in_parallel() != 0 || !primitive_is_faster(s)) {
    if (const auto status = sgemm(s); status != dnnl_success) refuse(s, status);
    return;
  }
  try {
    transposed_product(s);
  } catch (const dnnl::error& error) {
    refuse(s, error.status);
  }
}

std::string onednn_version() {
  const auto* v = dnnl_version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

}  // namespace

const MatmulProvider* onednn_provider() {
  static const MatmulProvider provider{"onednn", onednn_sgemm, onednn_version};
  return &provider;
}

}  // namespace perfbench::engine::cpu
