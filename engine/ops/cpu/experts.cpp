// Routing of tokens to experts, moving their rows, and the experts' products.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/parallel.h"
#include "engine/ops/cpu/row_sum.h"

namespace perfbench::engine::cpu {
namespace {

// A NaN is above all other values: it is chosen, and shows in the gates.
bool above(float a, float b) {
  return a > b || (std::isnan(a) && !std::isnan(b));
}

// The experts of one token and their gates. Even if logits are NaN, the choices are distinct experts.
void choose(const float* logits, std::int64_t experts, std::int64_t choices, std::int32_t* chosen, float* gates) {
  for (std::int64_t c = 0; c < choices; ++c) {
    std::int64_t best = -1;
    for (std::int64_t e = 0; e < experts; ++e) {
      if (std::find(chosen, chosen + c, static_cast<std::int32_t>(e)) != chosen + c) continue;
      if (best < 0 || above(logits[e], logits[best])) best = e;
    }
    chosen[c] = static_cast<std::int32_t>(best);
  }
  double sum = 0;
  for (std::int64_t c = 0; c < choices; ++c) {
    gates[c] = std::exp(logits[chosen[c]] - logits[chosen[0]]);
    sum += static_cast<double>(gates[c]);
  }
  for (std::int64_t c = 0; c < choices; ++c) gates[c] = static_cast<float>(static_cast<double>(gates[c]) / sum);
}

// 1 / the sum of exp(logit - maximum), and the maximum.
struct Softmax {
  Softmax(const float* logits, std::int64_t experts) : maximum(*std::max_element(logits, logits + experts)) {
    double sum = 0;
    for (std::int64_t e = 0; e < experts; ++e) sum += static_cast<double>(std::exp(logits[e] - maximum));
    scale = 1.0 / sum;
  }
  double probability(float logit) const { return static_cast<double>(std::exp(logit - maximum)) * scale; }

  float maximum;
  double scale = 0;
};

// For each expert, how many of the first `counted` choices of a sequence's tokens are that expert.
void count_choices(const std::int32_t* experts_TC, std::int64_t choices, std::int64_t counted, std::int64_t seq_len,
                   std::int64_t experts, float* counts) {
  std::fill(counts, counts + experts, 0.0F);
  for (std::int64_t t = 0; t < seq_len; ++t) {
    for (std::int64_t c = 0; c < counted; ++c) counts[experts_TC[t * choices + c]] += 1.0F;
  }
}

// f_e of a sequence: how often its tokens' first choices are e, over T.
void choice_shares(const std::int32_t* experts_TC, std::int64_t choices, const RoutingRule& rule, std::int64_t experts,
                   float* shares) {
  count_choices(experts_TC, choices, rule.balance_choices, rule.seq_len, experts, shares);
  for (std::int64_t e = 0; e < experts; ++e) shares[e] /= static_cast<float>(rule.seq_len);
}

float largest_load(const std::int32_t* experts_TC, std::int64_t choices, std::int64_t seq_len, std::int64_t experts,
                   float* counts) {
  count_choices(experts_TC, choices, choices, seq_len, experts, counts);
  return *std::max_element(counts, counts + experts) * static_cast<float>(experts) /
         static_cast<float>(seq_len * choices);
}

float balance(const float* logits_TE, const float* shares, std::int64_t experts, std::int64_t seq_len) {
  double sum = 0;
  for (std::int64_t t = 0; t < seq_len; ++t) {
    const float* const logits = logits_TE + t * experts;
    const Softmax softmax(logits, experts);
    for (std::int64_t e = 0; e < experts; ++e) sum += static_cast<double>(shares[e]) * softmax.probability(logits[e]);
  }
  return static_cast<float>(sum * static_cast<double>(experts) / static_cast<double>(seq_len));
}

// Assigns rows to the choices of a group of tokens.
class RowGiver {
 public:
  explicit RowGiver(const RouteForwardArgs& args)
      : args_(args),
        rule_(args.rule),
        choices_(args.gates_NC.shape[1]),
        experts_(args.logits_NE.shape[1]),
        per_part_(experts_ / rule_.parts),
        chosen_(args.experts_NC.as<const std::int32_t>()),
        segments_(args.segments_E2.as<std::int32_t>()),
        dropped_(args.dropped_E.as<float>()) {}

