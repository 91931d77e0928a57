// Products of experts with their rows, in segments of equal and of varying lengths, compared with the oracle.
#include <gtest/gtest.h>

#include <map>

#include "engine/core/error.h"
#include "tests/engine/matmul_cases.h"
#include "tests/engine/ops_under_test.h"
#include "tests/engine/oracle/expect_within.h"
#include "tests/engine/oracle/experts.h"

namespace perfbench::engine {
namespace {

using oracle::expect_within;
using oracle::ExpertShape;
using oracle::gamma;
using oracle::Operand;
using oracle::random_operand;
using oracle::Values;
using Kind = ExpertProductArgs::Kind;

constexpr Kind kKinds[] = {Kind::forward, Kind::input_gradient, Kind::weight_gradient};

class ExpertProducts : public OpsTest, public testing::WithParamInterface<DType> {};
INSTANTIATE_TEST_SUITE_P(Storage, ExpertProducts, testing::Values(DType::f32, DType::bf16),
                         [](const auto& name) { return std::string(dtype_name(name.param)); });

struct ProductCase {
  const char* name;
  ExpertShape shape;
  Values segments;         // first row and number of rows, for each part's experts
  std::int64_t slots = 0;  // if set, segments follow from it
};

// Widths with and without whole vectors; segments below, at and above 128 rows, empty, with gaps between them, and no
// segment at all.
const ProductCase kProducts[] = {
    {"one expert", {1, 5, 1, 3, 7}, {0, 5}},
    {"an idle expert", {1, 12, 3, 16, 24}, {0, 4, 4, 0, 4, 7}},
    {"idle ones at both ends", {1, 9, 4, 8, 8}, {0, 0, 0, 6, 6, 3, 9, 0}},
    {"one has all", {2, 20, 2, 33, 40}, {0, 20, 20, 0, 0, 0, 0, 20}},
    {"one is idle in all parts", {2, 20, 2, 40, 33}, {0, 20, 20, 0, 0, 13, 13, 0}},
    {"four parts", {4, 7, 2, 17, 9}, {0, 3, 3, 4, 0, 1, 1, 1, 0, 0, 0, 7, 0, 2, 2, 0}},
    {"nobody has a row", {2, 6, 2, 5, 4}, {0, 0, 0, 0, 0, 0, 0, 0}},
    {"rows between segments", {1, 150, 3, 8, 8}, {2, 5, 140, 4, 145, 2}},
    {"more rows than a tile", {2, 290, 2, 24, 16}, {0, 129, 129, 128, 0, 257, 257, 33}},
    {"wider than a tile", {1, 40, 2, 136, 264}, {0, 33, 33, 6}},
    {"wider than a tile, not of vectors", {2, 30, 2, 261, 131}, {0, 11, 11, 17, 0, 30, 30, 0}},
    {"slots", {2, 24, 3, 16, 24}, {}, 8},
    {"slots not of vectors", {4, 10, 2, 7, 5}, {}, 5},
    {"slots of one expert", {3, 6, 1, 9, 8}, {}, 6},
    {"slots of one part", {1, 12, 4, 5, 8}, {}, 3},
};

Values segments_of(const ProductCase& c) {
  if (c.slots == 0) return c.segments;
  Values segments;
  for (std::int64_t i = 0; i < c.shape.parts * c.shape.experts; ++i) {
    segments.push_back(static_cast<double>(i % c.shape.experts * c.slots));
    segments.push_back(static_cast<double>(c.slots));
  }
  return segments;
}

// Rows [Q, width], NaN outside all segments.
Operand rows_of(const ProductCase& c, DType dtype, std::int64_t width, unsigned seed) {
  const ExpertShape& s = c.shape;
  const auto x = random_operand(dtype, Shape{s.parts * s.part_rows, width}, seed);
  Operand out(dtype, x.view().shape);
  std::memset(out.view().data, 0xFF, static_cast<std::size_t>(out.view().bytes()));
  const Values segments = segments_of(c);
  const auto row_bytes = width * size_bytes(dtype);
  for (std::size_t i = 0; i < segments.size(); i += 2) {
    const std::int64_t part = static_cast<std::int64_t>(i) / 2 / s.experts;
    const auto first = part * s.part_rows + static_cast<std::int64_t>(segments[i]);
    const auto bytes = static_cast<std::int64_t>(segments[i + 1]) * row_bytes;
    std::memcpy(static_cast<char*>(out.view().data) + first * row_bytes,
                static_cast<const char*>(x.view().data) + first * row_bytes, static_cast<std::size_t>(bytes));
  }
  return out;
}

Shape weight_of(const ExpertShape& s) {
  return {s.experts, s.outputs, s.inputs};
}

struct ProductOperands {
  ProductOperands(const ProductCase& of, DType dtype, Kind kind)
      : a(rows_of(of, dtype, kind == Kind::forward ? of.shape.inputs : of.shape.outputs, 1)),
        b(kind == Kind::weight_gradient ? rows_of(of, dtype, of.shape.inputs, 2)
                                        : random_operand(dtype, weight_of(of.shape), 2)),
        c(kind == Kind::weight_gradient
              ? random_operand(DType::f32, weight_of(of.shape), 3)
              : random_operand(dtype,
                               Shape{of.shape.parts * of.shape.part_rows,
                                     kind == Kind::forward ? of.shape.outputs : of.shape.inputs},
                               3)),
        segments(DType::i32, Shape{of.shape.parts, of.shape.experts, 2}, segments_of(of)),
        args{.kind = kind,
             .a = a,
             .b = b,
             .c = c,
             .segments_PX2 = segments,
             .slots = of.slots,
             .counted_rows = of.shape.parts * of.shape.part_rows} {}

