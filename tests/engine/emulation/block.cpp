#include "tests/engine/emulation/block.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace perfbench::emulation {

Place place;

namespace {

Block* current_block = nullptr;

constexpr unsigned char kPoison = 0xFF;  // NaN as f32, f64 and bf16; -1 as an integer
constexpr unsigned char kBorder = 0xA5;
constexpr std::size_t kBorderBytes = 128;  // also the alignment of every array
// A kernel declares few arrays, and each has two borders.
constexpr std::size_t kSharedBuffer = Block::kMostSharedBytes + 64 * 2 * kBorderBytes;

std::string text_of(uint3 at) {
  return "(" + std::to_string(at.x) + ", " + std::to_string(at.y) + ", " + std::to_string(at.z) + ")";
}

const char* name_of(WarpCall call) {
  switch (call) {
    case WarpCall::synchronise:
      return "__syncwarp";
    case WarpCall::exchange:
      return "a shuffle";
    case WarpCall::ballot:
      return "a vote";
  }
  return "?";
}

}  // namespace

Block& running_block() {
  if (current_block == nullptr) throw std::logic_error("emulation: a device function was called outside a kernel");
  return *current_block;
}

Block::Block() : shared_lines_(kSharedBuffer / sizeof(Line)), shared_(shared_lines_.front().bytes) {}
Block::~Block() = default;

unsigned Block::index_of(uint3 thread) {
  return thread.x + place.block_size.x * (thread.y + place.block_size.y * thread.z);
}

unsigned Block::lane() {
  return index_of(place.thread) % kWarpThreads;
}

void Block::thread_body() {
  Block& block = running_block();
  const unsigned index = block.running_;
  try {
    block.launch_->thread();
  } catch (...) {
    block.fault_ = std::current_exception();
  }
  block.threads_[index].state = State::ended;
  ++block.ended_;
}

void Block::run(const KernelLaunch& launch) {
  launch_ = &launch;
  place.block_size = launch.block;
  place.grid_size = launch.grid;
  const unsigned threads = launch.block.x * launch.block.y * launch.block.z;
  while (fibers_.size() < threads) fibers_.push_back(std::make_unique<Fiber>(&Block::thread_body));
  threads_.resize(threads);
  places_.clear();
  for (unsigned i = 0; i < threads; ++i) {
    const dim3 size = launch.block;
    places_.push_back({i % size.x, i / size.x % size.y, i / (size.x * size.y)});
  }
  current_block = this;
  std::uint64_t number = 0;
  try {
    for (unsigned z = 0; z < launch.grid.z; ++z) {
      for (unsigned y = 0; y < launch.grid.y; ++y) {
        for (unsigned x = 0; x < launch.grid.x; ++x, ++number) {
          place.block = {x, y, z};
          backwards_ = number % 2 == 1;
          run_block();
        }
      }
    }
  } catch (const std::exception& fault) {
    current_block = nullptr;
    for (auto& fiber : fibers_) fiber->restart();
    throw KernelFault(std::string("kernel ") + launch.name + ", block " + text_of(place.block) + ", thread " +
                      text_of(place.thread) + ": " + fault.what());
  }
  current_block = nullptr;
}

void Block::run_block() {
  std::fill(threads_.begin(), threads_.end(), Thread{});
  at_warp_call_.fill(0);
  at_barrier_ = ended_ = 0;
  counted_ = 0;
  areas_.clear();
  shared_end_ = shared_total_ = 0;
  dynamic_ = launch_->shared_bytes == 0 ? nullptr : shared_ + take_shared(nullptr, launch_->shared_bytes, 16);
  const auto count = static_cast<unsigned>(threads_.size());
  const unsigned warps = (count + kWarpThreads - 1) / kWarpThreads;
  while (ended_ < count) {
    bool progress = false;
    for (unsigned w = 0; w < warps; ++w) progress |= run_warp((backwards_ ? warps - 1 - w : w) * kWarpThreads);
    if (!progress && ended_ < count) throw KernelFault(describe_waiting());
  }
  check_shared_borders();
}

// Runs the warp until all its threads wait for others or have ended.
bool Block::run_warp(unsigned first) {
  const unsigned count = std::min(kWarpThreads, static_cast<unsigned>(threads_.size()) - first);
  bool any = false;
  for (bool progress = true; progress; any |= progress) {
    progress = false;
    for (unsigned i = 0; i < count; ++i) {
      const unsigned thread = first + (backwards_ ? count - 1 - i : i);
      if (threads_[thread].state != State::ready) continue;
      resume(thread);
      progress = true;
    }
  }
  return any;
}

void Block::resume(unsigned thread) {
  running_ = thread;
  place.thread = places_[thread];
  fibers_[thread]->resume();
  if (fault_ != nullptr) {
    const auto fault = std::exchange(fault_, nullptr);
    std::rethrow_exception(fault);
  }
}

void Block::synchronise() {
  synchronise_and_count(0);
}

int Block::synchronise_and_count(int value) {
  if (value != 0) ++counted_;
  threads_[running_].state = State::at_barrier;
  if (++at_barrier_ == threads_.size()) {
    at_barrier_ = 0;
    last_count_ = std::exchange(counted_, 0);
    for (auto& thread : threads_) thread.state = State::ready;
  }
  Fiber::yield();
  return last_count_;
}

Block::Word Block::exchange(unsigned mask, unsigned source, const Word& word) {
  Thread& self = threads_[running_];
  self.source = source;
  self.word = word;
  wait_for_warp(WarpCall::exchange, mask);
  return self.result;
}

