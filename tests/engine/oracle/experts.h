// Plain-loop f64 definitions of the operations of expert layers, from engine/ops/expert_operations.h.
#pragma once

#include <algorithm>
#include <numeric>

#include "tests/engine/oracle/products.h"

namespace perfbench::engine::oracle {

struct RouterShape {
  std::int64_t tokens, experts, choices;
};

struct Routing {
  Values gates;
  Values experts;
  Values rows;
  Values row_choices;
  Values segments;
  Values balance;
  Values load;
  Values dropped;
};

// For one token.
inline Values softmax(const Values& x) {
  const double most = *std::max_element(x.begin(), x.end());
  Values p(x.size());
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += p[i] = std::exp(x[i] - most);
  for (auto& v : p) v /= sum;
  return p;
}

inline Values token_logits(const Values& logits, const RouterShape& s, std::int64_t token) {
  return {logits.begin() + token * s.experts, logits.begin() + (token + 1) * s.experts};
}

// How often the sequence's tokens have the expert among their first choices, over the number of tokens.
inline double chosen_share(const Values& experts, const RouterShape& s, const RoutingRule& rule, std::int64_t sequence,
                           std::int64_t expert) {
  double share = 0.0;
  for (std::int64_t t = 0; t < rule.seq_len; ++t) {
    for (std::int64_t c = 0; c < rule.balance_choices; ++c) {
      const auto chosen = experts[index((sequence * rule.seq_len + t) * s.choices + c)];
      if (chosen == static_cast<double>(expert)) share += 1.0 / static_cast<double>(rule.seq_len);
    }
  }
  return share;
}

inline double balance_of(const Values& logits, const Values& experts, const RouterShape& s, const RoutingRule& rule,
                         std::int64_t sequence) {
  double sum = 0.0;
  for (std::int64_t e = 0; e < s.experts; ++e) {
    double mean = 0.0;
    for (std::int64_t t = 0; t < rule.seq_len; ++t) {
      const auto p = softmax(token_logits(logits, s, sequence * rule.seq_len + t));
      mean += p[index(e)] / static_cast<double>(rule.seq_len);
    }
    sum += chosen_share(experts, s, rule, sequence, e) * mean;
  }
  return static_cast<double>(s.experts) * sum;
}

inline double load_of(const Values& experts, const RouterShape& s, const RoutingRule& rule, std::int64_t sequence) {
  Values choices(index(s.experts), 0.0);
  const std::int64_t of_sequence = rule.seq_len * s.choices;
  for (std::int64_t i = 0; i < of_sequence; ++i) {
    choices[static_cast<std::size_t>(experts[index(sequence * of_sequence + i)])] += 1.0;
  }
  const double equal_share = static_cast<double>(of_sequence) / static_cast<double>(s.experts);
  return *std::max_element(choices.begin(), choices.end()) / equal_share;
}

// The numbers of the choices of tokens [first, first + count), in the rule's order.
inline std::vector<std::int64_t> order_of(const RouterShape& s, const RoutingRule& rule, std::int64_t first,
                                          std::int64_t count) {
  std::vector<std::int64_t> order;
  if (rule.order == RoutingRule::Order::by_token) {
    for (std::int64_t n = first; n < first + count; ++n) {
      for (std::int64_t c = 0; c < s.choices; ++c) order.push_back(n * s.choices + c);
    }
  } else {
    for (std::int64_t c = 0; c < s.choices; ++c) {
      for (std::int64_t n = first; n < first + count; ++n) order.push_back(n * s.choices + c);
    }
  }
  return order;
}

// Fills r.rows, r.row_choices, r.segments and r.dropped from r.experts.
inline void give_rows(Routing& r, const RouterShape& s, const RoutingRule& rule) {
  const std::int64_t of_part = s.experts / rule.parts;
  const std::int64_t group = rule.slots > 0 ? rule.group_tokens : s.tokens;
  const std::int64_t groups = s.tokens / group;
  r.rows.assign(index(s.tokens * s.choices), -1.0);
  r.row_choices.assign(index(rule.parts * rule.part_rows), -1.0);
  r.dropped.assign(index(s.experts), 0.0);
  for (std::int64_t part = 0; part < rule.parts; ++part) {
    std::int64_t next = 0;  // next free row of the part
    for (std::int64_t local = 0; local < of_part; ++local) {
      const std::int64_t e = part * of_part + local;
      const std::int64_t begin = rule.slots > 0 ? local * groups * rule.slots : next;
      for (std::int64_t g = 0; g < groups; ++g) {
        if (rule.slots > 0) next = begin + g * rule.slots;
        const std::int64_t end = rule.slots > 0 ? next + rule.slots : rule.part_rows;
        for (const auto choice : order_of(s, rule, g * group, group)) {
          if (r.experts[index(choice)] != static_cast<double>(e)) continue;
          if (next == end) {
            r.dropped[index(e)] += 1.0;
            continue;
          }
          const std::int64_t row = part * rule.part_rows + next++;
          r.rows[index(choice)] = static_cast<double>(row);
          r.row_choices[index(row)] = static_cast<double>(choice);
        }
      }
      r.segments.push_back(static_cast<double>(begin));
      r.segments.push_back(static_cast<double>(rule.slots > 0 ? groups * rule.slots : next - begin));
    }
  }
}

inline Routing route_forward(const Values& logits, const RouterShape& s, const RoutingRule& rule) {
  Routing r;
  for (std::int64_t n = 0; n < s.tokens; ++n) {
    const auto x = token_logits(logits, s, n);
    std::vector<std::size_t> best(x.size());
    std::iota(best.begin(), best.end(), 0);
    std::stable_sort(best.begin(), best.end(), [&](std::size_t a, std::size_t b) { return x[a] > x[b]; });
    Values chosen;
    for (std::int64_t c = 0; c < s.choices; ++c) {
      chosen.push_back(x[best[index(c)]]);
      r.experts.push_back(static_cast<double>(best[index(c)]));
    }
    const auto gates = softmax(chosen);
    r.gates.insert(r.gates.end(), gates.begin(), gates.end());
  }
  give_rows(r, s, rule);
  for (std::int64_t b = 0; b < s.tokens / rule.seq_len; ++b) {
    r.balance.push_back(balance_of(logits, r.experts, s, rule, b));
    r.load.push_back(load_of(r.experts, s, rule, b));
  }
  return r;
}

// By the chain rule: a softmax's dx[i] = sum over j of dp[j] p[j] ((i == j) - p[i]), once for the gates and once for
// the balance, whose dp[j] is E / T times the share of j. The magnitudes of both are separate.
struct RouteGradient {
  Values dlogits;
  Values gate_magnitude;
  Values balance_magnitude;
};

inline RouteGradient route_backward(const Values& dgates, const Values& logits, const Values& gates,
                                    const Values& experts, const RouterShape& s, const RoutingRule& rule,
                                    double balance_scale) {
  RouteGradient g{Values(logits.size()), Values(logits.size()), Values(logits.size())};
  for (std::int64_t n = 0; n < s.tokens; ++n) {
    const auto expert_of = [&](std::int64_t c) { return static_cast<std::int64_t>(experts[index(n * s.choices + c)]); };
    for (std::int64_t i = 0; i < s.choices; ++i) {
      for (std::int64_t j = 0; j < s.choices; ++j) {
        const double dp = dgates[index(n * s.choices + j)] * gates[index(n * s.choices + j)];
        const auto at = index(n * s.experts + expert_of(i));
        g.dlogits[at] += dp * ((i == j ? 1.0 : 0.0) - gates[index(n * s.choices + i)]);
        g.gate_magnitude[at] += std::abs(dp) * ((i == j ? 1.0 : 0.0) + gates[index(n * s.choices + i)]);
      }
    }
    const auto p = softmax(token_logits(logits, s, n));
    for (std::int64_t j = 0; j < s.experts; ++j) {
      const double share = chosen_share(experts, s, rule, n / rule.seq_len, j);
      const double dp = balance_scale * static_cast<double>(s.experts) * share / static_cast<double>(rule.seq_len);
      for (std::int64_t i = 0; i < s.experts; ++i) {
        const auto at = index(n * s.experts + i);
        g.dlogits[at] += dp * p[index(j)] * ((i == j ? 1.0 : 0.0) - p[index(i)]);
        g.balance_magnitude[at] += std::abs(dp) * p[index(j)] * ((i == j ? 1.0 : 0.0) + p[index(i)]);
      }
    }
  }
  return g;
}

// Weights are [X, O, I]; segments [P, X, 2] for parts of `part_rows` rows each.
struct ExpertShape {
  std::int64_t parts, part_rows, experts, outputs, inputs;
};

// The values of c, and the number of terms in each sum: rows outside segments have none.
struct ExpertSums {
  WithMagnitude c;
  Values terms;
};

inline ExpertSums expert_product(ExpertProductArgs::Kind kind, const Values& a, const Values& b, const Values& segments,
                                 const ExpertShape& s) {
  using Kind = ExpertProductArgs::Kind;
  const std::int64_t rows = s.parts * s.part_rows;
  const auto size = index(kind == Kind::forward          ? rows * s.outputs
                          : kind == Kind::input_gradient ? rows * s.inputs
                                                         : s.experts * s.outputs * s.inputs);
  ExpertSums sums{{Values(size), Values(size)}, Values(size)};
  const auto add = [&](std::int64_t at, double x, double y) {
    sums.c.value[index(at)] += x * y;
    sums.c.magnitude[index(at)] += std::abs(x * y);
    sums.terms[index(at)] += 1.0;
  };
  for (std::int64_t part = 0; part < s.parts; ++part) {
    for (std::int64_t e = 0; e < s.experts; ++e) {
      const auto first = static_cast<std::int64_t>(segments[index(2 * (part * s.experts + e))]);
      const auto count = static_cast<std::int64_t>(segments[index(2 * (part * s.experts + e) + 1)]);
      for (std::int64_t q = part * s.part_rows + first; q < part * s.part_rows + first + count; ++q) {
        for (std::int64_t o = 0; o < s.outputs; ++o) {
          for (std::int64_t i = 0; i < s.inputs; ++i) {
            const std::int64_t of_weight = (e * s.outputs + o) * s.inputs + i;
            const std::int64_t of_output = q * s.outputs + o;
            const std::int64_t of_input = q * s.inputs + i;
            if (kind == Kind::forward) add(of_output, a[index(of_input)], b[index(of_weight)]);
            if (kind == Kind::input_gradient) add(of_input, a[index(of_output)], b[index(of_weight)]);
            if (kind == Kind::weight_gradient) add(of_weight, a[index(of_output)], b[index(of_input)]);
          }
        }
      }
    }
  }
  return sums;
}

}  // namespace perfbench::engine::oracle
