#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "engine/ops/cuda/matmul/product.h"

namespace perfbench::engine::cuda {
namespace {

// The product in a library that stores matrices by columns: element (r, c) is at r + c * stride.
void multiply_by_columns(const Product& p) {
  const auto at = [](const Matrix& x, Transpose transpose, std::int64_t r, std::int64_t c) {
    const bool turned = transpose == Transpose::yes;
    return static_cast<const float*>(x.data)[turned ? c + r * x.row_stride : r + c * x.row_stride];
  };
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      float sum = 0;
      for (std::int64_t l = 0; l < p.k; ++l) sum += at(p.a, p.transpose_a, i, l) * at(p.b, p.transpose_b, l, j);
      static_cast<float*>(p.c.data)[i + j * p.c.row_stride] = sum;
    }
  }
}

std::vector<float> counted(std::int64_t count, float first) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (auto& x : values) x = first++;
  return values;
}

TEST(Accumulation, IsFastInTheProductsThatTheRunChooses) {
  using spec::Fp8Accumulation;
  const auto is_fast = [](Fp8Accumulation choice, DType a, DType b) {
    return accumulation_of(choice, a, b) == Accumulation::fast;
  };
  for (const auto choice : {Fp8Accumulation::full, Fp8Accumulation::fast_forward, Fp8Accumulation::fast}) {
    EXPECT_FALSE(is_fast(choice, DType::bf16, DType::bf16));
    EXPECT_EQ(is_fast(choice, DType::e4m3, DType::e4m3), choice != Fp8Accumulation::full);
    EXPECT_EQ(is_fast(choice, DType::e5m2, DType::e4m3), choice == Fp8Accumulation::fast) << "of an input's gradient";
    EXPECT_EQ(is_fast(choice, DType::e4m3, DType::e5m2), choice == Fp8Accumulation::fast);
  }
}

TEST(ProductByColumns, IsTheSameProduct) {
  constexpr std::int64_t kM = 2, kN = 3, kK = 4, kStride = 7;
  auto a = counted(kStride * kK, 1);
  auto b = counted(kStride * kK, 50);
  for (const auto ta : {Transpose::no, Transpose::yes}) {
    for (const auto tb : {Transpose::no, Transpose::yes}) {
      std::vector<float> c(kStride * kM, -1);
      multiply_by_columns(by_columns({.m = kM,
                                      .n = kN,
                                      .k = kK,
                                      .a = {a.data(), DType::f32, kStride},
                                      .b = {b.data(), DType::f32, kStride},
                                      .c = {c.data(), DType::f32, kStride},
                                      .transpose_a = ta,
                                      .transpose_b = tb}));
      const auto at = [](const std::vector<float>& x, Transpose transpose, std::int64_t row, std::int64_t column) {
        return x[static_cast<std::size_t>(transpose == Transpose::yes ? column * kStride + row
                                                                      : row * kStride + column)];
      };
      for (std::int64_t i = 0; i < kM; ++i) {
        for (std::int64_t j = 0; j < kN; ++j) {
          float want = 0;
          for (std::int64_t l = 0; l < kK; ++l) want += at(a, ta, i, l) * at(b, tb, l, j);
          EXPECT_EQ(at(c, Transpose::no, i, j), want);
        }
        EXPECT_EQ(at(c, Transpose::no, i, kN), -1);  // behind the row
      }
    }
  }
}

Product example() {
  static float memory[1024];
  auto* const start = reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(memory) + 255) / 256 * 256);
  return {.m = 4,
          .n = 4,
          .k = 4,
          .batch = 2,
          .a = {start, DType::f32, 4, 16},
          .b = {start, DType::f32, 4, 16},
          .c = {start, DType::f32, 4, 16}};
}