void Block::synchronise_warp(unsigned mask) {
  wait_for_warp(WarpCall::synchronise, mask);
}

unsigned Block::ballot(unsigned mask, bool vote) {
  Thread& self = threads_[running_];
  self.vote = vote;
  wait_for_warp(WarpCall::ballot, mask);
  return self.ballot;
}

// The last thread of the mask to arrive completes the call for all of them.
void Block::wait_for_warp(WarpCall call, unsigned mask) {
  Thread& self = threads_[running_];
  const unsigned first = running_ / kWarpThreads * kWarpThreads;
  if ((mask >> (running_ - first) & 1U) == 0) throw KernelFault("the mask of the warp's call leaves out its caller");
  self.state = State::at_warp_call;
  self.call = call;
  self.mask = mask;
  // Lanes beyond the block's end do not exist, although __syncwarp() names them. Most arrivals are not the last one and
  // need not check the other lanes.
  const unsigned lanes = std::min(kWarpThreads, static_cast<unsigned>(threads_.size()) - first);
  const unsigned named = lanes == kWarpThreads ? mask : mask & ((1U << lanes) - 1);
  bool all = ++at_warp_call_[first / kWarpThreads] >= static_cast<unsigned>(std::popcount(named));
  for (unsigned i = 0; i < lanes && all; ++i) {
    if ((named >> i & 1U) == 0) continue;
    const Thread& other = threads_[first + i];
    all = other.state == State::at_warp_call && other.call == call && other.mask == mask;
  }
  if (all) complete_warp_call(first, mask);
  Fiber::yield();
}

void Block::complete_warp_call(unsigned first, unsigned mask) {
  const unsigned count = std::min(kWarpThreads, static_cast<unsigned>(threads_.size()) - first);
  unsigned ballot = 0;
  for (unsigned i = 0; i < count; ++i) {
    if ((mask >> i & 1U) != 0 && threads_[first + i].vote) ballot |= 1U << i;
  }
  for (unsigned i = 0; i < count; ++i) {
    if ((mask >> i & 1U) == 0) continue;
    Thread& thread = threads_[first + i];
    if (thread.call == WarpCall::exchange) {
      const unsigned source = thread.source;
      if (source >= count || (mask >> source & 1U) == 0) {
        throw KernelFault("lane " + std::to_string(i) + " reads lane " + std::to_string(source) +
                          ", which takes no part in the shuffle");
      }
      thread.result = threads_[first + source].word;
    }
    thread.ballot = ballot;
    thread.vote = false;
    thread.state = State::ready;
    --at_warp_call_[first / kWarpThreads];
  }
}

std::size_t Block::take_shared(const void* site, std::size_t bytes, std::size_t alignment) {
  shared_total_ = (shared_total_ + alignment - 1) / alignment * alignment + bytes;
  const std::size_t most = launch_->requests_shared ? kMostSharedBytes : kSharedWithoutRequest;
  if (shared_total_ > most) {
    throw KernelFault("the block's arrays take " + std::to_string(shared_total_) +
                      " bytes of shared memory, a block has " + std::to_string(most) +
                      (launch_->requests_shared ? "" : ", as its launch requests no more"));
  }
  const std::size_t offset = shared_end_ + kBorderBytes;
  const std::size_t padded = (bytes + kBorderBytes - 1) / kBorderBytes * kBorderBytes;
  if (offset + padded + kBorderBytes > kSharedBuffer) throw KernelFault("too many shared arrays");
  std::memset(shared_ + shared_end_, kBorder, padded + 2 * kBorderBytes);
  std::memset(shared_ + offset, kPoison, bytes);
  areas_.push_back({site, offset, bytes});
  shared_end_ = offset + padded;
  return offset;
}

void* Block::shared(const void* site, std::size_t bytes, std::size_t alignment) {
  for (const auto& area : areas_) {
    if (area.site == site) return shared_ + area.offset;
  }
  return shared_ + take_shared(site, bytes, alignment);
}

void Block::check_shared_borders() const {
  for (const auto& area : areas_) {
    const auto intact = [&](std::size_t from, std::size_t to) {
      return std::all_of(shared_ + from, shared_ + to, [](unsigned char c) { return c == kBorder; });
    };
    const std::size_t end = area.offset + area.bytes;
    if (intact(area.offset - kBorderBytes, area.offset) && intact(end, end + kBorderBytes)) continue;
    throw KernelFault("wrote beside a shared array of " + std::to_string(area.bytes) + " bytes");
  }
}

std::string Block::describe_waiting() const {
  std::string text = "threads wait for others that never come:";
  const auto add = [&text](unsigned count, const std::string& what) {
    if (count > 0) text += " " + std::to_string(count) + " " + what + ";";
  };
  const auto waiting = [&](WarpCall call) {
    return static_cast<unsigned>(std::count_if(threads_.begin(), threads_.end(), [call](const Thread& t) {
      return t.state == State::at_warp_call && t.call == call;
    }));
  };
  add(at_barrier_, "at __syncthreads");
  for (const auto call : {WarpCall::synchronise, WarpCall::exchange, WarpCall::ballot}) {
    add(waiting(call), std::string("at ") + name_of(call));
  }
  add(ended_, "have ended");
  for (unsigned i = 0; i < threads_.size(); ++i) {
    if (threads_[i].state == State::at_warp_call) {
      return text + " thread " + std::to_string(i) + " with mask " + std::to_string(threads_[i].mask);
    }
  }
  return text;
}

}  // namespace perfbench::emulation
