// How near the products of a training step come to the rate of the machine's fused multiply-adds, and whether fewer and
// larger products come nearer: llama-110m's shapes at a step's tokens (256 and 1,024), with the library's sgemm and
// with the engine's provider; projections that read one input are measured separately and joined. Prints a markdown
// table. Each round measures everything that a line compares, one after the other, with caches emptied in between.
//
// usage: product_benchmark [ROUNDS [TOKENS]...]
#include <dnnl.h>
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "engine/ops/cpu/matmul_provider.h"
#include "engine/ops/cpu/vector.h"

namespace {

using perfbench::engine::Transpose;
using perfbench::engine::Write;
using perfbench::engine::cpu::kLanes;
using perfbench::engine::cpu::matmul_provider;
using perfbench::engine::cpu::SgemmArgs;
using perfbench::engine::cpu::splat;
using perfbench::engine::cpu::Vec;

enum class Pass { forward, dx, dw };

// `parts` projections [width, inputs] of the same rows.
struct Projection {
  const char* name;
  std::int64_t parts;
  std::int64_t width;
  std::int64_t inputs;
};

constexpr Projection kProjections[] = {{"query, key, value", 3, 768, 768},
                                       {"out", 1, 768, 768},
                                       {"gate, up", 2, 2048, 768},
                                       {"down", 1, 768, 2048},
                                       {"logits", 1, 32000, 768}};

// Multiply-adds that depend only on registers: FLOP/s of all threads.
double fma_rate() {
  constexpr int kChains = 12;
  constexpr std::int64_t kTurns = 1'000'000;
  double sink = 0;
  const auto begin = std::chrono::steady_clock::now();
#pragma omp parallel reduction(+ : sink)
  {
    volatile float unknown = 1.0F;  // otherwise the compiler would compute all this, or equal chains only once
    Vec chains[kChains];
    for (int i = 0; i < kChains; ++i) chains[i] = splat(unknown * static_cast<float>(i));
    const Vec factor = splat(unknown * 0.999F);
    const Vec term = splat(unknown * 0.001F);
    for (std::int64_t turn = 0; turn < kTurns; ++turn) {
#pragma GCC unroll 12
      for (int i = 0; i < kChains; ++i) chains[i] = chains[i] * factor + term;
    }
    for (const auto& v : chains) sink += v[0];
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (sink == 0) fmt::print("\n");  // keeps the sums alive
  return 2.0 * kChains * kLanes * kTurns * omp_get_max_threads() / seconds.count();
}

void library_sgemm(const SgemmArgs& s) {
  dnnl_sgemm(s.transpose_a == Transpose::yes ? 'T' : 'N', s.transpose_b == Transpose::yes ? 'T' : 'N', s.m, s.n, s.k,
             1.0F, s.a, s.a_stride, s.b, s.b_stride, s.write == Write::accumulate ? 1.0F : 0.0F, s.c, s.c_stride);
}

class Operands {
 public:
  Operands(const Projection& p, std::int64_t tokens)
      : p_(p),
        tokens_(tokens),
        x_(size(tokens * p.inputs), 0.5F),
        y_(size(tokens * p.parts * p.width), 0.5F),
        w_(size(p.parts * p.width * p.inputs), 0.5F) {}

  // The products of one pass over `parts` of `width`: the projection's own, or one for their sum.
  template <class Sgemm>
  void multiply(Pass pass, std::int64_t parts, Sgemm&& sgemm) {
    const std::int64_t width = p_.parts * p_.width / parts;
    for (std::int64_t i = 0; i < parts; ++i) {
      float* const w = w_.data() + i * width * p_.inputs;
      float* const y = y_.data() + i * width * tokens_;
      switch (pass) {
        case Pass::forward:
          sgemm({.transpose_b = Transpose::yes,
                 .m = tokens_,
                 .n = width,
                 .k = p_.inputs,
                 .a = x_.data(),
                 .a_stride = p_.inputs,
                 .b = w,
                 .b_stride = p_.inputs,
                 .c = y,
                 .c_stride = width});
          break;
        case Pass::dx:
          sgemm({.m = tokens_,
                 .n = p_.inputs,
                 .k = width,
                 .a = y,
                 .a_stride = width,
                 .b = w,
                 .b_stride = p_.inputs,
                 .c = x_.data(),
                 .c_stride = p_.inputs,
                 .write = i == 0 ? Write::overwrite : Write::accumulate});
          break;
        case Pass::dw:
          sgemm({.transpose_a = Transpose::yes,
                 .m = width,
                 .n = p_.inputs,
                 .k = tokens_,
                 .a = y,
                 .a_stride = width,
                 .b = x_.data(),
                 .b_stride = p_.inputs,
                 .c = w,
                 .c_stride = p_.inputs});
          break;
      }
    }
  }
  double flops() const {
    return 2.0 * static_cast<double>(tokens_) * static_cast<double>(p_.parts * p_.width * p_.inputs);
  }

 private:
  static std::size_t size(std::int64_t elements) { return static_cast<std::size_t>(elements); }

  const Projection& p_;
  std::int64_t tokens_;
  std::vector<float> x_;
  std::vector<float> y_;
  std::vector<float> w_;
};

class Bench {
 public:
  explicit Bench(int rounds) : rounds_(rounds), others_(std::size_t{1} << 24, 1.0F) {}

  void line(const Projection& p, std::int64_t tokens, Pass pass) {
    Operands operands(p, tokens);
    std::vector<double> peak, library, engine, joined;
    for (int round = -1; round < rounds_; ++round) {  // the first one warms up
      const auto rate = [&](std::int64_t parts, auto&& sgemm) {
        for (auto& v : others_) v += 1.0F;
        const auto begin = std::chrono::steady_clock::now();
        operands.multiply(pass, parts, sgemm);
        return operands.flops() / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      };
      const double fma = fma_rate();
      const double of_library = rate(p.parts, library_sgemm);
      const double of_engine = rate(p.parts, matmul_provider().sgemm);
      const double of_joined = rate(1, matmul_provider().sgemm);
      if (round < 0) continue;
      peak.push_back(fma * 1e-9);
      library.push_back(of_library / fma);
      engine.push_back(of_engine / fma);
      joined.push_back(of_joined / of_engine);
    }
    constexpr const char* kPasses[] = {"forward", "dx", "dw"};
    fmt::print("| {} | {} | {} | {} | {:.0f} | {:.2f} | {:.2f} | {} |\n", omp_get_max_threads(), tokens, p.name,
               kPasses[static_cast<int>(pass)], median(peak), median(library), median(engine),
               p.parts == 1 ? "" : fmt::format("{:.2f}", median(joined)));
    std::fflush(stdout);
  }

 private:
  static double median(std::vector<double> v) {
    std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
  }

  int rounds_;
  std::vector<float> others_;  // stands for what a step reads and writes between two products
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> numbers;
  for (const std::string_view word : std::vector<std::string_view>(argv + 1, argv + argc)) {
    int number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc{} || end != word.data() + word.size() || number < 1) {
      fmt::print(stderr, "usage: product_benchmark [ROUNDS [TOKENS]...]\n");
      return 3;
    }
    numbers.push_back(number);
  }
  if (numbers.empty()) numbers = {15};
  if (numbers.size() == 1) numbers.insert(numbers.end(), {256, 1024});
  fmt::print(
      "| threads | tokens | projections | pass | FMA peak (GFLOP/s) | sgemm | engine | joined over apart |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  Bench bench(numbers.front());
  const int all = omp_get_max_threads();
  for (const int threads : all == 1 ? std::vector{1} : std::vector{1, all}) {
    omp_set_num_threads(threads);
    for (std::size_t i = 1; i < numbers.size(); ++i) {
      for (const auto& projection : kProjections) {
        for (const auto pass : {Pass::forward, Pass::dx, Pass::dw}) bench.line(projection, numbers[i], pass);
      }
    }
  }
}
