// Attention with the probabilities in memory, as frameworks without a fused kernel compute it: all keys of a tile of
// queries at once. Nothing is computed for pairs above the diagonal's tiles. What is stored in bf16 is used as rounded,
// so that forward and backward see the same probabilities.
#include <cmath>
#include <limits>

#include "engine/ops/cpu/attention.h"
#include "engine/ops/cpu/vector_math.h"

namespace perfbench::engine::cpu {
namespace {

constexpr std::int64_t kQueryTile = 4 * kTileRows;
constexpr std::int64_t kKeyTile = 64;

struct UnitHead {
  std::int64_t batch;
  std::int64_t kv_head;
  std::int64_t group;  // query heads of a key/value head
};

UnitHead unit_head(const AttentionDims& dims, std::int64_t unit) {
  return {unit / dims.n_kv_heads, unit % dims.n_kv_heads, dims.n_heads / dims.n_kv_heads};
}

// Row `row` of a [B, H, T, T] tensor.
template <class T>
T* score_row(const TensorView& x, const AttentionDims& dims, std::int64_t batch, std::int64_t head, std::int64_t row) {
  return x.as<T>() + ((batch * dims.n_heads + head) * dims.seq_len + row) * dims.seq_len;
}

// Stores n of a row's scores as T, rounds the source likewise, and writes zeros behind them.
template <class T>
void keep_row(float* scores, std::int64_t n, T* to, std::int64_t width) {
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const std::int64_t count = std::min(kLanes, n - i);
    store_up_to(to + i, load(scores + i), count);
    if constexpr (!std::is_same_v<T, float>) store_up_to(scores + i, load_up_to(to + i, count), count);
  }
  std::fill(to + n, to + width, T{});
}

// Scores of a tile of queries against the keys in sight, tile by tile of keys. [rows][stride].
struct Strip {
  float* scores = nullptr;
  std::int64_t stride = 0;
};

template <class F>
void for_key_tiles(std::int64_t row, std::int64_t rows, F&& f) {
  for (std::int64_t key = 0; key < row + rows; key += kKeyTile) f(ScoreTile{row, rows, key, kKeyTile});
}

template <class T>
class DotProductForward {
 public:
  DotProductForward(const AttentionForwardArgs& args, float* memory) : args_(args), dims_(args.dims) {
    Carver carver(memory);
    width_ = padded_head(dims_);
    strip_.stride = round_up(dims_.seq_len, kKeyTile) + kLanes;  // not a power of two
    keys_ = carver.take(round_up(dims_.seq_len, kKeyTile) * dims_.head_dim);
    values_ = carver.take(round_up(dims_.seq_len, kKeyTile) * width_);
    query_ = carver.take(kQueryTile * width_);
    context_ = carver.take(kQueryTile * width_);
    strip_.scores = carver.take(kQueryTile * strip_.stride);
    used_ = carver.used();
  }
  static std::int64_t floats(const AttentionForwardArgs& args) { return DotProductForward(args, nullptr).used_; }

  void run(std::int64_t unit, std::int64_t part, std::int64_t parts) {
    const auto [batch, kv_head, group] = unit_head(dims_, unit);
    const PackedShape shape{dims_.seq_len, dims_.head_dim, width_};
    pack_columns<T>(head_rows<const T>(args_.key, dims_, batch, kv_head), shape, kKeyTile, keys_);
    pack_rows<T>(head_rows<const T>(args_.value, dims_, batch, kv_head), shape, 1.0F, values_);
    const std::int64_t tiles = (dims_.seq_len + kQueryTile - 1) / kQueryTile;
    for (std::int64_t i = part; i < group * tiles; i += parts) {
      query_tile(batch, kv_head * group + i / tiles, i % tiles * kQueryTile);
    }
  }

