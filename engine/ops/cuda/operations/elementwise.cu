// add, a bias on every row, sums of parts, copy and conversion, fill, upload.
#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/cuda/device/flat.cuh"

namespace perfbench::engine::cuda {
namespace {

template <class T, class Other>
__global__ void add_kernel(T* out, const T* a, const Other* b, std::int64_t elements, Access access) {
  constexpr int N = kVector<T>;
  for_each_vector<N>(elements, [&](std::int64_t first, std::int64_t count) {
    float x[N];
    float y[N];
    load(a + first, count, access, x);
    load(b + first, count, access, y);
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] += y[i];
    store(out + first, count, access, x);
  });
}

template <class T>
__global__ void add_bias_kernel(float* c, const T* bias, RowExtent extent, std::int64_t stride, Access access) {
  constexpr int N = kVector<float>;
  for_each_vector_of_rows<N>(extent, [&](std::int64_t row, std::int64_t first, std::int64_t count) {
    float x[N];
    float b[N];
    load(c + row * stride + first, count, access, x);
    load(bias + first, count, Access::element, b);
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] += b[i];
    store(c + row * stride + first, count, access, x);
  });
}

template <class T>
__global__ void round_rows_kernel(T* out, const float* in, RowExtent extent, std::int64_t stride, Access access) {
  constexpr int N = kVector<T>;
  for_each_vector_of_rows<N>(extent, [&](std::int64_t row, std::int64_t first, std::int64_t count) {
    float x[N];
    load(in + row * extent.width + first, count, access, x);
    store(out + row * stride + first, count, access, x);
  });
}

template <class T>
__global__ void sum_parts_kernel(T* out, const T* parts, std::int64_t elements, std::int64_t count, Access access) {
  constexpr int N = kVector<T>;
  for_each_vector<N>(elements, [&](std::int64_t first, std::int64_t left) {
    float sum[N];
    load(parts + first, left, access, sum);
    for (std::int64_t part = 1; part < count; ++part) {
      float x[N];
      load(parts + part * elements + first, left, access, x);
#pragma unroll
      for (int i = 0; i < N; ++i) sum[i] += x[i];
    }
    store(out + first, left, access, sum);
  });
}

// As wide as a vector of the narrower type.
template <class To, class From>
__global__ void convert_kernel(To* out, const From* in, std::int64_t elements, Access access) {
  constexpr int N = kVector<Bf16>;
  for_each_vector<N>(elements, [&](std::int64_t first, std::int64_t count) {
    float x[N];
    load(in + first, count, access, x);
    store(out + first, count, access, x);
  });
}

template <class T>
__global__ void fill_kernel(T* out, std::int64_t elements, T value, Access access) {
  constexpr int N = kVector<T>;
  Pack<T, N> pack;
  for (int i = 0; i < N; ++i) pack.at[i] = value;
  for_each_vector<N>(elements, [&](std::int64_t first, std::int64_t count) {
    if (access == Access::vector && count == N) {
      *reinterpret_cast<Pack<T, N>*>(out + first) = pack;
      return;
    }
    for (std::int64_t i = first; i < first + count; ++i) out[i] = value;
  });
}

template <class T>
void fill_with(const TensorView& out, T value, cudaStream_t stream) {
  launch("fill", fill_kernel<T>, flat_shape(out.elements(), kVector<T>, stream), out.as<T>(), out.elements(), value,
         access_of({out.data}, 0, 1));
}

}  // namespace

void CudaOps::do_add(TensorView out, TensorView a, TensorView b) {
  with_element_type(out.dtype, [&]<class T>() {
    const auto launch_with = [&]<class Other>(const Other* other) {
      launch("add", add_kernel<T, Other>, flat_shape(out.elements(), kVector<T>, stream()), out.as<T>(),
             a.as<const T>(), other, out.elements(), access_of({out.data, a.data, b.data}, 0, 1));
    };
    if (b.dtype == out.dtype) {
      launch_with(b.as<const T>());
    } else {
      launch_with(b.as<const float>());
    }
  });
}

void CudaOps::add_bias(RowsView c, TensorView bias_n) {
  const RowExtent extent = rows_of(c.shape);
  with_element_type(bias_n.dtype, [&]<class T>() {
    launch("add_bias", add_bias_kernel<T>, rows_shape(extent, kVector<float>, stream()), c.as<float>(),
           bias_n.as<const T>(), extent, c.stride, access_of({c.data}, c.stride, kVector<float>));
  });
}

void CudaOps::round_rows(RowsView out, TensorView in) {
  const RowExtent extent = out.is_dense() ? one_row(out.shape) : rows_of(out.shape);
  const std::int64_t step = extent.rows == 1 ? 0 : std::gcd(out.stride, extent.width);
  with_element_type(out.dtype, [&]<class T>() {
    launch("convert", round_rows_kernel<T>, rows_shape(extent, kVector<T>, stream()), out.as<T>(), in.as<const float>(),
           extent, out.stride, access_of({out.data, in.data}, step, kVector<T>));
  });
}

void CudaOps::do_sum_parts(TensorView out, TensorView parts) {
  const std::int64_t elements = out.elements();
  with_element_type(out.dtype, [&]<class T>() {
    launch("sum_parts", sum_parts_kernel<T>, flat_shape(elements, kVector<T>, stream()), out.as<T>(),
           parts.as<const T>(), elements, parts.elements() / elements,
           access_of({out.data, parts.data}, elements, kVector<T>));
  });
}

void CudaOps::do_copy(TensorView out, TensorView in) {
  if (out.dtype == in.dtype) {
    if (out.data == in.data) return;
    cuda_check(cudaMemcpyAsync(out.data, in.data, static_cast<std::size_t>(out.bytes()), cudaMemcpyDefault, stream()),
               "cudaMemcpyAsync");
    return;
  }
  with_element_type(out.dtype, [&]<class To>() {
    with_element_type(in.dtype, [&]<class From>() {
      launch("convert", convert_kernel<To, From>, flat_shape(out.elements(), kVector<Bf16>, stream()), out.as<To>(),
             in.as<const From>(), out.elements(), access_of({out.data, in.data}, 0, 1));
    });
  });
}

void CudaOps::do_fill(TensorView out, double value) {
  switch (out.dtype) {
    case DType::f32:
      return fill_with(out, static_cast<float>(value), stream());
    case DType::bf16:
      return fill_with(out, __float2bfloat16_rn(static_cast<float>(value)), stream());
    case DType::f64:
      return fill_with(out, value, stream());
    case DType::i32:
      return fill_with(out, static_cast<std::int32_t>(value), stream());
    case DType::e4m3:
    case DType::e5m2:
      break;
  }
  throw LogicFault("fill: the cuda kernels do not write " + std::string(dtype_name(out.dtype)));
}

void CudaOps::do_upload(TensorView out, const void* from) {
  staging_.upload(out.data, from, out.bytes(), stream());
}

}  // namespace perfbench::engine::cuda