  void run(std::int64_t tokens) {
    std::fill_n(args_.choices_Q.as<std::int32_t>(), rule_.parts * rule_.part_rows, -1);
    if (dropped_ != nullptr) std::fill_n(dropped_, experts_, 0.0F);
    std::fill_n(segments_, 2 * experts_, 0);
    if (rule_.dropless()) {
      lay_out_by_need(tokens);
      give(0, tokens, 1, 0);
      return;
    }
    const std::int64_t groups = tokens / rule_.group_tokens;
    for (std::int64_t g = 0; g < groups; ++g) give(g * rule_.group_tokens, rule_.group_tokens, groups, g);
    for (std::int64_t e = 0; e < experts_; ++e) {
      first(e) = static_cast<std::int32_t>(e % per_part_ * groups * rule_.slots);
      count(e) = static_cast<std::int32_t>(groups * rule_.slots);
    }
  }

 private:
  std::int32_t& first(std::int64_t expert) { return segments_[2 * expert]; }
  std::int32_t& count(std::int64_t expert) { return segments_[2 * expert + 1]; }

  // Determines where each expert's rows begin if experts take all choices.
  void lay_out_by_need(std::int64_t tokens) {
    for (std::int64_t i = 0; i < tokens * choices_; ++i) ++count(chosen_[i]);
    std::int64_t end = 0;
    for (std::int64_t e = 0; e < experts_; ++e) {
      if (e % per_part_ == 0) end = 0;
      first(e) = static_cast<std::int32_t>(std::min(end, rule_.part_rows));
      end += count(e);
      count(e) = 0;
    }
  }

  // Adds to `count` the number of choices that each expert has taken.
  void give(std::int64_t first_token, std::int64_t tokens, std::int64_t groups, std::int64_t group) {
    for (std::int64_t e = 0; e < experts_; ++e) count(e) = 0;
    const bool by_choice = rule_.order == RoutingRule::Order::by_choice;
    for (std::int64_t i = 0; i < tokens * choices_; ++i) {
      const std::int64_t token = by_choice ? i % tokens : i / choices_;
      const std::int64_t choice = by_choice ? i / tokens : i % choices_;
      give_row((first_token + token) * choices_ + choice, groups, group);
    }
  }

  void give_row(std::int64_t choice, std::int64_t groups, std::int64_t group) {
    const std::int64_t expert = chosen_[choice];
    const std::int64_t begin = rule_.dropless() ? first(expert) : (expert % per_part_ * groups + group) * rule_.slots;
    const std::int64_t room = rule_.dropless() ? rule_.part_rows - begin : rule_.slots;
    std::int32_t& row = args_.rows_NC.as<std::int32_t>()[choice];
    if (count(expert) >= room) {
      row = -1;
      if (dropped_ != nullptr) dropped_[expert] += 1.0F;
      return;
    }
    row = static_cast<std::int32_t>(expert / per_part_ * rule_.part_rows + begin + count(expert));
    args_.choices_Q.as<std::int32_t>()[row] = static_cast<std::int32_t>(choice);
    ++count(expert);
  }

