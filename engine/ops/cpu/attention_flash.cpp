// Tiled attention (Dao, "FlashAttention-2", 2023): the scores exist one tile at a time.
//
// Both directions compute the same scores, bit for bit, and subtract the maximum or logsumexp before they change to
// base
// 2. So the key with the largest score x has the same difference in both: logsumexp = x + log(sum) is rounded, but
// never to below x, and by no more than log(sum) upwards. However large the scores are, the probabilities of the
// backward pass are at most 1, and differ from those of the forward pass by at most a factor of `sum` (at most T). If
// log2(e) were folded into the scale and logsumexp went through two more products, they would be wrong by a factor of
// 2^(3 u x).
#include <cmath>
#include <limits>

#include "engine/ops/cpu/attention.h"
#include "engine/ops/cpu/vector_math.h"

namespace perfbench::engine::cpu {
namespace {

// Tile sizes from 48 to 256 performed within 5 % of each other with a first-level cache of 48 KiB.
constexpr std::int64_t kFlashQueryTile = 8 * kTileRows;
constexpr std::int64_t kFlashKeyTile = 128;    // forward
constexpr std::int64_t kBackwardKeyTile = 64;  // smaller, because two tiles of scores are alive

Vec exp_of_difference(Vec difference) {
  return exp2(difference * kLog2E);
}

template <class T>
class FlashForward {
 public:
  FlashForward(const AttentionForwardArgs& args, float* memory) : args_(args), dims_(args.dims) {
    lay_out(Carver(memory));
  }

  static std::int64_t floats(const AttentionForwardArgs& args) { return FlashForward(args, nullptr).used_; }

  // Computes query tiles part, part + parts, ... of one unit.
  void run(std::int64_t unit, std::int64_t part, std::int64_t parts) {
    const std::int64_t batch = unit / dims_.n_kv_heads;
    const std::int64_t kv_head = unit % dims_.n_kv_heads;
    const std::int64_t group = dims_.n_heads / dims_.n_kv_heads;
    const PackedShape shape{dims_.seq_len, dims_.head_dim, width_};
    pack_columns<T>(head_rows<const T>(args_.key, dims_, batch, kv_head), {shape.rows, shape.width, shape.width},
                    kFlashKeyTile, keys_);
    pack_rows<T>(head_rows<const T>(args_.value, dims_, batch, kv_head), shape, 1.0F, values_);
    const std::int64_t tiles = (dims_.seq_len + kFlashQueryTile - 1) / kFlashQueryTile;
    for (std::int64_t i = part; i < group * tiles; i += parts) {
      query_tile(batch, kv_head * group + i / tiles, i % tiles * kFlashQueryTile);
    }
  }

 private:
  void lay_out(Carver carver) {
    width_ = padded_head(dims_);
    const std::int64_t padded_keys = round_up(dims_.seq_len, kFlashKeyTile);
    keys_ = carver.take(padded_keys * dims_.head_dim);
    values_ = carver.take(padded_keys * width_);
    query_ = carver.take(kFlashQueryTile * width_);
    context_ = carver.take(kFlashQueryTile * width_);
    scores_ = carver.take(kFlashQueryTile * kFlashKeyTile);
    sums_ = carver.take(kFlashQueryTile * kLanes);
    maxima_ = carver.take(kFlashQueryTile);
    used_ = carver.used();
  }

  void query_tile(std::int64_t batch, std::int64_t head, std::int64_t row) {
    ScoreTile tile{.row = row,
                   .rows = std::min(kFlashQueryTile, dims_.seq_len - row),
                   .keys = kFlashKeyTile,
                   .first_T = DocumentRows(args_.first_N, dims_.seq_len).of_sequence(batch)};
    auto query = head_rows<const T>(args_.query, dims_, batch, head);
    query.data = query.row(row);
    pack_rows<T>(query, {tile.rows, dims_.head_dim, width_}, dims_.score_factor, query_);
    std::fill(context_, context_ + tile.rows * width_, 0.0F);
    std::fill(sums_, sums_ + tile.rows * kLanes, 0.0F);
    std::fill(maxima_, maxima_ + tile.rows, -std::numeric_limits<float>::infinity());
    bias_ = distance_row(args_.bias_HT, dims_, head);
    tile.key = first_key_tile(tile.first_T, row, kFlashKeyTile);
    for (; tile.key < row + tile.rows; tile.key += kFlashKeyTile) {
      score_product(tile, {.a = query_,
                           .a_stride = width_,
                           .b = keys_ + tile.key * dims_.head_dim,
                           .b_stride = kFlashKeyTile,
                           .c = scores_,
                           .c_stride = kFlashKeyTile,
                           .k = dims_.head_dim});
      softmax(tile);
      value_product(tile, {.a = scores_,
                           .a_stride = kFlashKeyTile,
                           .b = values_ + tile.key * width_,
                           .b_stride = width_,
                           .c = context_,
                           .c_stride = width_,
                           .n = width_});
    }
    finish(tile, batch, head);
  }

