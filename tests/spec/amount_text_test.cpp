// Durations and sizes as people write them.
#include "workloads/spec/amount_text.h"

#include <gtest/gtest.h>

#include <string>

namespace perfbench::spec {
namespace {

TEST(AmountText, ReadsDurationsInEveryUnit) {
  EXPECT_EQ(parse_duration_s("250ms", 1), 0.25);
  EXPECT_EQ(parse_duration_s("90s", 1), 90);
  EXPECT_EQ(parse_duration_s("15m", 1), 900);
  EXPECT_EQ(parse_duration_s("15min", 1), 900);
  EXPECT_EQ(parse_duration_s("1h", 1), 3600);
  EXPECT_EQ(parse_duration_s("1.5 h", 1), 5400);
  EXPECT_EQ(parse_duration_s("2d", 1), 172'800);
  EXPECT_EQ(parse_duration_s("1w", 1), 604'800);
}

TEST(AmountText, AddsThePartsOfADuration) {
  EXPECT_EQ(parse_duration_s("1h30m", 1), 5400);
  EXPECT_EQ(parse_duration_s("1h 30m 5s", 1), 5405);
}

TEST(AmountText, CountsABareNumberInTheUnitOfItsOption) {
  EXPECT_EQ(parse_duration_s("90", 1), 90);
  EXPECT_EQ(parse_duration_s("90", 86'400), 90 * 86'400.0);
  EXPECT_EQ(parse_duration_s("2.5e2", 1), 250);
  EXPECT_EQ(parse_size_bytes("4", 0x1p30), 4 * 0x1p30);
  EXPECT_EQ(parse_size_bytes("4096", 1), 4096);
}

TEST(AmountText, CanInsistOnAUnit) {
  EXPECT_EQ(parse_duration_s("90", std::nullopt), std::nullopt);
  EXPECT_EQ(parse_size_bytes("4096", std::nullopt), std::nullopt);
  EXPECT_EQ(parse_size_bytes("4096B", std::nullopt), 4096);
}

TEST(AmountText, ReadsSizesInEveryUnitAndCase) {
  EXPECT_EQ(parse_size_bytes("12B", 1), 12);
  EXPECT_EQ(parse_size_bytes("3kB", 1), 3e3);
  EXPECT_EQ(parse_size_bytes("3KB", 1), 3e3);
  EXPECT_EQ(parse_size_bytes("512MiB", 1), 512 * 0x1p20);
  EXPECT_EQ(parse_size_bytes("4GB", 1), 4e9);
  EXPECT_EQ(parse_size_bytes("4 gib", 1), 4 * 0x1p30);
  EXPECT_EQ(parse_size_bytes("1.5TiB", 1), 1.5 * 0x1p40);
  EXPECT_EQ(parse_size_bytes("2TB", 1), 2e12);
  EXPECT_EQ(parse_size_bytes("1.1GB", 1), 1.1e9);
}

TEST(AmountText, RefusesAnyOtherText) {
  for (const std::string text :
       {"", " ", "h", "-1h", "+1h", "1x", "1h30", "1hm", "inf", "nan", "1H", "90 s e", "1e999s", "4GB", "1,5h"}) {
    EXPECT_EQ(parse_duration_s(text, 1), std::nullopt) << text;
  }
  for (const std::string text : {"", "GB", "-4GB", "4G", "4 GB s", "1GB 2MB", "4Gb8", "inf", "1e999", "1h", "4,5GB"}) {
    EXPECT_EQ(parse_size_bytes(text, 1), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace perfbench::spec