  const RouteForwardArgs& args_;
  const RoutingRule& rule_;
  std::int64_t choices_;
  std::int64_t experts_;
  std::int64_t per_part_;
  const std::int32_t* chosen_;
  std::int32_t* segments_;
  float* dropped_;  // or null
};

// dlogits of one token.
template <class T>
void token_backward(const RouteBackwardArgs& args, std::int64_t token, const float* shares, T* dlogits) {
  const std::int64_t experts = args.logits_NE.shape[1];
  const std::int64_t choices = args.gates_NC.shape[1];
  const float* const logits = args.logits_NE.as<const float>() + token * experts;
  const float* const gates = args.gates_NC.as<const float>() + token * choices;
  const float* const dgates = args.dgates_NC.as<const float>() + token * choices;
  const auto* const chosen = args.experts_NC.as<const std::int32_t>() + token * choices;
  // The gradient of the balance: scale * E/T * p_e * (f_e - sum over e' of f_e' p_e').
  const double scale = args.balance_scale * static_cast<double>(experts) / static_cast<double>(args.rule.seq_len);
  const Softmax softmax(logits, experts);
  double mean_share = 0;
  double mean_gradient = 0;
  for (std::int64_t e = 0; e < experts && scale != 0.0; ++e) {
    mean_share += static_cast<double>(shares[e]) * softmax.probability(logits[e]);
  }
  for (std::int64_t c = 0; c < choices; ++c)
    mean_gradient += static_cast<double>(gates[c]) * static_cast<double>(dgates[c]);
  for (std::int64_t e = 0; e < experts; ++e) {
    double d =
        scale == 0.0 ? 0.0 : scale * softmax.probability(logits[e]) * (static_cast<double>(shares[e]) - mean_share);
    const auto* const found = std::find(chosen, chosen + choices, static_cast<std::int32_t>(e));
    if (found != chosen + choices) {
      const auto c = found - chosen;
      d += static_cast<double>(gates[c]) * (static_cast<double>(dgates[c]) - mean_gradient);
    }
    dlogits[e] = from_f32<T>(static_cast<float>(d));
  }
}

// out = factor * in.
template <class T>
void scale_row(T* out, const T* in, float factor, std::int64_t n) {
  for_vectors(
      n, [&](std::int64_t i) { store(out + i, load(in + i) * factor); },
      [&](std::int64_t i, std::int64_t part) { store_part(out + i, load_part(in + i, part) * factor, part); });
}

template <class T>
void combine_token(const CombineArgs& args, std::int64_t token, T* x) {
  const std::int64_t width = args.x_NM.shape[1];
  const std::int64_t choices = args.rows_NC.shape[1];
  const auto* const rows = args.rows_NC.as<const std::int32_t>() + token * choices;
  const float* const gates = args.gates_NC.defined() ? args.gates_NC.as<const float>() + token * choices : nullptr;
  for (std::int64_t i = 0; i < width; i += kLanes) {
    const std::int64_t n = std::min(kLanes, width - i);
    Vec sum = args.write == Write::accumulate ? load_up_to(x + i, n) : Vec{};
    for (std::int64_t c = 0; c < choices; ++c) {
      if (rows[c] < 0) continue;
      const Vec row = load_up_to(args.rows_QM.as<const T>() + rows[c] * width + i, n);
      sum += gates == nullptr ? row : row * gates[c];
    }
    store_up_to(x + i, sum, n);
  }
}

// Rows [first, first + count) of a tensor of rows.
TensorView rows_at(const TensorView& t, std::int64_t first, std::int64_t count) {
  return t.slice(first * t.shape[1], Shape{count, t.shape[1]});
}

void set_to_zero(const TensorView& t) {
  if (t.elements() > 0) std::memset(t.data, 0, static_cast<std::size_t>(t.bytes()));
}

// Calls f(part, expert, first row, rows) for every segment, and gap(first row, rows) for rows between segments.
template <class Segment, class Gap>
void for_segments(const TensorView& segments_PX2, std::int64_t all_rows, Segment&& f, Gap&& gap) {
  const std::int64_t parts = segments_PX2.shape[0];
  const std::int64_t experts = segments_PX2.shape[1];
  const std::int64_t part_rows = all_rows / parts;
  const auto* segment = segments_PX2.as<const std::int32_t>();
  for (std::int64_t p = 0; p < parts; ++p) {
    std::int64_t end = p * part_rows;
    for (std::int64_t x = 0; x < experts; ++x, segment += 2) {
      const std::int64_t first = p * part_rows + segment[0];
      if (first > end) gap(end, first - end);
      f(p, x, first, std::int64_t{segment[1]});
      end = std::max(end, first + segment[1]);
    }
    if (end < (p + 1) * part_rows) gap(end, (p + 1) * part_rows - end);
  }
}

}  // namespace

void CpuOps::do_route_forward(const RouteForwardArgs& args) {
  const std::int64_t tokens = args.logits_NE.shape[0];
  const std::int64_t experts = args.logits_NE.shape[1];
  const std::int64_t choices = args.gates_NC.shape[1];
  const auto* const logits = args.logits_NE.as<const float>();
  auto* const chosen = args.experts_NC.as<std::int32_t>();
  for_ranges(
      tokens,
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t n = begin; n < end; ++n) {
          choose(logits + n * experts, experts, choices, chosen + n * choices, args.gates_NC.as<float>() + n * choices);
        }
      },
      experts * choices);
  RowGiver(args).run(tokens);
  if (!args.balance_B.defined()) return;
  const std::int64_t seq_len = args.rule.seq_len;
  float* const shares = place<workspace::cpu::RouteParts>("route_forward", tokens / seq_len, experts).shares_BE;
  for_ranges(
      tokens / seq_len,
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t b = begin; b < end; ++b) {
          const std::int32_t* const own = chosen + b * seq_len * choices;
          args.load_B.as<float>()[b] = largest_load(own, choices, seq_len, experts, shares + b * experts);
          choice_shares(own, choices, args.rule, experts, shares + b * experts);
          args.balance_B.as<float>()[b] =
              balance(logits + b * seq_len * experts, shares + b * experts, experts, seq_len);
        }
      },
      seq_len * experts);
}