  // Scores become exp(score - maximum so far); earlier sums under a smaller maximum are scaled down.
  void softmax(const ScoreTile& tile) {
    const Vec lowest = splat(-std::numeric_limits<float>::infinity());
    for (std::int64_t r = tile.first_row(); r < tile.rows; ++r) {
      float* const scores = scores_ + r * kFlashKeyTile;
      const std::int64_t visible = tile.visible(r);
      const std::int64_t hidden = tile.hidden(r);
      if (hidden == visible) {  // the row's document begins behind the tile, which other rows see
        std::fill(scores, scores + kFlashKeyTile, 0.0F);
        continue;
      }
      const std::int64_t width = round_up(visible, kLanes);
      if (bias_ != nullptr) add_bias(bias_, tile.distance(r), visible, scores);
      std::fill(scores, scores + hidden, -std::numeric_limits<float>::infinity());
      if (visible < kFlashKeyTile) {
        float* const last = scores + width - kLanes;
        store(last, keep_lanes(load(last), visible - (width - kLanes), lowest));
        // Fills what the product with the values reads behind the visible keys, for the rows that it takes together.
        const std::int64_t end = std::min(kFlashKeyTile, round_up(visible + kMaskRows, kLanes));
        for (std::int64_t i = width; i < end; i += kLanes) store(scores + i, Vec{});
      }
      Vec most = load(scores);
      for (std::int64_t i = kLanes; i < width; i += kLanes) most = max(load(scores + i), most);
      const float maximum = std::max(maxima_[r], max_lanes(most));
      Vec sum = load(sums_ + r * kLanes);
      if (maximum != maxima_[r]) {
        const Vec shrink = exp_of_difference(splat(maxima_[r] - maximum));
        sum *= shrink;
        float* const context = context_ + r * width_;
        for (std::int64_t i = 0; i < width_; i += kLanes) store(context + i, load(context + i) * shrink);
        maxima_[r] = maximum;
      }
      for (std::int64_t i = 0; i < width; i += kLanes) {
        const Vec weight = exp_of_difference(load(scores + i) - maximum);
        store(scores + i, weight);
        sum += weight;
      }
      store(sums_ + r * kLanes, sum);
    }
  }

  void finish(const ScoreTile& tile, std::int64_t batch, std::int64_t head) const {
    auto context = head_rows<T>(args_.context, dims_, batch, head);
    float* const logsumexp =
        args_.logsumexp_BHT.template as<float>() + (batch * dims_.n_heads + head) * dims_.seq_len + tile.row;
    for (std::int64_t r = 0; r < tile.rows; ++r) {
      const float sum = sum_lanes(load(sums_ + r * kLanes));
      logsumexp[r] = maxima_[r] + std::log(sum);
      unpack_rows<T>(context_ + r * width_, {1, dims_.head_dim, width_}, 1.0F / sum,
                     {context.row(tile.row + r), context.stride});
    }
  }

  const AttentionForwardArgs& args_;
  const AttentionDims& dims_;
  std::int64_t width_ = 0;  // of packed rows
  std::int64_t used_ = 0;
  float* keys_ = nullptr;        // [tiles][D][kFlashKeyTile]
  float* values_ = nullptr;      // [T padded][width]
  float* query_ = nullptr;       // [kFlashQueryTile][width], times the scale
  float* context_ = nullptr;     // [kFlashQueryTile][width], not yet divided by the sums
  float* scores_ = nullptr;      // [kFlashQueryTile][kFlashKeyTile]
  float* sums_ = nullptr;        // [kFlashQueryTile][kLanes]
  float* maxima_ = nullptr;      // [kFlashQueryTile]
  const float* bias_ = nullptr;  // [T] of the head, or null
};

// The gradients that a walk over the tiles computes. If whole units do not keep all threads busy, keys and queries are
// walked separately, each divided among the threads, at the price of computing the scores twice. Sums run in the same
// order either way, so the bits are the same. dbias sums over both, so with a bias units stay whole.
enum class Wanted { all, dkey_dvalue, dquery };

template <class T>
class FlashBackward {
 public:
  FlashBackward(const AttentionBackwardArgs& args, float* memory) : args_(args), dims_(args.dims) {
    lay_out(Carver(memory));
  }