  Operand a, b, c, segments;
  ExpertProductArgs args;
};

// A sum of products in any order errs by gamma of their number times the sum of their magnitudes; the old value is one
// more term. A sum without terms is 0, or the old value.
void check_expert_product(Ops& ops, const ProductCase& c, DType dtype, Kind kind, Write write) {
  SCOPED_TRACE(testing::Message() << c.name << ", kind " << static_cast<int>(kind)
                                  << (write == Write::accumulate ? ", added" : ""));
  ProductOperands o(c, dtype, kind);
  o.args.write = write;
  auto want = oracle::expert_product(kind, o.a.values(), o.b.values(), segments_of(c), c.shape);
  const Values held = o.c.values();
  Values rounded_before(held.size());
  for (std::size_t i = 0; write == Write::accumulate && i < held.size(); ++i) {
    rounded_before[i] = rounding_before_adding(o.c.dtype(), want.c.value[i]);
    want.c.value[i] += held[i];
    want.c.magnitude[i] += std::abs(held[i]);
  }
  ops.expert_product(o.args);
  expect_within(
      o.c, want.c.value,
      [&](std::size_t i) { return gamma(want.terms[i] + 1.0) * want.c.magnitude[i] + rounded_before[i]; }, "product");
  const Values got = o.c.values();
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (want.terms[i] > 0.0) continue;
    ASSERT_EQ(got[i], want.c.value[i]) << "element " << i << " without terms";
  }
}

TEST_P(ExpertProducts, EqualTheOracle) {
  for (const auto& c : kProducts) {
    for (const auto kind : kKinds) {
      for (const auto write : {Write::overwrite, Write::accumulate})
        check_expert_product(*ops_, c, GetParam(), kind, write);
    }
  }
}

// Whole vectors that begin one element behind an aligned address.
TEST_P(ExpertProducts, NeedNoAlignment) {
  const ExpertShape s{1, 10, 2, 16, 8};
  const Operand segments(DType::i32, Shape{1, 2, 2}, {0, 4, 4, 6});
  const auto a = random_operand(GetParam(), Shape{10 * 8 + 1}, 1);
  const auto b = random_operand(GetParam(), Shape{2 * 16 * 8 + 1}, 2);
  const Operand c(GetParam(), Shape{10 * 16 + 1});
  ops_->expert_product({.a = a.view().slice(1, Shape{10, 8}),
                        .b = b.view().slice(1, Shape{2, 16, 8}),
                        .c = c.view().slice(1, Shape{10, 16}),
                        .segments_PX2 = segments,
                        .counted_rows = 10});
  const auto without_first = [](const Operand& x) {
    const Values all = x.values();
    return Values(all.begin() + 1, all.end());
  };
  const auto want = oracle::expert_product(Kind::forward, without_first(a), without_first(b), segments.values(), s);
  const Operand got(GetParam(), Shape{10, 16}, without_first(c));
  expect_within(
      got, want.c.value, [&](std::size_t i) { return gamma(9.0) * want.c.magnitude[i]; }, "product");
  EXPECT_EQ(c.values()[0], 0.0);
}

TEST_P(ExpertProducts, AreTheSameIfOthersWillBeAdded) {
  for (const auto* c : {&kProducts[5], &kProducts[11], &kProducts[14]}) {
    ProductOperands plain(*c, GetParam(), Kind::weight_gradient), followed(*c, GetParam(), Kind::weight_gradient);
    followed.args.additions = Additions::follow;
    ops_->expert_product(plain.args);
    ops_->expert_product(followed.args);
    EXPECT_TRUE(plain.c.bytes() == followed.c.bytes()) << c->name;
  }
}

TEST_P(ExpertProducts, GiveTheSameBitsInEveryCircumstance) {
  for (const auto* c : {&kProducts[8], &kProducts[9], &kProducts[11]}) {
    for (const auto kind : kKinds) {
      std::map<std::string, std::vector<unsigned char>> first;
      in_circumstances_of_products([&](const std::string& circumstance) {
        ProductOperands o(*c, GetParam(), kind);
        o.args.write = Write::accumulate;
        ops_->expert_product(o.args);
        const auto bytes = o.c.bytes();
        EXPECT_TRUE(bytes == first.try_emplace(circumstance, bytes).first->second) << c->name << ", " << circumstance;
      });
    }
  }
}

TEST_P(ExpertProducts, RefuseOperandsThatDoNotFit) {
  const auto refused = [&](const ProductCase& c, Kind kind, const std::function<void(ExpertProductArgs&)>& spoil) {
    ProductOperands o(c, GetParam(), kind);
    spoil(o.args);
    EXPECT_THROW(ops_->expert_product(o.args), LogicFault);
  };
  const ProductCase& ragged = kProducts[5];
  const ProductCase& equal = kProducts[11];
  const Operand other(GetParam() == DType::f32 ? DType::bf16 : DType::f32, Shape{28, 9});
  refused(ragged, Kind::forward, [](ExpertProductArgs& a) { a.kind = Kind::input_gradient; });
  refused(ragged, Kind::forward, [&](ExpertProductArgs& a) { a.a = other; });
  refused(ragged, Kind::forward, [](ExpertProductArgs& a) { a.additions = Additions::follow; });
  refused(ragged, Kind::forward, [](ExpertProductArgs& a) { a.segments_PX2.shape = Shape{2, 4, 2}; });
  refused(ragged, Kind::forward, [](ExpertProductArgs& a) { a.segments_PX2.dtype = DType::f32; });
  refused(equal, Kind::input_gradient, [](ExpertProductArgs& a) { a.slots = 7; });
  refused(equal, Kind::weight_gradient, [](ExpertProductArgs& a) { a.c.dtype = DType::bf16; });
  refused(equal, Kind::weight_gradient, [](ExpertProductArgs& a) {
    a.write = Write::accumulate;
    a.additions = Additions::follow;
  });
}

}  // namespace
}  // namespace perfbench::engine