 private:
  void query_tile(std::int64_t batch, std::int64_t head, std::int64_t row) {
    const std::int64_t rows = std::min(kQueryTile, dims_.seq_len - row);
    auto query = head_rows<const T>(args_.query, dims_, batch, head);
    query.data = query.row(row);
    pack_rows<T>(query, {rows, dims_.head_dim, width_}, 1.0F / std::sqrt(static_cast<float>(dims_.head_dim)), query_);
    for_key_tiles(row, rows, [&](const ScoreTile& tile) {
      score_product(tile, {.a = query_,
                           .a_stride = width_,
                           .b = keys_ + tile.key * dims_.head_dim,
                           .b_stride = kKeyTile,
                           .c = strip_.scores + tile.key,
                           .c_stride = strip_.stride,
                           .k = dims_.head_dim});
    });
    float* const logsumexp =
        args_.logsumexp_BHT.template as<float>() + (batch * dims_.n_heads + head) * dims_.seq_len + row;
    const std::int64_t end = round_up(row + rows, kKeyTile);
    for (std::int64_t r = 0; r < rows; ++r) {
      float* const scores = strip_.scores + r * strip_.stride;
      const std::int64_t visible = row + r + 1;
      logsumexp[r] = softmax_row(scores, visible);
      mask_row(scores, visible, end);
      keep_row<T>(scores, visible, score_row<T>(args_.weights_BHTT, dims_, batch, head, row + r), dims_.seq_len);
    }
    std::fill(context_, context_ + rows * width_, 0.0F);
    for_key_tiles(row, rows, [&](const ScoreTile& tile) {
      value_product(tile, {.a = strip_.scores + tile.key,
                           .a_stride = strip_.stride,
                           .b = values_ + tile.key * width_,
                           .b_stride = width_,
                           .c = context_,
                           .c_stride = width_,
                           .n = width_});
    });
    const auto context = head_rows<T>(args_.context, dims_, batch, head);
    unpack_rows<T>(context_, {rows, dims_.head_dim, width_}, 1.0F, {context.row(row), context.stride});
  }

  // In place; returns the logsumexp.
  static float softmax_row(float* scores, std::int64_t n) {
    const Vec lowest = splat(-std::numeric_limits<float>::infinity());
    Vec most = lowest;
    for (std::int64_t i = 0; i < n; i += kLanes) {
      most = max(keep_lanes(load(scores + i), std::min(kLanes, n - i), lowest), most);
    }
    const float maximum = max_lanes(most);
    Vec sum{};
    for (std::int64_t i = 0; i < n; i += kLanes) {
      const Vec weight = keep_lanes(exp(load(scores + i) - maximum), std::min(kLanes, n - i));
      store(scores + i, weight);
      sum += weight;
    }
    const float total = sum_lanes(sum);
    const float factor = 1.0F / total;
    for (std::int64_t i = 0; i < n; i += kLanes) store(scores + i, load(scores + i) * factor);
    return maximum + std::log(total);
  }

  const AttentionForwardArgs& args_;
  const AttentionDims& dims_;
  std::int64_t width_ = 0;
  std::int64_t used_ = 0;
  float* keys_ = nullptr;
  float* values_ = nullptr;
  float* query_ = nullptr;
  float* context_ = nullptr;
  Strip strip_;
};

// Gradient of the scores, and from it that of the queries.
template <class T>
class ScoreGradient {
 public:
  ScoreGradient(const AttentionBackwardArgs& args, float* memory) : args_(args), dims_(args.dims) {
    Carver carver(memory);
    width_ = padded_head(dims_);
    strip_.stride = round_up(dims_.seq_len, kKeyTile) + kLanes;
    values_ = carver.take(round_up(dims_.seq_len, kKeyTile) * dims_.head_dim);
    keys_ = carver.take(round_up(dims_.seq_len, kKeyTile) * width_);
    dcontext_ = carver.take(kQueryTile * width_);
    dquery_ = carver.take(kQueryTile * width_);
    strip_.scores = carver.take(kQueryTile * strip_.stride);
    used_ = carver.used();
  }
  static std::int64_t floats(const AttentionBackwardArgs& args) { return ScoreGradient(args, nullptr).used_; }

  void run(std::int64_t unit, std::int64_t part, std::int64_t parts) {
    const auto [batch, kv_head, group] = unit_head(dims_, unit);
    const PackedShape shape{dims_.seq_len, dims_.head_dim, width_};
    pack_columns<T>(head_rows<const T>(args_.value, dims_, batch, kv_head), shape, kKeyTile, values_);
    pack_rows<T>(head_rows<const T>(args_.key, dims_, batch, kv_head), shape, 1.0F, keys_);
    const std::int64_t tiles = (dims_.seq_len + kQueryTile - 1) / kQueryTile;
    for (std::int64_t i = part; i < group * tiles; i += parts) {
      query_tile(batch, kv_head * group + i / tiles, i % tiles * kQueryTile);
    }
  }