  static std::int64_t floats(const AttentionBackwardArgs& args) { return FlashBackward(args, nullptr).used_; }

  // Walks tiles part, part + parts, ... of the keys (dkey_dvalue) or of the queries (dquery).
  void run(Wanted wanted, std::int64_t unit, std::int64_t part, std::int64_t parts) {
    const std::int64_t batch = unit / dims_.n_kv_heads;
    const std::int64_t kv_head = unit % dims_.n_kv_heads;
    const std::int64_t group = dims_.n_heads / dims_.n_kv_heads;
    wanted_ = wanted;
    first_T_ = DocumentRows(args_.first_N, dims_.seq_len).of_sequence(batch);
    part_ = part;
    parts_ = parts;
    pack_keys(batch, kv_head);
    for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
      pack_queries(batch, head);
      bias_ = distance_row(args_.bias_HT, dims_, head);
      dbias_ = distance_row(args_.dbias_BHT, dims_, batch * dims_.n_heads + head);
      if (dbias_ != nullptr) std::fill(dbias_, dbias_ + dims_.seq_len, 0.0F);
      for (std::int64_t key = 0; key < dims_.seq_len; key += kBackwardKeyTile) {
        if (wanted_ != Wanted::dkey_dvalue || mine(key / kBackwardKeyTile)) key_tile(key);
      }
      if (wanted_ != Wanted::dkey_dvalue) write_dquery(batch, head);
    }
    if (wanted_ != Wanted::dquery) write_dkey_dvalue(batch, kv_head);
  }

 private:
  void lay_out(Carver carver) {
    width_ = padded_head(dims_);
    const std::int64_t keys = round_up(dims_.seq_len, kBackwardKeyTile);
    keys_turned_ = carver.take(keys * dims_.head_dim);
    values_turned_ = carver.take(keys * dims_.head_dim);
    for (float** rows : {&keys_, &dkey_, &dvalue_, &query_, &dcontext_, &dquery_}) *rows = carver.take(keys * width_);
    logsumexp_ = carver.take(dims_.seq_len);
    delta_ = carver.take(dims_.seq_len);
    weights_ = carver.take(kFlashQueryTile * kBackwardKeyTile);
    dscores_ = carver.take(kFlashQueryTile * kBackwardKeyTile);
    used_ = carver.used();
  }

  bool mine(std::int64_t tile) const { return tile % parts_ == part_; }

  // At most 1, also when rounding makes the difference positive.
  static Vec probability(Vec difference) { return exp_of_difference(at_most(difference, 0.0F)); }

  void pack_keys(std::int64_t batch, std::int64_t kv_head) {
    const auto key = head_rows<const T>(args_.key, dims_, batch, kv_head);
    const auto value = head_rows<const T>(args_.value, dims_, batch, kv_head);
    const PackedShape shape{dims_.seq_len, dims_.head_dim, width_};
    pack_columns<T>(key, shape, kBackwardKeyTile, keys_turned_);
    pack_columns<T>(value, shape, kBackwardKeyTile, values_turned_);
    pack_rows<T>(key, shape, 1.0F, keys_);
    std::fill(dkey_, dkey_ + dims_.seq_len * width_, 0.0F);
    std::fill(dvalue_, dvalue_ + dims_.seq_len * width_, 0.0F);
  }

  void pack_queries(std::int64_t batch, std::int64_t head) {
    const PackedShape shape{dims_.seq_len, dims_.head_dim, width_};
    pack_rows<T>(head_rows<const T>(args_.query, dims_, batch, head), shape, dims_.score_factor, query_);
    pack_rows<T>(head_rows<const T>(args_.dcontext, dims_, batch, head), shape, 1.0F, dcontext_);
    float* const context = dquery_;  // reuses memory that is not needed yet
    pack_rows<T>(head_rows<const T>(args_.context, dims_, batch, head), shape, 1.0F, context);
    sum_deltas(context);
    std::fill(dquery_, dquery_ + dims_.seq_len * width_, 0.0F);
    const float* const logsumexp =
        args_.logsumexp_BHT.template as<const float>() + (batch * dims_.n_heads + head) * dims_.seq_len;
    std::copy(logsumexp, logsumexp + dims_.seq_len, logsumexp_);
  }

