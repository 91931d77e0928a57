// Attention with the probabilities in memory, as frameworks without a fused kernel compute it: all keys at once for a
// tile of queries. Pairs above the diagonal's tiles are not computed. Values stored in bf16 are used as rounded, so
// that forward and backward see the same probabilities.
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
  std::int64_t group;  // query heads per key/value head
};

UnitHead unit_head(const AttentionDims& dims, std::int64_t unit) {
  return {unit / dims.n_kv_heads, unit % dims.n_kv_heads, dims.n_heads / dims.n_kv_heads};
}

// Row `row` of a [B, H, T, T] tensor.
template <class T>
T* score_row(const TensorView& x, const AttentionDims& dims, std::int64_t batch, std::int64_t head, std::int64_t row) {
  return x.as<T>() + ((batch * dims.n_heads + head) * dims.seq_len + row) * dims.seq_len;
}

// Stores n scores of a row, from `first` on, as T with zeros around them, and rounds the source in the same way.
template <class T>
void keep_row(float* scores, std::int64_t first, std::int64_t n, T* to, std::int64_t width) {
  std::fill(to, to + first, T{});
  scores += first;
  to += first;
  width -= first;
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const std::int64_t count = std::min(kLanes, n - i);
    store_up_to(to + i, load(scores + i), count);
    if constexpr (!std::is_same_v<T, float>) store_up_to(scores + i, load_up_to(to + i, count), count);
  }
  std::fill(to + n, to + width, T{});
}

// The scores of a tile of queries for the visible keys, one tile of keys after another. [rows][stride].
struct Strip {
  float* scores = nullptr;
  std::int64_t stride = 0;
};

template <class F>
void for_key_tiles(std::int64_t first_key, std::int64_t row, std::int64_t rows, F&& f) {
  for (std::int64_t key = first_key; key < row + rows; key += kKeyTile) f(ScoreTile{row, rows, key, kKeyTile});
}

// A pass over the scores: products of queries and keys, from each row of which the stored values are computed, and the
// sums of `values` weighted with these. In the forward pass the stored values are the probabilities and the sums the
// context; in the backward pass they are the gradients of scores and queries.
struct ScorePass {
  const AttentionDims& dims;
  RowsView queries;  // [N, H*D], times query_factor
  float query_factor = 1.0F;
  RowsView keys;    // [N, K*D]
  RowsView values;  // [N, K*D]
  RowsView sums;    // [N, H*D], times sum_factor
  float sum_factor = 1.0F;
  TensorView first_N = {};  // optional
};

// One row of a pass.
struct ScoreRow {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
  float* scores = nullptr;
  std::int64_t begin = 0;  // begin of the tiles of keys that hold the visible ones, `first` to `row`
  std::int64_t end = 0;    // end of the diagonal's tile
  std::int64_t first = 0;

  std::int64_t visible() const { return row + 1 - first; }
  float* of_visible() const { return scores + first; }
  // Writes zeros for the other keys of the tiles.
  void mask() const {
    std::fill(scores + begin, scores + first, 0.0F);
    std::fill(scores + row + 1, scores + end, 0.0F);
  }
};

template <class T>
class QueryTiles {
 public:
  QueryTiles(const ScorePass& pass, float* memory) : pass_(pass), dims_(pass.dims) {
    Carver carver(memory);
    width_ = padded_head(dims_);
    strip_.stride = round_up(dims_.seq_len, kKeyTile) + kLanes;  // not a power of two
    keys_ = carver.take(round_up(dims_.seq_len, kKeyTile) * dims_.head_dim);
    values_ = carver.take(round_up(dims_.seq_len, kKeyTile) * width_);
    queries_ = carver.take(kQueryTile * width_);
    sums_ = carver.take(kQueryTile * width_);
    strip_.scores = carver.take(kQueryTile * strip_.stride);
    used_ = carver.used();
  }
  static std::int64_t floats(const ScorePass& pass) { return QueryTiles(pass, nullptr).used_; }

  // keep(ScoreRow) turns the visible scores of a row into the weights of its values, and stores them.
  template <class Keep>
  void run(std::int64_t unit, std::int64_t part, std::int64_t parts, const Keep& keep) {
    const auto [batch, kv_head, group] = unit_head(dims_, unit);
    const PackedShape shape{dims_.seq_len, dims_.head_dim, width_};
    pack_columns<T>(head_rows<const T>(pass_.keys, dims_, batch, kv_head), shape, kKeyTile, keys_);
    pack_rows<T>(head_rows<const T>(pass_.values, dims_, batch, kv_head), shape, 1.0F, values_);
    const std::int64_t tiles = (dims_.seq_len + kQueryTile - 1) / kQueryTile;
    for (std::int64_t i = part; i < group * tiles; i += parts) {
      query_tile(batch, kv_head * group + i / tiles, i % tiles * kQueryTile, keep);
    }
  }

