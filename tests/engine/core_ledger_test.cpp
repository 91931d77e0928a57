#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/core/error.h"
#include "engine/core/ledger.h"
#include "engine/core/memory.h"
#include "engine/core/tensor.h"
#include "workloads/spec/memory_record.h"

namespace perfbench::engine {
namespace {

using testing::HasSubstr;

Memory dry_memory(std::int64_t limit_bytes = 0) {
  return Memory(make_dry_backing(), make_dry_backing(), {.limit_bytes = limit_bytes});
}

TEST(MemoryLedger, ListsTheTensorsAliveAtThePeakLargestFirst) {
  Memory memory = dry_memory();
  Tensor kept(memory, {"kept", MemoryScope::weights, DType::f32, Shape{16}});
  { Tensor a(memory, {"early", MemoryScope::activations, DType::f32, Shape{64}}); }
  {
    Tensor b(memory, {"peak", MemoryScope::activations, DType::bf16, Shape{32, 32}});
    Tensor host(memory, {"host", MemoryScope::host, DType::f32, Shape{4096}});
  }
  Tensor after(memory, {"after", MemoryScope::activations, DType::f32, Shape{16}});
  const auto live = memory.ledger().live_at_peak();
  ASSERT_EQ(live.size(), 2U);
  EXPECT_EQ(live[0].name, "peak");
  EXPECT_EQ(live[0].bytes, 2048);
  EXPECT_EQ(live[0].shape, "[32, 32]");
  EXPECT_EQ(live[1].name, "kept");
  const auto peaks = memory.ledger().peaks();
  EXPECT_EQ(peaks.total_bytes, 2048 + 256);
  EXPECT_EQ(peaks.host_bytes, 16384);
  EXPECT_EQ(peaks.activations_bytes, 2048);
}

std::vector<std::string> names(const std::vector<spec::LiveTensor>& tensors) {
  std::vector<std::string> out;
  for (const auto& tensor : tensors) out.push_back(tensor.name);
  return out;
}

// d and e take the places of a and c, which left after the peak; f gets a new place.
TEST(MemoryLedger, ListsTheLatestPeakInTheOrderOfEntryDespiteLaterChanges) {
  Memory memory = dry_memory();
  const auto tensor = [&](const char* name, std::int64_t elements) {
    return Tensor(memory, {name, MemoryScope::activations, DType::f32, Shape{elements}});
  };
  Tensor a = tensor("a", 64);
  Tensor b = tensor("b", 64);
  Tensor c = tensor("c", 64);
  a.reset();
  c.reset();
  EXPECT_EQ(names(memory.ledger().live_at_peak()), (std::vector<std::string>{"a", "b", "c"}));
  Tensor d = tensor("d", 64);
  Tensor e = tensor("e", 64);
  EXPECT_EQ(names(memory.ledger().live_at_peak()), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(names(memory.ledger().live()), (std::vector<std::string>{"b", "d", "e"}));
  Tensor f = tensor("f", 64);
  b.reset();
  EXPECT_EQ(names(memory.ledger().live_at_peak()), (std::vector<std::string>{"b", "d", "e", "f"}));
}

// The copy of "moved" on the host came before the peak and has gone since; that of "later" came after it.
TEST(MemoryLedger, NamesTheLastTensorOfThePeakAndThoseOnTheHost) {
  Memory memory = dry_memory();
  EXPECT_EQ(memory.ledger().last_at_peak(), "");
  const auto tensor = [&](const char* name, MemoryScope scope) {
    return Tensor(memory, {name, scope, DType::f32, Shape{64}});
  };
  Tensor moved = tensor("moved", MemoryScope::host);
  Tensor a = tensor("a", MemoryScope::activations);
  Tensor b = tensor("b", MemoryScope::workspace);
  EXPECT_EQ(b.entry().name, "b");
  EXPECT_EQ(b.entry().bytes, 256);
  a.reset();
  moved.reset();
  Tensor c = tensor("c", MemoryScope::activations);
  Tensor later = tensor("later", MemoryScope::host);
  EXPECT_EQ(memory.ledger().peak_bytes(), 512);
  EXPECT_EQ(memory.ledger().last_at_peak(), "b");
  EXPECT_EQ(names(memory.ledger().on_host_at_peak()), (std::vector<std::string>{"moved"}));
}

TEST(MemoryLedger, RefusesATensorThatHasLeft) {
  MemoryLedger ledger;
  const auto first = ledger.enter({"first", MemoryScope::weights, DType::f32, Shape{64}, 256});
  ledger.leave(first);
  EXPECT_THROW(ledger.leave(first), LogicFault);
  EXPECT_THROW(ledger.entry(first), LogicFault);
  ledger.enter({"in its place", MemoryScope::weights, DType::f32, Shape{64}, 256});
  EXPECT_THROW(ledger.leave(first), LogicFault);
  EXPECT_EQ(ledger.live_bytes(), 256);
}

TEST(MemoryLedger, ATensorThatWasMovedIsCountedOnce) {
  Memory memory = dry_memory();
  Tensor a(memory, {"a", MemoryScope::activations, DType::f32, Shape{16}});
  Tensor b = std::move(a);
  a = std::move(b);
  EXPECT_EQ(memory.ledger().live_bytes(), 256);
  a.reset();
  EXPECT_EQ(memory.ledger().live_bytes(), 0);
}

TEST(Memory, OutOfMemoryNamesTheTensorTheLimitAndTheLiveTensors) {
  Memory memory = dry_memory(1024);
  Tensor held(memory, {"layers.0.weight", MemoryScope::weights, DType::f32, Shape{128}});
  try {
    Tensor t(memory, {"layers.3.mlpwi_0", MemoryScope::activations, DType::f32, Shape{10, 20}});
    FAIL() << "a limit of 1024 bytes let 512 + 832 through";
  } catch (const OutOfMemory& e) {
    EXPECT_THAT(e.what(), HasSubstr("'layers.3.mlpwi_0' f32[10, 20]"));
    EXPECT_THAT(e.what(), HasSubstr("limit is 1024"));
    EXPECT_THAT(e.what(), HasSubstr("layers.0.weight [128] 512"));
    EXPECT_EQ(e.exit(), EngineExit::out_of_memory);
  }
}

}  // namespace
}  // namespace perfbench::engine
