// Rows of the token (and position) table, their gradients, and one-hot rows for products with that table. For each
// column, one thread sums the gradient of a token over the rows that hold it; a stable sort has put these side by side
// in the order of r.
#include <algorithm>
#include <bit>

#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/cuda/device/document_rows.cuh"
#include "engine/ops/cuda/device/elements.cuh"
#include "engine/ops/cuda/device/launch_shapes.h"
#include "engine/ops/cuda/device/tokens.cuh"
#include "engine/ops/cuda/operations/sort_pairs.h"
#include "engine/ops/workspace.h"

namespace perfbench::engine::cuda {
namespace {

struct Tokens {
  const std::int32_t* ids;
  std::int64_t count;
  std::int64_t vocabulary;
  std::int64_t first;  // of the table, or of one-hot columns
  std::int64_t rows;   // rows of the table, or columns
  BadToken* bad_token;

  __device__ bool have_row(std::int64_t row) const { return row >= 0 && row < rows; }
};

Tokens tokens_of(const TensorView& tokens, std::int64_t rows, const TokenRange& range, HostMailbox& mailbox) {
  const std::int64_t vocabulary = range.all > 0 ? range.all : rows;
  return {.ids = tokens.as<const std::int32_t>(),
          .count = tokens.elements(),
          .vocabulary = vocabulary,
          .first = range.first,
          .rows = rows,
          .bad_token = mailbox.bad_token(HostMailbox::Reader::embedding, vocabulary)};
}

template <class T>
__global__ void forward_kernel(T* x, Tokens tokens, const T* table, const T* position, DocumentRows documents,
                               std::int64_t width, Access access) {
  constexpr int N = kVector<T>;
  for (std::int64_t row = blockIdx.x; row < tokens.count; row += gridDim.x) {
    const std::int32_t token = tokens.ids[row];
    const bool known = is_in(tokens.vocabulary, token);
    if (!known && threadIdx.x == 0) report_token(tokens.bad_token, row, token);
    const std::int64_t of_table = token - tokens.first;
    for (std::int64_t first = threadIdx.x * N; first < width; first += static_cast<std::int64_t>(blockDim.x) * N) {
      float v[N];
      if (known && tokens.have_row(of_table)) {
        load(table + of_table * width + first, width - first, access, v);
      } else {
        // a NaN, so that later values do not look valid
        const float nothing = known ? 0.0F : __uint_as_float(0x7FC00000U);
#pragma unroll
        for (int i = 0; i < N; ++i) v[i] = nothing;
      }
      if (position != nullptr) {
        float p[N];
        load(position + documents.position(row) * width + first, width - first, access, p);
#pragma unroll
        for (int i = 0; i < N; ++i) v[i] += p[i];
      }
      store(x + row * width + first, width - first, access, v);
    }
  }
}

template <class T>
__global__ void one_hot_kernel(T* rows, Tokens tokens, Access access) {
  constexpr int N = kVector<T>;
  const std::int64_t width = tokens.rows;
  for (std::int64_t row = blockIdx.x; row < tokens.count; row += gridDim.x) {
    const std::int32_t token = tokens.ids[row];
    if (!is_in(tokens.vocabulary, token) && threadIdx.x == 0) report_token(tokens.bad_token, row, token);
    const std::int64_t column = token - tokens.first;
    for (std::int64_t first = threadIdx.x * N; first < width; first += static_cast<std::int64_t>(blockDim.x) * N) {
      float v[N];
#pragma unroll
      for (int i = 0; i < N; ++i) v[i] = first + i == column ? 1.0F : 0.0F;
      store(rows + row * width + first, width - first, access, v);
    }
  }
}

// Keys are rows of the table. Tokens without a row get the key behind all others, whose rows are left out.
__global__ void number_tokens_kernel(std::uint32_t* keys, std::int32_t* places, Tokens tokens) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; row < tokens.count;
       row += step) {
    const std::int32_t token = tokens.ids[row];
    const bool known = is_in(tokens.vocabulary, token);
    if (!known) report_token(tokens.bad_token, row, token);
    const std::int64_t of_table = token - tokens.first;
    keys[row] = static_cast<std::uint32_t>(known && tokens.have_row(of_table) ? of_table : tokens.rows);
    places[row] = static_cast<std::int32_t>(row);
  }
}

constexpr unsigned kColumnThreads = 128;

// Strips of columns, along the grid's y.
template <class T>
unsigned column_strips(std::int64_t width) {
  return static_cast<unsigned>(std::min(divide_up(width, kColumnThreads * kVector<T>), kMostBlocksYZ));
}

// Calls f(first, count) for the vectors of columns that belong to this thread.
template <int N, class F>
__device__ inline void for_each_column_vector(std::int64_t width, F f) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * blockDim.x * N;
  for (std::int64_t first = (static_cast<std::int64_t>(blockIdx.y) * blockDim.x + threadIdx.x) * N; first < width;
       first += step) {
    f(first, width - first);
  }
}