 private:
  template <class Keep>
  void query_tile(std::int64_t batch, std::int64_t head, std::int64_t row, const Keep& keep) {
    const std::int64_t rows = std::min(kQueryTile, dims_.seq_len - row);
    auto queries = head_rows<const T>(pass_.queries, dims_, batch, head);
    queries.data = queries.row(row);
    pack_rows<T>(queries, {rows, dims_.head_dim, width_}, pass_.query_factor, queries_);
    const std::int32_t* const first_T = DocumentRows(pass_.first_N, dims_.seq_len).of_sequence(batch);
    const std::int64_t begin = first_key_tile(first_T, row, kKeyTile);
    for_key_tiles(begin, row, rows, [&](const ScoreTile& tile) {
      score_product(tile, {.a = queries_,
                           .a_stride = width_,
                           .b = keys_ + tile.key * dims_.head_dim,
                           .b_stride = kKeyTile,
                           .c = strip_.scores + tile.key,
                           .c_stride = strip_.stride,
                           .k = dims_.head_dim});
    });
    const std::int64_t end = round_up(row + rows, kKeyTile);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t first = first_T == nullptr ? 0 : first_T[row + r];
      keep(ScoreRow{batch, head, row + r, strip_.scores + r * strip_.stride, begin, end, first});
    }
    std::fill(sums_, sums_ + rows * width_, 0.0F);
    for_key_tiles(begin, row, rows, [&](const ScoreTile& tile) {
      value_product(tile, {.a = strip_.scores + tile.key,
                           .a_stride = strip_.stride,
                           .b = values_ + tile.key * width_,
                           .b_stride = width_,
                           .c = sums_,
                           .c_stride = width_,
                           .n = width_});
    });
    const auto sums = head_rows<T>(pass_.sums, dims_, batch, head);
    unpack_rows<T>(sums_, {rows, dims_.head_dim, width_}, pass_.sum_factor, {sums.row(row), sums.stride});
  }

  const ScorePass& pass_;
  const AttentionDims& dims_;
  std::int64_t width_ = 0;
  std::int64_t used_ = 0;
  float* keys_ = nullptr;
  float* values_ = nullptr;
  float* queries_ = nullptr;
  float* sums_ = nullptr;
  Strip strip_;
};

template <class T, class Keep>
void run_pass(const ScorePass& pass, Scratch& scratch, const Keep& keep) {
  const auto division = divide_units(pass.dims);
  scratch.prepare(division.threads, QueryTiles<T>::floats(pass));
  for_items(division.items(), division.threads, [&](std::int64_t item, int thread) {
    QueryTiles<T>(pass, scratch.of_thread(thread))
        .run(item / division.parts, item % division.parts, division.parts, keep);
  });
}