 private:
  void query_tile(std::int64_t batch, std::int64_t head, std::int64_t row) {
    const std::int64_t rows = std::min(kQueryTile, dims_.seq_len - row);
    auto dcontext = head_rows<const T>(args_.dcontext, dims_, batch, head);
    dcontext.data = dcontext.row(row);
    pack_rows<T>(dcontext, {rows, dims_.head_dim, width_}, 1.0F, dcontext_);
    for_key_tiles(row, rows, [&](const ScoreTile& tile) {
      score_product(tile, {.a = dcontext_,
                           .a_stride = width_,
                           .b = values_ + tile.key * dims_.head_dim,
                           .b_stride = kKeyTile,
                           .c = strip_.scores + tile.key,
                           .c_stride = strip_.stride,
                           .k = dims_.head_dim});
    });
    const std::int64_t end = round_up(row + rows, kKeyTile);
    for (std::int64_t r = 0; r < rows; ++r) {
      float* const scores = strip_.scores + r * strip_.stride;
      const std::int64_t visible = row + r + 1;
      softmax_gradient(scores, score_row<const T>(args_.weights_BHTT, dims_, batch, head, row + r), visible);
      mask_row(scores, visible, end);
      keep_row<T>(scores, visible, score_row<T>(args_.dweights_BHTT, dims_, batch, head, row + r),
                  std::min(end, dims_.seq_len));
    }
    std::fill(dquery_, dquery_ + rows * width_, 0.0F);
    for_key_tiles(row, rows, [&](const ScoreTile& tile) {
      value_product(tile, {.a = strip_.scores + tile.key,
                           .a_stride = strip_.stride,
                           .b = keys_ + tile.key * width_,
                           .b_stride = width_,
                           .c = dquery_,
                           .c_stride = width_,
                           .n = width_});
    });
    const auto dquery = head_rows<T>(args_.dquery, dims_, batch, head);
    unpack_rows<T>(dquery_, {rows, dims_.head_dim, width_}, 1.0F / std::sqrt(static_cast<float>(dims_.head_dim)),
                   {dquery.row(row), dquery.stride});
  }

  // dscore = weight * (dweight - sum of weight * dweight), in place of dweight.
  static void softmax_gradient(float* dweights, const T* weights, std::int64_t n) {
    Vec sum{};
    for (std::int64_t i = 0; i < n; i += kLanes) {
      const std::int64_t count = std::min(kLanes, n - i);
      sum += load_up_to(weights + i, count) * keep_lanes(load(dweights + i), count);
    }
    const float mean = sum_lanes(sum);
    for (std::int64_t i = 0; i < n; i += kLanes) {
      store(dweights + i, load_up_to(weights + i, std::min(kLanes, n - i)) * (load(dweights + i) - mean));
    }
  }

  const AttentionBackwardArgs& args_;
  const AttentionDims& dims_;
  std::int64_t width_ = 0;
  std::int64_t used_ = 0;
  float* values_ = nullptr;
  float* keys_ = nullptr;
  float* dcontext_ = nullptr;
  float* dquery_ = nullptr;
  Strip strip_;
};

// dkey and dvalue of one tile of keys, from the stored probabilities and score gradients of all queries below.
template <class T>
class KeyGradient {
 public:
  KeyGradient(const AttentionBackwardArgs& args, float* memory) : args_(args), dims_(args.dims) {
    Carver carver(memory);
    width_ = padded_head(dims_);
    for (float** rows : {&query_, &dcontext_}) *rows = carver.take(kQueryTile * width_);
    for (float** tile : {&weights_, &dscores_}) *tile = carver.take(kQueryTile * kKeyTile);
    for (float** rows : {&dkey_, &dvalue_}) *rows = carver.take(kKeyTile * width_);
    used_ = carver.used();
  }
  static std::int64_t floats(const AttentionBackwardArgs& args) { return KeyGradient(args, nullptr).used_; }

