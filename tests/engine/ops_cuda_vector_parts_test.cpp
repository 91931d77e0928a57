#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "engine/ops/cuda/matmul/vector_parts.h"

namespace perfbench::engine::cuda {
namespace {

constexpr std::int64_t kStride = 40;

// 16-bit elements stand for numbers here: the division only decides which elements meet.
using Numbers = std::vector<std::uint16_t>;

Numbers counted_parts(std::uint16_t most) {
  Numbers values(static_cast<std::size_t>(kStride * kStride));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint16_t>(1 + i % most);
  return values;
}

void multiply(const Product& p) {
  const auto at = [](const Matrix& x, Transpose transpose, std::int64_t row, std::int64_t column) -> std::uint16_t& {
    const bool turned = transpose == Transpose::yes;
    return static_cast<std::uint16_t*>(x.data)[turned ? column * x.row_stride + row : row * x.row_stride + column];
  };
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      unsigned sum = p.write == Write::accumulate ? at(p.c, Transpose::no, i, j) : 0;
      for (std::int64_t l = 0; l < p.k; ++l) sum += at(p.a, p.transpose_a, i, l) * at(p.b, p.transpose_b, l, j);
      at(p.c, Transpose::no, i, j) = static_cast<std::uint16_t>(sum);
    }
  }
}

bool divides_nothing(const Product& p) {
  return !vector_parts(p, 0).has_value();
}

// Returns the number of products computed.
int multiply_in_parts(const Product& p) {
  const auto parts = vector_parts(p, 0);
  if (!parts) {
    multiply(p);
    return 1;
  }
  const int count = multiply_in_parts(parts->whole);
  EXPECT_GT(parts->whole.m * parts->whole.n * parts->whole.k, 0);
  multiply(parts->rest);
  return count + 1;
}

class VectorPartsTest : public testing::Test {
 protected:
  // Aligned, as operands are.
  Product product(std::int64_t m, std::int64_t n, std::int64_t k) {
    return {.m = m,
            .n = n,
            .k = k,
            .a = {a_.data(), DType::bf16, kStride},
            .b = {b_.data(), DType::bf16, kStride},
            .c = {c_.data(), DType::bf16, kStride}};
  }

  Numbers a_ = counted_parts(5), b_ = counted_parts(7);
  Numbers c_ = Numbers(static_cast<std::size_t>(kStride * kStride), 3);
};

TEST_F(VectorPartsTest, AreTheProduct) {
  for (const auto& [m, n, k, most] : {std::tuple{16, 24, 8, 1},
                                      {17, 24, 8, 2},
                                      {16, 25, 8, 2},
                                      {16, 24, 15, 2},
                                      {31, 39, 23, 4},
                                      {5, 39, 23, 3},
                                      {31, 7, 23, 3},
                                      {31, 39, 6, 3}}) {
    for (const auto ta : {Transpose::no, Transpose::yes}) {
      for (const auto tb : {Transpose::no, Transpose::yes}) {
        for (const auto write : {Write::overwrite, Write::accumulate}) {
          SCOPED_TRACE(testing::Message() << m << " " << n << " " << k << " " << (ta == Transpose::yes)
                                          << (tb == Transpose::yes) << (write == Write::accumulate));
          Product p = product(m, n, k);
          p.transpose_a = ta;
          p.transpose_b = tb;
          p.write = write;
          std::fill(c_.begin(), c_.end(), 3);
          multiply(p);
          const Numbers want = c_;
          std::fill(c_.begin(), c_.end(), 3);
          EXPECT_LE(multiply_in_parts(p), most);
          EXPECT_EQ(c_, want);
        }
      }
    }
  }
}

// The extents that run along rows: m if a is transposed; k if a is not, or if b is.
TEST_F(VectorPartsTest, AreUsedIfRowsAreNotWholeVectors) {
  Product p = product(16, 25, 16);
  ASSERT_FALSE(divides_nothing(p));
  EXPECT_EQ(vector_parts(p, 0)->whole.n, 24);
  EXPECT_EQ(vector_parts(p, 0)->rest.n, 1);
  p = product(17, 24, 16);
  EXPECT_TRUE(divides_nothing(p));
  p.transpose_a = Transpose::yes;
  EXPECT_EQ(vector_parts(p, 0)->whole.m, 16);
  p = product(16, 24, 17);
  EXPECT_EQ(vector_parts(p, 0)->whole.k, 16);
  EXPECT_EQ(vector_parts(p, 0)->rest.write, Write::accumulate);
  p.transpose_a = Transpose::yes;
  EXPECT_TRUE(divides_nothing(p));
  p.transpose_b = Transpose::yes;
  EXPECT_EQ(vector_parts(p, 0)->whole.k, 16);
}

// The library tries its algorithms for the addition when it meets the first part, before anything is recorded.
TEST_F(VectorPartsTest, AreAddedToAsTheProductIs) {
  Product p = product(16, 25, 17);
  p.additions = Additions::follow;
  const auto columns = vector_parts(p, 0);
  EXPECT_EQ(columns->whole.additions, Additions::follow);
  EXPECT_EQ(columns->rest.additions, Additions::follow);
  const auto terms = vector_parts(columns->whole, 0);
  EXPECT_EQ(terms->whole.additions, Additions::follow);
  EXPECT_EQ(terms->rest.additions, Additions::none) << "is an addition already";
}

TEST_F(VectorPartsTest, AreNotUsedWithoutBenefit) {
  const Product divided = product(16, 25, 16);
  ASSERT_FALSE(divides_nothing(divided));
  EXPECT_FALSE(vector_parts(divided, 2.0 * 16 * 25 * 16 + 1).has_value());
  EXPECT_TRUE(vector_parts(divided, 2.0 * 16 * 25 * 16).has_value());
  const auto with = [&](auto change) {
    Product p = divided;
    change(p);
    return divides_nothing(p);
  };
  EXPECT_TRUE(with([](Product& p) { p.a.dtype = p.b.dtype = DType::f32; }));
  EXPECT_TRUE(with([](Product& p) { p.batch = 2; }));
  EXPECT_TRUE(with([&](Product& p) { p.bias_n = a_.data(); }));
  EXPECT_TRUE(with([](Product& p) { p.epilogue = Epilogue::gelu_tanh; }));
  EXPECT_TRUE(with([](Product& p) { p.c.row_stride = 25; }));
  EXPECT_TRUE(with([&](Product& p) { p.a.data = a_.data() + 1; }));
  EXPECT_TRUE(with([](Product& p) { p.n = 7; }));
}

}  // namespace
}  // namespace perfbench::engine::cuda
