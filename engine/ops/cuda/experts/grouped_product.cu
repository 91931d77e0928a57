// A block computes 128 by 128 elements, a warp 32 by 64 of them. While it multiplies 32 terms of each, the next ones
// arrive. A block finds the expert of its rows in the table of segments; the grid is large enough for any table.
#include <algorithm>

#include "engine/ops/cuda/device/async_copy.cuh"
#include "engine/ops/cuda/device/launch_shapes.h"
#include "engine/ops/cuda/device/tile_units.cuh"
#include "engine/ops/cuda/experts/grouped_product.h"

namespace perfbench::engine::cuda {
namespace {

using Kind = ExpertProductArgs::Kind;

constexpr int kSide = 128;
constexpr int kDepth = 32;  // terms at a time
constexpr int kWarpRows = 32;
constexpr int kWarpColumns = 64;
constexpr int kWarpsAcross = kSide / kWarpColumns;
constexpr int kBlockThreads = kSide / kWarpRows * kWarpsAcross * kWarp;

struct GroupedProduct {
  const void* a;
  const void* b;
  void* c;
  const std::int32_t* segments;  // [P, X, 2]
  std::int64_t parts;
  std::int64_t part_rows;
  std::int64_t experts;
  std::int64_t outputs;
  std::int64_t inputs;
  Write write;
  Access access;

  __device__ std::int64_t first(std::int64_t part, std::int64_t expert) const {
    return segments[2 * (part * experts + expert)];
  }
  __device__ std::int64_t rows(std::int64_t part, std::int64_t expert) const {
    return segments[2 * (part * experts + expert) + 1];
  }
};

// Both operands in shared memory, twice. A tile whose terms are contiguous in memory has a row for each of its rows or
// columns, [kSide, kDepth]; other tiles have a row for each term, [kDepth, kSide].
template <class Units, Kind kKind>
struct Tiles {
  using T = typename Units::Element;
  static constexpr bool kLeftByTerm = kKind == Kind::weight_gradient;
  static constexpr bool kRightByTerm = kKind != Kind::forward;
  static constexpr int kOfTerms = kDepth + Units::kPad;  // length of a row of terms
  static constexpr int kOfSides = kSide + Units::kPad;
  static constexpr int kLeft = kLeftByTerm ? kDepth * kOfSides : kSide * kOfTerms;
  static constexpr int kRight = kRightByTerm ? kDepth * kOfSides : kSide * kOfTerms;
  static constexpr std::size_t kBytes = 2 * (kLeft + kRight) * sizeof(T);
  static_assert(kLeft * sizeof(T) % 128 == 0 && kRight * sizeof(T) % 128 == 0);
  static_assert(kBytes >= kBlockThreads / kWarp * kTile * kTile * sizeof(float));  // memory for find_places

  T* memory;
  __device__ T* left(int buffer) const { return memory + buffer * (kLeft + kRight); }
  __device__ T* right(int buffer) const { return left(buffer) + kLeft; }
};

// The part of a tile that exists in memory, from its first element on.
template <class T>
struct Window {
  const T* data;
  std::int64_t stride;
  std::int64_t rows;
  std::int64_t columns;
};

// Begins to load tile[kRows][kWidth + pad], with zeros for elements that do not exist.
template <class Units, int kRows, int kWidth, class T>
__device__ void load_window(T* tile, const Window<T>& from, Access access) {
  constexpr int kPiece = kCopyBytes / static_cast<int>(sizeof(T));
  constexpr int kPieces = kWidth / kPiece;
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kPieces; i += kBlockThreads) {
    const int r = i / kPieces;
    const int column = i % kPieces * kPiece;
    T* const to = tile + r * (kWidth + Units::kPad) + column;
    const T* const source = from.data + r * from.stride + column;
    if (access == Access::vector && r < from.rows && column + kPiece <= from.columns) {
      copy_async(to, source);
      continue;
    }
    for (int j = 0; j < kPiece; ++j) {
      to[j] = r < from.rows && column + j < from.columns ? source[j] : from_f32<T>(0.0F);
    }
  }
}

// The result of a block: the part of it that exists, and the sums of the calling warp.
template <class Units, Kind kKind>
class BlockProduct {
 public:
  using T = typename Units::Element;

