// The part of a trace's page about the rates of operations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/content/roofline.h"
#include "reports/render/document/render.h"

namespace perfbench::reports {
namespace {

using testing::HasSubstr;

// 100 TFLOP/s at 200 FLOP/byte, and 2 TB/s.
harness::TracedRoofline two_operations() {
  harness::TracedRoofline out;
  out.rates = {
      {.name = "matmul",
       .calls = 4,
       .flops = 1'000'000'000'000,
       .bytes = 5'000'000'000,
       .time_s = 0.01,
       .step_fraction = 0.5},
      {.name = "adamw", .calls = 1, .flops = 0, .bytes = 4'000'000'000, .time_s = 0.002, .step_fraction = 0.1}};
  return out;
}

harness::TracedRoofline on_a_card() {
  auto out = two_operations();
  out.peaks = harness::DevicePeaks{.name = "Card", .flops_per_s = 400e12, .bytes_per_s = 4e12};
  return out;
}

Document document_of(const harness::TracedRoofline& roofline) {
  Document out;
  add_roofline(out, roofline);
  return out;
}

const Chart* named_chart(const Document& document, const std::string& key) {
  for (const auto& block : document.blocks) {
    const auto* chart = std::get_if<Chart>(&block);
    if (chart != nullptr && chart->key == key) return chart;
  }
  return nullptr;
}

TEST(RooflineDocument, ShowsRatesBesideTheLimitsOfTheDevice) {
  const auto document = document_of(on_a_card());
  const auto text = render_text(document, {.width = 0});
  EXPECT_THAT(text, HasSubstr("100 TFLOP/s"));
  EXPECT_THAT(text, HasSubstr("25.0 %"));  // of 400 TFLOP/s: the ridge is at 100 FLOP/byte
  EXPECT_THAT(text, HasSubstr("50.0 %"));  // of 4 TB/s
  const auto row = nlohmann::json::parse(render_json(document))["roofline"][1];
  EXPECT_EQ(row["operation"], "adamw");
  EXPECT_EQ(row["bytes_per_s"], 2e12);
  EXPECT_TRUE(row["flops_per_s"].is_null());
}

TEST(RooflineDocument, TheLimitBendsAtTheRidge) {
  const auto document = document_of(on_a_card());
  const auto* chart = named_chart(document, "roofline");
  ASSERT_NE(chart, nullptr);
  ASSERT_EQ(chart->series.size(), 2);
  const auto& limit = chart->series[1].points;
  ASSERT_EQ(limit.size(), 3);
  EXPECT_DOUBLE_EQ(limit[0].x, 50);  // half of the ridge, which is below the operation
  EXPECT_DOUBLE_EQ(limit[0].y, 200);
  EXPECT_DOUBLE_EQ(limit[1].x, 100);
  EXPECT_DOUBLE_EQ(limit[1].y, 400);
  EXPECT_DOUBLE_EQ(limit[2].x, 400);  // twice the operation's intensity
  EXPECT_DOUBLE_EQ(limit[2].y, 400);
}

TEST(RooflineDocument, WithoutBandwidthTheLimitOfProductsIsLevel) {
  auto roofline = two_operations();
  roofline.peaks = harness::DevicePeaks{.name = "CPU", .flops_per_s = 200e12};
  const auto document = document_of(roofline);
  const auto& limit = named_chart(document, "roofline")->series[1].points;
  ASSERT_EQ(limit.size(), 2);
  EXPECT_DOUBLE_EQ(limit[0].y, limit[1].y);
  EXPECT_EQ(named_chart(document, "bandwidth")->series.size(), 1);
  EXPECT_THAT(render_text(document, {.width = 0}), HasSubstr("bandwidth of the memory is unknown"));
}

TEST(RooflineDocument, ADeviceWithoutDataFileHasRatesAndNoLimit) {
  const auto document = document_of(two_operations());
  EXPECT_EQ(named_chart(document, "roofline")->series.size(), 1);
  EXPECT_THAT(render_text(document, {.width = 0}), HasSubstr("No limit is shown"));
}

TEST(RooflineDocument, SaysWhyThereAreNoRates) {
  const auto document = document_of({.rank = 0, .rates = {}, .missing = "the engine is gone"});
  EXPECT_EQ(named_chart(document, "roofline"), nullptr);
  EXPECT_THAT(render_text(document, {.width = 0}), HasSubstr("unknown: the engine is gone"));
}

}  // namespace
}  // namespace perfbench::reports
