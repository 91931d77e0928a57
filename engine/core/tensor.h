// Tensors: an owning handle over a block of Memory, and the view that operations take.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "engine/core/dtype.h"
#include "engine/core/memory.h"
#include "engine/core/shape.h"

namespace perfbench::engine {

// Dense and row-major. `data` is nullptr in a dry walk; `defined()` is false for an absent optional operand.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::f32;
  Shape shape;

  bool defined() const { return shape.rank() > 0; }
  std::int64_t elements() const { return shape.elements(); }
  std::int64_t bytes() const { return elements() * size_bytes(dtype); }

  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }

  // The elements [first, first + of.elements()) with the shape `of`. It stays a null view in a dry walk.
  TensorView slice(std::int64_t first, Shape of) const {
    return {data == nullptr ? nullptr : static_cast<char*>(data) + first * size_bytes(dtype), dtype, of};
  }
  // The same elements in another shape.
  TensorView reshaped(Shape of) const { return {data, dtype, of}; }
};

struct TensorRequest {
  std::string name;
  MemoryScope scope = MemoryScope::activations;
  DType dtype = DType::f32;
  Shape shape;
};

// Owns its block; returns it when destroyed or reset.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Memory& memory, const TensorRequest& request)
      : memory_(&memory), scope_(request.scope), view_{nullptr, request.dtype, request.shape} {
    block_ = memory.allocate({request.name, request.scope, request.dtype, request.shape, view_.bytes()});
    view_.data = block_.data;
  }
  Tensor(Tensor&& other) noexcept { swap(other); }
  Tensor& operator=(Tensor&& other) noexcept {
    Tensor moved(std::move(other));
    swap(moved);
    return *this;
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor() { reset(); }

  void reset() {
    if (memory_ != nullptr) memory_->release(block_, scope_, view_.bytes());
    memory_ = nullptr;
    view_ = {};
  }

  // The tensor must be defined. Puts it aside until its next use (ArenaBacking::put_aside).
  void put_aside() { memory_->put_aside(block_, scope_, view_.bytes()); }

  bool defined() const { return memory_ != nullptr; }
  // The tensor must be defined. Returns its name and its bytes as allocated.
  const LedgerEntry& entry() const { return memory_->ledger().entry(block_.ticket); }
  const TensorView& view() const { return view_; }
  operator const TensorView&() const { return view_; }

 private:
  void swap(Tensor& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(scope_, other.scope_);
    std::swap(block_, other.block_);
    std::swap(view_, other.view_);
  }

  Memory* memory_ = nullptr;
  MemoryScope scope_ = MemoryScope::activations;
  Memory::Block block_;
  TensorView view_;
};

}  // namespace perfbench::engine