  __device__ BlockProduct(const Tiles<Units, kKind>& tiles, std::int64_t rows, std::int64_t columns)
      : tiles_(tiles), rows_(rows), columns_(columns) {
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    row_ = warp / kWarpsAcross * kWarpRows;
    column_ = warp % kWarpsAcross * kWarpColumns;
    places_ = Units::find_places(reinterpret_cast<float*>(tiles.memory) + warp * kTile * kTile);
    for (auto& row : sums_) {
      for (auto& sum : row) Units::clear(sum);
    }
    __syncthreads();  // the memory of the tiles is free again
  }

  // load(left, right) begins to load the next terms; returns false if there are no more.
  template <class Load>
  __device__ void multiply(Load load) {
    int buffer = 0;
    bool more = load(tiles_.left(0), tiles_.right(0));
    while (more) {
      wait_for_copies();
      __syncthreads();  // these terms have arrived, and no thread reads the previous ones any more
      more = load(tiles_.left(1 - buffer), tiles_.right(1 - buffer));
      if (row_ < rows_ && column_ < columns_) add_products(tiles_.left(buffer), tiles_.right(buffer));
      buffer = 1 - buffer;
    }
  }

  template <class C>
  __device__ void write(C* c, std::int64_t stride, Write write) const {
#pragma unroll
    for (int i = 0; i < kTileRows; ++i) {
#pragma unroll
      for (int j = 0; j < kTileColumns; ++j) {
#pragma unroll
        for (int at = 0; at < kLaneElements; ++at) {
          const int r = row_ + i * kTile + places_.row(at);
          const int column = column_ + j * kTile + places_.column(at);
          if (r >= rows_ || column >= columns_) continue;
          C& out = c[r * stride + column];
          const float held = write == Write::accumulate ? to_f32(out) : 0.0F;
          out = from_f32<C>(held + sums_[i][j].x[at]);
        }
      }
    }
  }

 private:
  using Shape = Tiles<Units, kKind>;
  static constexpr int kTileRows = kWarpRows / kTile;
  static constexpr int kTileColumns = kWarpColumns / kTile;

  __device__ void add_products(const T* left, const T* right) {
#pragma unroll 1  // more unrolling runs out of registers
    for (int k = 0; k < kDepth; k += kTile) {
#pragma unroll
      for (int i = 0; i < kTileRows; ++i) {
        const int row = row_ + i * kTile;
        if constexpr (Shape::kLeftByTerm) {
          add_row(sums_[i], Units::load_transposed(left + k * Shape::kOfSides + row, Shape::kOfSides), right, k);
        } else {
          add_row(sums_[i], Units::load(left + row * Shape::kOfTerms + k, Shape::kOfTerms), right, k);
        }
      }
    }
  }
  template <class Left>
  __device__ void add_row(typename Units::Accumulator (&sums)[kTileColumns], const Left& left, const T* right, int k) {
#pragma unroll
    for (int j = 0; j < kTileColumns; ++j) {
      const int column = column_ + j * kTile;
      if constexpr (Shape::kRightByTerm) {
        Units::add_product(sums[j], left, right + k * Shape::kOfSides + column, Shape::kOfSides);
      } else {
        Units::add_product_transposed(sums[j], left, right + column * Shape::kOfTerms + k, Shape::kOfTerms);
      }
    }
  }

