// Moves rows to experts and back, with a block for each row, and computes the inputs of a gate's gradient.
#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/cuda/device/elements.cuh"
#include "engine/ops/cuda/device/launch_shapes.h"
#include "engine/ops/cuda/device/reductions.cuh"

namespace perfbench::engine::cuda {
namespace {

constexpr unsigned kExpertRowThreads = 256;

LaunchShape shape_of_rows(std::int64_t rows, std::int64_t width, int vector, cudaStream_t stream) {
  return {.grid = row_blocks(rows), .block = row_threads(width, vector, kExpertRowThreads), .stream = stream};
}

// Calls f(first, count) for the vectors of a row that belong to this thread.
template <int N, class F>
__device__ inline void for_each_row_vector(std::int64_t width, F f) {
  for (std::int64_t first = static_cast<std::int64_t>(threadIdx.x) * N; first < width;
       first += static_cast<std::int64_t>(blockDim.x) * N) {
    f(first, width - first);
  }
}

// `gates` may be null, meaning 1.
template <class T>
__global__ void dispatch_kernel(T* rows, const T* x, const std::int32_t* choices, const float* gates,
                                std::int64_t per_token, std::int64_t count, std::int64_t width, Access access) {
  constexpr int N = kVector<T>;
  for (std::int64_t row = blockIdx.x; row < count; row += gridDim.x) {
    const std::int32_t choice = choices[row];
    const float gate = choice < 0 ? 0.0F : gates == nullptr ? 1.0F : gates[choice];
    for_each_row_vector<N>(width, [&](std::int64_t first, std::int64_t left) {
      float v[N] = {};
      if (choice >= 0) load(x + choice / per_token * width + first, left, access, v);
#pragma unroll
      for (int i = 0; i < N; ++i) v[i] *= gate;
      store(rows + row * width + first, left, access, v);
    });
  }
}

template <class T>
__global__ void combine_kernel(T* x, const T* rows, const std::int32_t* row_of, const float* gates,
                               std::int64_t per_token, std::int64_t tokens, std::int64_t width, Write write,
                               Access access) {
  constexpr int N = kVector<T>;
  for (std::int64_t n = blockIdx.x; n < tokens; n += gridDim.x) {
    for_each_row_vector<N>(width, [&](std::int64_t first, std::int64_t left) {
      T* const out = x + n * width + first;
      float sum[N] = {};
      for (std::int64_t choice = n * per_token; choice < (n + 1) * per_token; ++choice) {
        const std::int32_t row = row_of[choice];
        if (row < 0) continue;
        const float gate = gates == nullptr ? 1.0F : gates[choice];
        float v[N];
        load(rows + row * width + first, left, access, v);
#pragma unroll
        for (int i = 0; i < N; ++i) sum[i] += gate * v[i];
      }
      if (write == Write::accumulate) {
        float held[N];
        load(out, left, access, held);
#pragma unroll
        for (int i = 0; i < N; ++i) sum[i] += held[i];
      }
      store(out, left, access, sum);
    });
  }
}

// One block for each choice.
template <class T>
__global__ void gates_backward_kernel(float* dgates, const T* dx, const T* rows, const std::int32_t* row_of,
                                      std::int64_t per_token, std::int64_t choices, std::int64_t width, Access access) {
  constexpr int N = kVector<T>;
  for (std::int64_t choice = blockIdx.x; choice < choices; choice += gridDim.x) {
    const std::int32_t row = row_of[choice];
    float sum = 0.0F;
    if (row >= 0) {
      for_each_row_vector<N>(width, [&](std::int64_t first, std::int64_t left) {
        float d[N];
        float v[N];
        load(dx + choice / per_token * width + first, left, access, d);
        load(rows + row * width + first, left, access, v);
#pragma unroll
        for (int i = 0; i < N; ++i) sum += d[i] * v[i];
      });
    }
    sum = sum_over_block(sum);
    if (threadIdx.x == 0) dgates[choice] = sum;
  }
}

}  // namespace

void CudaOps::do_dispatch(const DispatchArgs& args) {
  const std::int64_t count = args.rows_QM.shape[0];
  const std::int64_t width = args.rows_QM.shape[1];
  with_element_type(args.x_NM.dtype, [&]<class T>() {
    launch("dispatch", dispatch_kernel<T>, shape_of_rows(count, width, kVector<T>, stream()), args.rows_QM.as<T>(),
           args.x_NM.as<const T>(), args.choices_Q.as<const std::int32_t>(), args.gates_NC.as<const float>(),
           args.choices_per_token, count, width, access_of({args.rows_QM.data, args.x_NM.data}, width, kVector<T>));
  });
}

void CudaOps::do_combine(const CombineArgs& args) {
  const std::int64_t tokens = args.x_NM.shape[0];
  const std::int64_t width = args.x_NM.shape[1];
  with_element_type(args.x_NM.dtype, [&]<class T>() {
    launch("combine", combine_kernel<T>, shape_of_rows(tokens, width, kVector<T>, stream()), args.x_NM.as<T>(),
           args.rows_QM.as<const T>(), args.rows_NC.as<const std::int32_t>(), args.gates_NC.as<const float>(),
           args.rows_NC.shape[1], tokens, width, args.write,
           access_of({args.x_NM.data, args.rows_QM.data}, width, kVector<T>));
  });
}

void CudaOps::do_gates_backward(const GatesBackwardArgs& args) {
  const std::int64_t choices = args.rows_NC.elements();
  const std::int64_t width = args.dx_NM.shape[1];
  with_element_type(args.dx_NM.dtype, [&]<class T>() {
    launch("gates_backward", gates_backward_kernel<T>, shape_of_rows(choices, width, kVector<T>, stream()),
           args.dgates_NC.as<float>(), args.dx_NM.as<const T>(), args.rows_QM.as<const T>(),
           args.rows_NC.as<const std::int32_t>(), args.rows_NC.shape[1], choices, width,
           access_of({args.dx_NM.data, args.rows_QM.data}, width, kVector<T>));
  });
}

}  // namespace perfbench::engine::cuda
