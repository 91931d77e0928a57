// Source: the NVTX C interface, nvtx3/nvToolsExt.h.
#include "engine/trace/nvtx_ranges.h"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <array>

namespace perfbench::engine {
namespace {

// 0 is NVTX's "no category".
std::uint32_t category_of(spec::TraceKind kind) {
  return static_cast<std::uint32_t>(kind) + 1;
}

class NvtxRanges final : public TraceSink {
 public:
  explicit NvtxRanges(TraceSink* next) : next_(next), domain_(nvtxDomainCreateA(kNvtxDomain)) {
    for (const auto& [kind, name] : spec::EnumNames<spec::TraceKind>::kNames) {
      nvtxDomainNameCategoryA(domain_, category_of(kind), std::string(name).c_str());
    }
  }
  ~NvtxRanges() override { nvtxDomainDestroy(domain_); }
  NvtxRanges(const NvtxRanges&) = delete;
  NvtxRanges& operator=(const NvtxRanges&) = delete;

  // A lane is used by one thread at a time and its spans nest, as the ranges of a thread must.
  void begin(TraceLane lane, const TraceSpan& span, std::int64_t at_ns) override {
    if (next_ != nullptr) next_->begin(lane, span, at_ns);
    std::array<char, kLongestName + 1> name{};  // NVTX expects a terminating zero
    std::copy_n(span.name.begin(), std::min(span.name.size(), kLongestName), name.begin());
    nvtxEventAttributes_t range{};
    range.version = NVTX_VERSION;
    range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    range.category = category_of(span.kind);
    range.messageType = NVTX_MESSAGE_TYPE_ASCII;
    range.message.ascii = name.data();
    if (span.bytes != 0) {
      range.payloadType = NVTX_PAYLOAD_TYPE_INT64;
      range.payload.llValue = span.bytes;
    }
    nvtxDomainRangePushEx(domain_, &range);
  }

  void end(TraceLane lane, std::int64_t at_ns) override {
    nvtxDomainRangePop(domain_);
    if (next_ != nullptr) next_->end(lane, at_ns);
  }

 private:
  static constexpr std::size_t kLongestName = 127;

  TraceSink* next_;
  nvtxDomainHandle_t domain_;
};

}  // namespace

std::unique_ptr<TraceSink> make_nvtx_ranges(TraceSink* next) {
  return std::make_unique<NvtxRanges>(next);
}

std::string nvtx_version() {
  return std::to_string(NVTX_VERSION);
}

}  // namespace perfbench::engine