// In place; returns the logsumexp.
float softmax_row(float* scores, std::int64_t n) {
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

// Replaces dweight by dscore = weight * (dweight - sum of weight * dweight).
template <class T>
void softmax_gradient(float* dweights, const T* weights, std::int64_t n) {
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

// dkey and dvalue of one tile of keys, from the stored probabilities and score gradients of all later queries.
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
    const std::int32_t* const first_T = DocumentRows(args_.first_N, dims_.seq_len).of_sequence(batch);
    for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
      for (std::int64_t row = key / kQueryTile * kQueryTile; row < dims_.seq_len; row += kQueryTile) {
        const ScoreTile tile{row, std::min(kQueryTile, dims_.seq_len - row), key, kKeyTile, first_T};
        if (tile.all_hidden()) break;
        add_queries(tile, present, batch, head);
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
    const auto pack = [&](const RowsView& x, float factor, float* to) {
      auto rows = head_rows<const T>(x, dims_, batch, head);
      rows.data = rows.row(tile.row);
      pack_rows<T>(rows, {tile.rows, dims_.head_dim, width_}, factor, to);
    };
    pack(args_.query, dims_.score_factor, query_);
    pack(args_.dcontext, 1.0F, dcontext_);
    const PackedShape shape{tile.rows, present, kKeyTile};
    const auto pack_scores = [&](const TensorView& x, float* to) {
      const T* const first = score_row<const T>(x, dims_, batch, head, tile.row) + tile.key;
      pack_rows<T>({first, dims_.seq_len}, shape, 1.0F, to);
    };
    pack_scores(args_.weights_BHTT, weights_);
    pack_scores(args_.dweights_BHTT, dscores_);
    // Pairs of query and key that do not see each other are zero: both earlier passes wrote that, up to the end of the
    // diagonal's tile.
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

// dbias for one head of one sequence, from the stored score gradients. row_T: a buffer for one row.
template <class T>
void sum_by_distance(const AttentionBackwardArgs& args, std::int64_t batch, std::int64_t head, float* row_T) {
  const AttentionDims& dims = args.dims;
  float* const dbias = distance_row(args.dbias_BHT, dims, batch * dims.n_heads + head);
  std::fill(dbias, dbias + dims.seq_len, 0.0F);
  for (std::int64_t row = 0; row < dims.seq_len; ++row) {
    const T* const dscores = score_row<const T>(args.dweights_BHTT, dims, batch, head, row);
    for (std::int64_t i = 0; i <= row; ++i) row_T[i] = to_f32(dscores[i]);
    add_by_distance(row_T, row, row + 1, dbias);
  }
}

void require_weights_of(DType dtype, const TensorView& weights) {
  if (weights.dtype != dtype) throw LogicFault("dot_product attention: the probabilities have the type of the queries");
}

}  // namespace

void dot_product_forward(const AttentionForwardArgs& args, Scratch& scratch) {
  require_weights_of(args.query.dtype, args.weights_BHTT);
  const AttentionDims& dims = args.dims;
  const ScorePass pass{.dims = dims,
                       .queries = args.query,
                       .query_factor = dims.score_factor,
                       .keys = args.key,
                       .values = args.value,
                       .sums = args.context,
                       .first_N = args.first_N};
  with_element_type(args.query.dtype, [&]<class T>() {
    run_pass<T>(pass, scratch, [&](const ScoreRow& r) {
      const float* const bias = distance_row(args.bias_HT, dims, r.head);
      if (bias != nullptr) add_bias(bias, r.row - r.first, r.visible(), r.of_visible());
      const float logsumexp = softmax_row(r.of_visible(), r.visible());
      args.logsumexp_BHT.as<float>()[(r.batch * dims.n_heads + r.head) * dims.seq_len + r.row] = logsumexp;
      r.mask();
      keep_row<T>(r.scores, r.first, r.visible(), score_row<T>(args.weights_BHTT, dims, r.batch, r.head, r.row),
                  dims.seq_len);
    });
  });
}

void dot_product_backward(const AttentionBackwardArgs& args, Scratch& scratch) {
  require_weights_of(args.query.dtype, args.weights_BHTT);
  require_weights_of(args.query.dtype, args.dweights_BHTT);
  const AttentionDims& dims = args.dims;
  const ScorePass pass{.dims = dims,
                       .queries = args.dcontext,
                       .keys = args.value,
                       .values = args.key,
                       .sums = args.dquery,
                       .sum_factor = dims.score_factor,
                       .first_N = args.first_N};
  const auto division = divide_units(dims);
  const std::int64_t key_tiles = (dims.seq_len + kKeyTile - 1) / kKeyTile;
  with_element_type(args.query.dtype, [&]<class T>() {
    run_pass<T>(pass, scratch, [&](const ScoreRow& r) {
      const T* const weights = score_row<const T>(args.weights_BHTT, dims, r.batch, r.head, r.row);
      softmax_gradient(r.of_visible(), weights + r.first, r.visible());
      r.mask();
      keep_row<T>(r.scores, r.first, r.visible(), score_row<T>(args.dweights_BHTT, dims, r.batch, r.head, r.row),
                  std::min(r.end, dims.seq_len));
    });
    scratch.prepare(division.threads, KeyGradient<T>::floats(args));
    for_items(division.units * key_tiles, division.threads, [&](std::int64_t item, int thread) {
      KeyGradient<T>(args, scratch.of_thread(thread)).run(item / key_tiles, item % key_tiles * kKeyTile);
    });
    if (!args.dbias_BHT.defined()) return;
    scratch.prepare(division.threads, dims.seq_len);
    for_items(dims.batch * dims.n_heads, division.threads, [&](std::int64_t item, int thread) {
      sum_by_distance<T>(args, item / dims.n_heads, item % dims.n_heads, scratch.of_thread(thread));
    });
  });
}

}  // namespace perfbench::engine::cpu