  void run(std::int64_t unit, std::int64_t key) {
    const auto [batch, kv_head, group] = unit_head(dims_, unit);
    const std::int64_t present = std::min(kKeyTile, dims_.seq_len - key);
    std::fill(dkey_, dkey_ + kKeyTile * width_, 0.0F);
    std::fill(dvalue_, dvalue_ + kKeyTile * width_, 0.0F);
    for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
      for (std::int64_t row = key / kQueryTile * kQueryTile; row < dims_.seq_len; row += kQueryTile) {
        add_queries({row, std::min(kQueryTile, dims_.seq_len - row), key, kKeyTile}, present, batch, head);
      }
    }
    const PackedShape shape{present, dims_.head_dim, width_};
    const auto dkey = head_rows<T>(args_.dkey, dims_, batch, kv_head);
    const auto dvalue = head_rows<T>(args_.dvalue, dims_, batch, kv_head);
    unpack_rows<T>(dkey_, shape, 1.0F, {dkey.row(key), dkey.stride});
    unpack_rows<T>(dvalue_, shape, 1.0F, {dvalue.row(key), dvalue.stride});
  }

 private:
  void add_queries(const ScoreTile& tile, std::int64_t present, std::int64_t batch, std::int64_t head) {
    const auto pack = [&](const TensorView& x, float factor, float* to) {
      auto rows = head_rows<const T>(x, dims_, batch, head);
      rows.data = rows.row(tile.row);
      pack_rows<T>(rows, {tile.rows, dims_.head_dim, width_}, factor, to);
    };
    pack(args_.query, 1.0F / std::sqrt(static_cast<float>(dims_.head_dim)), query_);
    pack(args_.dcontext, 1.0F, dcontext_);
    const PackedShape shape{tile.rows, present, kKeyTile};
    const auto pack_scores = [&](const TensorView& x, float* to) {
      const T* const first = score_row<const T>(x, dims_, batch, head, tile.row) + tile.key;
      pack_rows<T>({first, dims_.seq_len}, shape, 1.0F, to);
    };
    pack_scores(args_.weights_BHTT, weights_);
    pack_scores(args_.dweights_BHTT, dscores_);
    // Zero above the diagonal: written so by both passes before, up to the end of the diagonal's tile.
    TileProduct product{.a_stride = kKeyTile, .b_stride = width_, .c_stride = width_, .n = width_};
    product.a = weights_;
    product.b = dcontext_;
    product.c = dvalue_;
    key_product(tile, present, product);
    product.a = dscores_;
    product.b = query_;
    product.c = dkey_;
    key_product(tile, present, product);
  }

  const AttentionBackwardArgs& args_;
  const AttentionDims& dims_;
  std::int64_t width_ = 0;
  std::int64_t used_ = 0;
  float* query_ = nullptr;
  float* dcontext_ = nullptr;
  float* weights_ = nullptr;
  float* dscores_ = nullptr;
  float* dkey_ = nullptr;
  float* dvalue_ = nullptr;
};

void require_weights_of(DType dtype, const TensorView& weights) {
  if (weights.dtype != dtype) throw LogicFault("dot_product attention: the probabilities have the type of the queries");
}

}  // namespace

void dot_product_forward(const AttentionForwardArgs& args, Scratch& scratch) {
  require_weights_of(args.query.dtype, args.weights_BHTT);
  const auto division = divide_units(args.dims);
  scratch.prepare(division.threads);
  with_element_type(args.query.dtype, [&]<class T>() {
    const std::int64_t floats = DotProductForward<T>::floats(args);
    for_items(division.items(), division.threads, [&](std::int64_t item, int thread) {
      DotProductForward<T>(args, scratch.of_thread(thread, floats))
          .run(item / division.parts, item % division.parts, division.parts);
    });
  });
}

void dot_product_backward(const AttentionBackwardArgs& args, Scratch& scratch) {
  require_weights_of(args.query.dtype, args.weights_BHTT);
  require_weights_of(args.query.dtype, args.dweights_BHTT);
  const auto division = divide_units(args.dims);
  const std::int64_t key_tiles = (args.dims.seq_len + kKeyTile - 1) / kKeyTile;
  scratch.prepare(division.threads);
  with_element_type(args.query.dtype, [&]<class T>() {
    const std::int64_t floats = std::max(ScoreGradient<T>::floats(args), KeyGradient<T>::floats(args));
    for_items(division.items(), division.threads, [&](std::int64_t item, int thread) {
      ScoreGradient<T>(args, scratch.of_thread(thread, floats))
          .run(item / division.parts, item % division.parts, division.parts);
    });
    for_items(division.units * key_tiles, division.threads, [&](std::int64_t item, int thread) {
      KeyGradient<T>(args, scratch.of_thread(thread, floats)).run(item / key_tiles, item % key_tiles * kKeyTile);
    });
  });
}

}  // namespace perfbench::engine::cpu