// Everything that affects which algorithm is fastest makes another problem, with another text.
TEST(ProductKey, DiffersWithEverythingThatMatters) {
  std::set<ProductKey> keys;
  std::set<std::string> texts;
  std::size_t count = 0;
  const auto add = [&](const Product& p, F32Products f32_products, std::int64_t workspace_bytes) {
    const auto key = key_of(p, f32_products, workspace_bytes);
    keys.insert(key);
    texts.insert(to_text(key));
    EXPECT_EQ(keys.size(), ++count) << to_text(key);
    EXPECT_EQ(texts.size(), count) << to_text(key);
  };
  add(example(), F32Products::exact, 0);
  add(example(), F32Products::exact, 1);
  add(example(), F32Products::tf32, 0);
  const auto add_changed = [&](auto change) {
    Product p = example();
    change(p);
    add(p, F32Products::exact, 0);
  };
  add_changed([](Product& p) { p.m = 3; });
  add_changed([](Product& p) { p.n = 3; });
  add_changed([](Product& p) { p.k = 3; });
  add_changed([](Product& p) { p.batch = 1; });
  add_changed([](Product& p) { p.transpose_a = Transpose::yes; });
  add_changed([](Product& p) { p.transpose_b = Transpose::yes; });
  add_changed([](Product& p) { p.write = Write::accumulate; });
  add_changed([](Product& p) { p.bias_n = p.a.data; });
  add_changed([](Product& p) { p.bias_n = static_cast<float*>(p.a.data) + 1; });
  for (const auto epilogue : {Epilogue::gelu_tanh, Epilogue::gelu_tanh_gradient}) {
    for (const int offset : {0, 2}) {
      add_changed([&](Product& p) {
        p.epilogue = epilogue;
        p.preactivation = static_cast<float*>(p.a.data) + offset;
      });
    }
  }
  for (const auto matrix : {&Product::a, &Product::b, &Product::c}) {
    add_changed([&](Product& p) { (p.*matrix).row_stride = 5; });
    add_changed([&](Product& p) { (p.*matrix).batch_stride = 17; });
    add_changed([&](Product& p) { (p.*matrix).dtype = DType::bf16; });
    add_changed([&](Product& p) { (p.*matrix).data = static_cast<float*>(p.a.data) + 1; });
  }
}

TEST(Epilogues, AreForSingleBf16ResultsOfWholeVectors) {
  Product fitting = example();
  fitting.batch = 1;
  fitting.c.dtype = DType::bf16;
  fitting.c.row_stride = 8;
  fitting.preactivation = fitting.a.data;
  EXPECT_TRUE(epilogue_fits(fitting));
  const auto fits_with = [&](auto change) {
    Product p = fitting;
    change(p);
    return epilogue_fits(p);
  };
  EXPECT_FALSE(fits_with([](Product& p) { p.c.dtype = DType::f32; }));
  EXPECT_FALSE(fits_with([](Product& p) { p.a.dtype = DType::e4m3; }));
  EXPECT_FALSE(fits_with([](Product& p) { p.batch = 2; }));
  EXPECT_FALSE(fits_with([](Product& p) { p.c.row_stride = 12; }));
  EXPECT_FALSE(fits_with([](Product& p) { p.preactivation = static_cast<float*>(p.a.data) + 1; }));
}

TEST(ProductKey, IgnoresIrrelevantDifferences) {
  Product one = example();
  Product other = example();
  // Irrelevant fields: another factor; the stride of a batch of one; tf32 for bf16.
  other.factor = 2;
  one.batch = other.batch = 1;
  other.a.batch_stride = 99;
  one.a.dtype = other.a.dtype = DType::bf16;
  EXPECT_EQ(key_of(one, F32Products::exact, 0), key_of(other, F32Products::tf32, 0));
}

// 16 bytes are equivalent to 256; each smaller power of two is a separate problem.
TEST(ProductKey, KnowsAlignmentsUpTo16Bytes) {
  const auto key_at = [](std::int64_t bytes) {
    Product p = example();
    p.epilogue = Epilogue::gelu_tanh;
    for (void** address : {&p.a.data, &p.b.data, &p.c.data, &p.preactivation}) {
      *address = static_cast<char*>(example().a.data) + bytes;
    }
    p.bias_n = p.a.data;
    return key_of(p, F32Products::exact, 0);
  };
  for (const std::int64_t bytes : {16, 32, 48, 64, 128, 256}) EXPECT_EQ(key_at(bytes), key_at(0)) << bytes;
  const std::set<ProductKey> keys{key_at(0), key_at(8), key_at(4), key_at(2), key_at(1)};
  EXPECT_EQ(keys.size(), 5U);
  EXPECT_EQ(key_at(24), key_at(8));
}

}  // namespace
}  // namespace perfbench::engine::cuda