  // delta[r] = sum of dcontext * context, which equals the sum over keys of weight * dweight. It is summed in the order
  // of the product that gives dweight: if a query sees only one key, its context is that key's value, and delta must
  // equal dweight. A difference in rounding would be multiplied by queries and keys, which are large where scores are.
  void sum_deltas(const float* context) {
    constexpr std::int64_t kRows = 8;  // rows side by side, because each sum waits for itself
    for (std::int64_t first = 0; first < dims_.seq_len; first += kRows) {
      const std::int64_t rows = std::min(kRows, dims_.seq_len - first);
      float sums[kRows] = {};
      for (std::int64_t i = 0; i < dims_.head_dim; ++i) {
        for (std::int64_t r = 0; r < rows; ++r) {
          const std::int64_t at = (first + r) * width_ + i;
          sums[r] += dcontext_[at] * context[at];
        }
      }
      std::copy(sums, sums + rows, delta_ + first);
    }
  }

  void key_tile(std::int64_t key) {
    for (std::int64_t row = key / kFlashQueryTile * kFlashQueryTile; row < dims_.seq_len; row += kFlashQueryTile) {
      if (wanted_ == Wanted::dquery && !mine(row / kFlashQueryTile)) continue;
      const ScoreTile tile{row, std::min(kFlashQueryTile, dims_.seq_len - row), key, kBackwardKeyTile, first_T_};
      if (tile.all_hidden()) break;
      score_tile(tile);
      if (first_T_ != nullptr) hide_other_documents(tile);
      if (dbias_ != nullptr) sum_by_distance(tile);
      accumulate(tile);
    }
  }

  // Computes the weights and the gradient of the scores of one tile.
  void score_tile(const ScoreTile& tile) {
    TileProduct product{.a = query_ + tile.row * width_,
                        .a_stride = width_,
                        .b = keys_turned_ + tile.key * dims_.head_dim,
                        .b_stride = kBackwardKeyTile,
                        .c = weights_,
                        .c_stride = kBackwardKeyTile,
                        .k = dims_.head_dim};
    score_product(tile, product);
    product.a = dcontext_ + tile.row * width_;
    product.b = values_turned_ + tile.key * dims_.head_dim;
    product.c = dscores_;
    score_product(tile, product);
    if (bias_ != nullptr) {
      for (std::int64_t r = tile.first_row(); r < tile.rows; ++r) {
        add_bias(bias_, tile.distance(r), tile.visible(r), weights_ + r * kBackwardKeyTile);
      }
    }
    for (std::int64_t r = tile.first_row(); r < tile.rows; ++r) {
      float* const weights = weights_ + r * kBackwardKeyTile;
      float* const dscores = dscores_ + r * kBackwardKeyTile;
      const float logsumexp = logsumexp_[tile.row + r];
      const float delta = delta_[tile.row + r];
      const std::int64_t visible = tile.visible(r);
      const std::int64_t whole = visible / kLanes * kLanes;
      for (std::int64_t i = 0; i < whole; i += kLanes) {
        const Vec weight = probability(load(weights + i) - logsumexp);
        store(weights + i, weight);
        store(dscores + i, weight * (load(dscores + i) - delta));
      }
      if (visible == kBackwardKeyTile) continue;
      // The register that the mask cuts, then zeros behind it for the rows that a product takes together.
      const Vec weight = keep_lanes(probability(load(weights + whole) - logsumexp), visible - whole);
      store(weights + whole, weight);
      store(dscores + whole, keep_lanes(weight * (load(dscores + whole) - delta), visible - whole));
      const std::int64_t end = std::min(kBackwardKeyTile, round_up(visible + kMaskRows, kLanes));
      for (std::int64_t i = whole + kLanes; i < end; i += kLanes) {
        store(weights + i, Vec{});
        store(dscores + i, Vec{});
      }
    }
  }

  void hide_other_documents(const ScoreTile& tile) const {
    for (std::int64_t r = tile.first_row(); r < tile.rows; ++r) {
      for (float* const of_tile : {weights_, dscores_}) {
        float* const scores = of_tile + r * kBackwardKeyTile;
        std::fill(scores, scores + tile.hidden(r), 0.0F);
      }
    }
  }

  void sum_by_distance(const ScoreTile& tile) const {
    for (std::int64_t r = tile.first_row(); r < tile.rows; ++r) {
      add_by_distance(dscores_ + r * kBackwardKeyTile, tile.distance(r), tile.visible(r), dbias_);
    }
  }