  Tiles<Units, kKind> tiles_;
  std::int64_t rows_;
  std::int64_t columns_;
  int row_;
  int column_;
  Places places_;
  typename Units::Accumulator sums_[kTileRows][kTileColumns];
};

// Up to kSide rows of a part that all belong to one expert, or to no expert.
struct RowTile {
  std::int64_t expert = -1;
  std::int64_t first = 0;
  std::int64_t rows = 0;  // 0: the part has no more tiles
};

__device__ RowTile find_row_tile(const GroupedProduct& p, std::int64_t part, std::int64_t tile) {
  std::int64_t end = 0;
  for (std::int64_t e = 0; e <= p.experts; ++e) {
    const std::int64_t rows = e < p.experts ? p.rows(part, e) : 0;
    if (e < p.experts && rows == 0) continue;
    const std::int64_t first = e < p.experts ? p.first(part, e) : p.part_rows;
    const std::int64_t unused = divide_up(first - end, kSide);
    if (tile < unused) return {-1, end + tile * kSide, min(std::int64_t{kSide}, first - end - tile * kSide)};
    tile -= unused;
    const std::int64_t used = divide_up(rows, kSide);
    if (tile < used) return {e, first + tile * kSide, min(std::int64_t{kSide}, rows - tile * kSide)};
    tile -= used;
    end = first + rows;
  }
  return {};
}

// The forward product and the input gradient.
template <class Units, Kind kKind>
__global__ void __launch_bounds__(kBlockThreads) rows_kernel(GroupedProduct p) {
  using T = typename Units::Element;
  PERFBENCH_DYNAMIC_SHARED(unsigned char, shared);
  unsigned char* const memory = shared;
  const RowTile tile = find_row_tile(p, blockIdx.z, blockIdx.y);
  if (tile.rows == 0) return;
  const std::int64_t terms = kKind == Kind::forward ? p.inputs : p.outputs;
  const std::int64_t width = kKind == Kind::forward ? p.outputs : p.inputs;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kSide;
  const std::int64_t row = blockIdx.z * p.part_rows + tile.first;
  T* const c = static_cast<T*>(p.c) + row * width + column;
  if (tile.expert < 0) {
    if (p.write == Write::accumulate) return;
    for (int i = static_cast<int>(threadIdx.x); i < tile.rows * kSide; i += kBlockThreads) {
      if (column + i % kSide < width) c[i / kSide * width + i % kSide] = from_f32<T>(0.0F);
    }
    return;
  }
  const T* const a = static_cast<const T*>(p.a) + row * terms;
  const T* const weight = static_cast<const T*>(p.b) + tile.expert * p.outputs * p.inputs;
  BlockProduct<Units, kKind> product({reinterpret_cast<T*>(memory)}, tile.rows, width - column);
  std::int64_t term = 0;
  product.multiply([&](T* left, T* right) {
    if (term >= terms) return false;
    load_window<Units, kSide, kDepth, T>(left, {a + term, terms, tile.rows, terms - term}, p.access);
    if constexpr (kKind == Kind::forward) {
      load_window<Units, kSide, kDepth, T>(right, {weight + column * terms + term, terms, width - column, terms - term},
                                           p.access);
    } else {
      load_window<Units, kDepth, kSide, T>(right, {weight + term * width + column, width, terms - term, width - column},
                                           p.access);
    }
    term += kDepth;
    return true;
  });
  product.write(c, width, p.write);
}

// An expert's rows, part after part.
template <class Units>
__global__ void __launch_bounds__(kBlockThreads) weights_kernel(GroupedProduct p) {
  using T = typename Units::Element;
  PERFBENCH_DYNAMIC_SHARED(unsigned char, shared);
  unsigned char* const memory = shared;
  const std::int64_t expert = blockIdx.z;
  const std::int64_t output = static_cast<std::int64_t>(blockIdx.y) * kSide;
  const std::int64_t input = static_cast<std::int64_t>(blockIdx.x) * kSide;
  const T* const a = static_cast<const T*>(p.a) + output;
  const T* const b = static_cast<const T*>(p.b) + input;
  BlockProduct<Units, Kind::weight_gradient> product({reinterpret_cast<T*>(memory)}, p.outputs - output,
                                                     p.inputs - input);
  std::int64_t part = 0;
  std::int64_t done = 0;  // rows of the part's segment that are done
  product.multiply([&](T* left, T* right) {
    while (part < p.parts && done >= p.rows(part, expert)) {
      ++part;
      done = 0;
    }
    if (part == p.parts) return false;
    const std::int64_t rows = p.rows(part, expert) - done;
    const std::int64_t row = part * p.part_rows + p.first(part, expert) + done;
    load_window<Units, kDepth, kSide, T>(left, {a + row * p.outputs, p.outputs, rows, p.outputs - output}, p.access);
    load_window<Units, kDepth, kSide, T>(right, {b + row * p.inputs, p.inputs, rows, p.inputs - input}, p.access);
    done += kDepth;
    return true;
  });
  product.write(static_cast<float*>(p.c) + (expert * p.outputs + output) * p.inputs + input, p.inputs, p.write);
}

unsigned tiles(std::int64_t extent) {
  return static_cast<unsigned>(divide_up(extent, kSide));
}

void launch_rows(const char* name, void (*kernel)(GroupedProduct), std::size_t shared_bytes, const GroupedProduct& p,
                 std::int64_t width, cudaStream_t stream) {
  // The rows of a part, divided at both ends of every segment.
  const auto row_tiles = static_cast<unsigned>(p.part_rows / kSide + 2 * p.experts + 1);
  launch(name, kernel,
         {.grid = {tiles(width), row_tiles, static_cast<unsigned>(p.parts)},
          .block = kBlockThreads,
          .shared_bytes = shared_bytes,
          .stream = stream},
         p);
}

template <class Units>
void launch_kind(Kind kind, const GroupedProduct& p, cudaStream_t stream) {
  switch (kind) {
    case Kind::forward:
      return launch_rows("experts_forward", rows_kernel<Units, Kind::forward>, Tiles<Units, Kind::forward>::kBytes, p,
                         p.outputs, stream);
    case Kind::input_gradient:
      return launch_rows("experts_input_gradient", rows_kernel<Units, Kind::input_gradient>,
                         Tiles<Units, Kind::input_gradient>::kBytes, p, p.inputs, stream);
    case Kind::weight_gradient:
      launch("experts_weight_gradient", weights_kernel<Units>,
             {.grid = {tiles(p.inputs), tiles(p.outputs), static_cast<unsigned>(p.experts)},
              .block = kBlockThreads,
              .shared_bytes = Tiles<Units, Kind::weight_gradient>::kBytes,
              .stream = stream},
             p);
  }
}

}  // namespace

void grouped_product(const ExpertProductArgs& args, cudaStream_t stream) {
  const bool gradient = args.kind == Kind::weight_gradient;
  const Shape& weight = (gradient ? args.c : args.b).shape;
  const std::int64_t parts = args.segments_PX2.shape[0];
  const bool bf16 = args.a.dtype == DType::bf16;
  const int vector = bf16 ? kVector<Bf16> : kVector<float>;
  // Rows of both widths start at multiples of a vector.
  const bool vectors =
      weight[1] % vector == 0 && access_of({args.a.data, args.b.data}, weight[2], vector) == Access::vector;
  const GroupedProduct product{.a = args.a.data,
                               .b = args.b.data,
                               .c = args.c.data,
                               .segments = args.segments_PX2.as<const std::int32_t>(),
                               .parts = parts,
                               .part_rows = args.a.shape[0] / parts,
                               .experts = weight[0],
                               .outputs = weight[1],
                               .inputs = weight[2],
                               .write = args.write,
                               .access = vectors ? Access::vector : Access::element};
  if (bf16) {
    launch_kind<TensorCores>(args.kind, product, stream);
  } else {
    launch_kind<PlainFma>(args.kind, product, stream);
  }
}

}  // namespace perfbench::engine::cuda