void CpuOps::do_route_backward(const RouteBackwardArgs& args) {
  const std::int64_t tokens = args.logits_NE.shape[0];
  const std::int64_t experts = args.logits_NE.shape[1];
  const std::int64_t choices = args.gates_NC.shape[1];
  const std::int64_t seq_len = args.rule.seq_len;
  float* const shares = place<workspace::cpu::RouteParts>("route_backward", tokens / seq_len, experts).shares_BE;
  for (std::int64_t b = 0; b < tokens / seq_len; ++b) {
    choice_shares(args.experts_NC.as<const std::int32_t>() + b * seq_len * choices, choices, args.rule, experts,
                  shares + b * experts);
  }
  with_element_type(args.dlogits_NE.dtype, [&]<class T>() {
    for_ranges(
        tokens,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t n = begin; n < end; ++n) {
            token_backward(args, n, shares + n / seq_len * experts, args.dlogits_NE.as<T>() + n * experts);
          }
        },
        experts);
  });
}

void CpuOps::do_dispatch(const DispatchArgs& args) {
  const std::int64_t width = args.x_NM.shape[1];
  const auto* const choices = args.choices_Q.as<const std::int32_t>();
  with_element_type(args.x_NM.dtype, [&]<class T>() {
    for_ranges(
        args.rows_QM.shape[0],
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t q = begin; q < end; ++q) {
            T* const row = args.rows_QM.as<T>() + q * width;
            const auto bytes = static_cast<std::size_t>(width) * sizeof(T);
            if (choices[q] < 0) {
              std::memset(static_cast<void*>(row), 0, bytes);
              continue;
            }
            const T* const x = args.x_NM.as<const T>() + choices[q] / args.choices_per_token * width;
            if (args.gates_NC.defined()) {
              scale_row(row, x, args.gates_NC.as<const float>()[choices[q]], width);
            } else {
              std::memcpy(static_cast<void*>(row), x, bytes);
            }
          }
        },
        width);
  });
}

void CpuOps::do_combine(const CombineArgs& args) {
  const std::int64_t width = args.x_NM.shape[1];
  with_element_type(args.x_NM.dtype, [&]<class T>() {
    for_ranges(
        args.x_NM.shape[0],
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t n = begin; n < end; ++n) combine_token(args, n, args.x_NM.as<T>() + n * width);
        },
        width * args.rows_NC.shape[1]);
  });
}

void CpuOps::do_gates_backward(const GatesBackwardArgs& args) {
  const std::int64_t width = args.dx_NM.shape[1];
  const std::int64_t choices = args.rows_NC.shape[1];
  const auto* const rows = args.rows_NC.as<const std::int32_t>();
  with_element_type(args.dx_NM.dtype, [&]<class T>() {
    for_ranges(
        args.rows_NC.elements(),
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            float& dgate = args.dgates_NC.as<float>()[i];
            dgate = 0.0F;
            if (rows[i] < 0) continue;
            const T* const dx = args.dx_NM.as<const T>() + i / choices * width;
            const T* const row = args.rows_QM.as<const T>() + rows[i] * width;
            const auto product = [&](std::int64_t at, std::int64_t n) {
              return std::pair{load_up_to(dx + at, n) * load_up_to(row + at, n), Vec{}};
            };
            dgate = two_row_sums(width, product).first;
          }
        },
        width);
  });
}

void CpuOps::do_expert_product(const ExpertProductArgs& args) {
  using Kind = ExpertProductArgs::Kind;
  const bool gradient = args.kind == Kind::weight_gradient;
  const TensorView& weight = gradient ? args.c : args.b;
  const Shape matrix{weight.shape[1], weight.shape[2]};
  const auto of_expert = [&](std::int64_t x) { return weight.slice(x * matrix.elements(), matrix); };
  const auto product = [&](std::int64_t part, std::int64_t x, std::int64_t first, std::int64_t rows) {
    const Write write = gradient && part > 0 ? Write::accumulate : args.write;
    if (rows == 0) {
      if (gradient && write == Write::overwrite) set_to_zero(of_expert(x));
      return;
    }
    MatmulArgs one{.a = rows_at(args.a, first, rows), .write = write};
    if (gradient) {
      one.transpose_a = Transpose::yes;
      one.b = rows_at(args.b, first, rows);
      one.c = of_expert(x);
    } else {
      one.transpose_b = args.kind == Kind::forward ? Transpose::yes : Transpose::no;
      one.b = of_expert(x);
      one.c = rows_at(args.c, first, rows);
    }
    do_matmul(one);
  };
  const auto gap = [&](std::int64_t first, std::int64_t rows) {
    if (!gradient && args.write == Write::overwrite) set_to_zero(rows_at(args.c, first, rows));
  };
  for_segments(args.segments_PX2, args.a.shape[0], product, gap);
}

}  // namespace perfbench::engine::cpu