  void accumulate(const ScoreTile& tile) {
    const std::int64_t present = std::min(kBackwardKeyTile, dims_.seq_len - tile.key);
    TileProduct product{.a_stride = kBackwardKeyTile, .b_stride = width_, .c_stride = width_, .n = width_};
    product.a = dscores_;
    if (wanted_ != Wanted::dquery) {
      product.b = query_ + tile.row * width_;
      product.c = dkey_ + tile.key * width_;
      key_product(tile, present, product);
      product.a = weights_;
      product.b = dcontext_ + tile.row * width_;
      product.c = dvalue_ + tile.key * width_;
      key_product(tile, present, product);
    }
    if (wanted_ != Wanted::dkey_dvalue) {
      product.a = dscores_;
      product.b = keys_ + tile.key * width_;
      product.c = dquery_ + tile.row * width_;
      value_product(tile, product);
    }
  }

  void write_dquery(std::int64_t batch, std::int64_t head) const {
    const auto dquery = head_rows<T>(args_.dquery, dims_, batch, head);
    for (std::int64_t row = 0; row < dims_.seq_len; row += kFlashQueryTile) {
      if (!mine(row / kFlashQueryTile)) continue;
      unpack_rows<T>(dquery_ + row * width_, {std::min(kFlashQueryTile, dims_.seq_len - row), dims_.head_dim, width_},
                     dims_.score_factor, {dquery.row(row), dquery.stride});
    }
  }

  // The packed queries already include the scale.
  void write_dkey_dvalue(std::int64_t batch, std::int64_t kv_head) const {
    const auto dkey = head_rows<T>(args_.dkey, dims_, batch, kv_head);
    const auto dvalue = head_rows<T>(args_.dvalue, dims_, batch, kv_head);
    for (std::int64_t key = 0; key < dims_.seq_len; key += kBackwardKeyTile) {
      if (!mine(key / kBackwardKeyTile)) continue;
      const PackedShape shape{std::min(kBackwardKeyTile, dims_.seq_len - key), dims_.head_dim, width_};
      unpack_rows<T>(dkey_ + key * width_, shape, 1.0F, {dkey.row(key), dkey.stride});
      unpack_rows<T>(dvalue_ + key * width_, shape, 1.0F, {dvalue.row(key), dvalue.stride});
    }
  }

  const AttentionBackwardArgs& args_;
  const AttentionDims& dims_;
  Wanted wanted_ = Wanted::all;
  const std::int32_t* first_T_ = nullptr;  // of the sequence, or null
  std::int64_t part_ = 0;
  std::int64_t parts_ = 1;
  std::int64_t width_ = 0;
  std::int64_t used_ = 0;
  float* keys_turned_ = nullptr;    // [tiles][D][kBackwardKeyTile]
  float* values_turned_ = nullptr;  // as above
  float* keys_ = nullptr;           // these and the gradients: [T][width]
  float* dkey_ = nullptr;
  float* dvalue_ = nullptr;
  float* query_ = nullptr;  // times the scale
  float* dcontext_ = nullptr;
  float* dquery_ = nullptr;
  float* logsumexp_ = nullptr;
  float* delta_ = nullptr;
  float* weights_ = nullptr;  // [kFlashQueryTile][kBackwardKeyTile]
  float* dscores_ = nullptr;
  const float* bias_ = nullptr;  // [T] of the head, or null
  float* dbias_ = nullptr;
};

template <class T>
void flash_backward(const AttentionBackwardArgs& args, Scratch& scratch) {
  auto division = divide_units(args.dims);
  if (args.dbias_BHT.defined()) division.parts = 1;
  scratch.prepare(division.threads, FlashBackward<T>::floats(args));
  const auto walk = [&](Wanted wanted) {
    for_items(division.items(), division.threads, [&](std::int64_t item, int thread) {
      FlashBackward<T>(args, scratch.of_thread(thread))
          .run(wanted, item / division.parts, item % division.parts, division.parts);
    });
  };
  if (division.parts == 1) return walk(Wanted::all);
  walk(Wanted::dkey_dvalue);
  walk(Wanted::dquery);
}

}  // namespace

void flash_forward(const AttentionForwardArgs& args, Scratch& scratch) {
  const auto division = divide_units(args.dims);
  with_element_type(args.query.dtype, [&]<class T>() {
    scratch.prepare(division.threads, FlashForward<T>::floats(args));
    for_items(division.items(), division.threads, [&](std::int64_t item, int thread) {
      FlashForward<T>(args, scratch.of_thread(thread))
          .run(item / division.parts, item % division.parts, division.parts);
    });
  });
}

void flash_backward(const AttentionBackwardArgs& args, Scratch& scratch) {
  with_element_type(args.query.dtype, [&]<class T>() { flash_backward<T>(args, scratch); });
}

}  // namespace perfbench::engine::cpu