// A block sums a run of rows if its place is where a token's run begins; the other blocks do nothing.
template <class T>
__global__ void table_kernel(float* dtable, const T* dx, SortedPairs sorted, Tokens tokens, std::int64_t width,
                             Access access) {
  constexpr int N = kVector<T>;
  for (std::int64_t begin = blockIdx.x; begin < tokens.count; begin += gridDim.x) {
    const std::uint32_t token = sorted.keys[begin];
    if (begin > 0 && sorted.keys[begin - 1] == token) continue;
    if (token == tokens.rows) continue;
    for_each_column_vector<N>(width, [&](std::int64_t first, std::int64_t count) {
      float* const out = dtable + token * width + first;
      float sum[N];
      load(out, count, access, sum);
#pragma unroll 4
      for (std::int64_t i = begin; i < tokens.count && sorted.keys[i] == token; ++i) {
        float v[N];
        load(dx + sorted.values[i] * width + first, count, access, v);
#pragma unroll
        for (int j = 0; j < N; ++j) sum[j] += v[j];
      }
      store(out, count, access, sum);
    });
  }
}

// Calls f(row) for the tokens of a sequence, whose rows begin at `sequence`, that are at position t of a document. It
// starts with the last document: each gives its own begin, which is the end of the previous one.
template <class F>
__device__ inline void for_each_row_at(std::int64_t t, std::int64_t sequence, const DocumentRows& documents, F f) {
  for (std::int64_t end = documents.seq_len; end > t;) {
    const std::int64_t begin = documents.first(sequence + end - 1);
    if (begin + t < end) f(sequence + begin + t);
    end = begin;
  }
}

template <class T>
__global__ void position_kernel(float* dposition, const T* dx, std::int64_t rows, DocumentRows documents,
                                std::int64_t width, Access access) {
  constexpr int N = kVector<T>;
  for (std::int64_t t = blockIdx.x; t < documents.seq_len; t += gridDim.x) {
    for_each_column_vector<N>(width, [&](std::int64_t first, std::int64_t count) {
      float* const out = dposition + t * width + first;
      float sum[N];
      load(out, count, access, sum);
      for (std::int64_t sequence = 0; sequence < rows; sequence += documents.seq_len) {
        for_each_row_at(t, sequence, documents, [&](std::int64_t row) {
          float v[N];
          load(dx + row * width + first, count, access, v);
#pragma unroll
          for (int j = 0; j < N; ++j) sum[j] += v[j];
        });
      }
      store(out, count, access, sum);
    });
  }
}

}  // namespace

void CudaOps::do_embedding_forward(const EmbeddingForwardArgs& args) {
  const std::int64_t width = args.x_NM.shape[1];
  const Tokens tokens = tokens_of(args.tokens_N, args.table_VM.shape[0], args.range, mailbox_);
  with_element_type(args.x_NM.dtype, [&]<class T>() {
    launch("embedding_forward", forward_kernel<T>,
           {.grid = row_blocks(tokens.count), .block = row_threads(width, kVector<T>, 256), .stream = stream()},
           args.x_NM.as<T>(), tokens, args.table_VM.as<const T>(), args.position_TM.as<const T>(),
           document_rows(args.first_N, args.seq_len), width,
           access_of({args.x_NM.data, args.table_VM.data, args.position_TM.data}, width, kVector<T>));
  });
}

void CudaOps::do_embedding_backward(const EmbeddingBackwardArgs& args) {
  const std::int64_t width = args.dx_NM.shape[1];
  const Tokens tokens = tokens_of(args.tokens_N, args.dtable_VM.shape[0], args.range, mailbox_);
  const std::int64_t n = tokens.count;
  auto* const keys = static_cast<std::uint32_t*>(workspace(workspace::embedding_sort_bytes(n), "embedding_backward"));
  auto* const places = reinterpret_cast<std::int32_t*>(keys + 2 * n);
  const SortPairs pairs{
      .keys = {keys, keys + n},
      .values = {places, places + n},
      .count = n,
      // At least one: a table without rows is used for positions only.
      .key_bits = std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint32_t>(tokens.rows)))),
      .scratch = places + 2 * n,
      .scratch_bytes = workspace::sort_scratch_bytes(n)};
  launch("number_tokens", number_tokens_kernel, {.grid = flat_blocks(n, 1), .block = kFlatThreads, .stream = stream()},
         pairs.keys[0], pairs.values[0], tokens);
  const SortedPairs sorted = sort_pairs(pairs, stream());
  with_element_type(args.dx_NM.dtype, [&]<class T>() {
    const T* const dx = args.dx_NM.as<const T>();
    const Access access = access_of({dx, args.dtable_VM.data, args.dposition_TM.data}, width, kVector<T>);
    LaunchShape shape{.grid = {row_blocks(n), column_strips<T>(width)}, .block = kColumnThreads, .stream = stream()};
    launch("embedding_backward", table_kernel<T>, shape, args.dtable_VM.as<float>(), dx, sorted, tokens, width, access);
    if (!args.dposition_TM.defined()) return;
    shape.grid.x = row_blocks(args.seq_len);
    launch("position_backward", position_kernel<T>, shape, args.dposition_TM.as<float>(), dx, n,
           document_rows(args.first_N, args.seq_len), width, access);
  });
}

void CudaOps::do_one_hot(const OneHotArgs& args) {
  const std::int64_t width = args.rows_NV.shape[1];
  const Tokens tokens = tokens_of(args.tokens_N, width, args.range, mailbox_);
  with_element_type(args.rows_NV.dtype, [&]<class T>() {
    launch("one_hot", one_hot_kernel<T>,
           {.grid = row_blocks(tokens.count), .block = row_threads(width, kVector<T>, 256), .stream = stream()},
           args.rows_NV.as<T>(), tokens, access_of({args.rows_NV.data}, width, kVector<T>));
  });
}

}  // namespace perfbench::engine::cuda
