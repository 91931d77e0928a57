// add, sums of parts, copy and conversion, fill, upload.
#include <cstring>

#include "engine/core/error.h"
#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/parallel.h"
#include "engine/ops/cpu/row_sum.h"

namespace perfbench::engine::cpu {
namespace {

void copy_bytes(void* out, const void* in, std::int64_t bytes) {
  for_ranges(bytes, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(static_cast<char*>(out) + begin, static_cast<const char*>(in) + begin,
                static_cast<std::size_t>(end - begin));
  });
}

template <class To, class From>
void convert(To* out, const From* in, std::int64_t n) {
  for_ranges(n, [&](std::int64_t begin, std::int64_t end) {
    for_vectors(
        end - begin, [&](std::int64_t i) { store(out + begin + i, load(in + begin + i)); },
        [&](std::int64_t i, std::int64_t part) { store_part(out + begin + i, load_part(in + begin + i, part), part); });
  });
}

template <class T, class Other>
void sum_of(T* out, const T* a, const Other* b, std::int64_t n) {
  for_ranges(n, [&](std::int64_t begin, std::int64_t end) {
    T* const sum = out + begin;
    const T* const x = a + begin;
    const Other* const y = b + begin;
    for_vectors(
        end - begin, [&](std::int64_t i) { store(sum + i, load(x + i) + load(y + i)); },
        [&](std::int64_t i, std::int64_t part) {
          store_part(sum + i, load_part(x + i, part) + load_part(y + i, part), part);
        });
  });
}

template <class T>
void fill_with(T* out, std::int64_t n, T value) {
  for_ranges(n, [&](std::int64_t begin, std::int64_t end) { std::fill(out + begin, out + end, value); });
}

}  // namespace

void CpuOps::do_add(TensorView out, TensorView a, TensorView b) {
  with_element_type(out.dtype, [&]<class T>() {
    if (b.dtype == out.dtype) {
      sum_of(out.as<T>(), a.as<const T>(), b.as<const T>(), out.elements());
    } else {
      sum_of(out.as<T>(), a.as<const T>(), b.as<const float>(), out.elements());
    }
  });
}

void CpuOps::do_sum_parts(TensorView out, TensorView parts) {
  const std::int64_t elements = out.elements();
  const std::int64_t count = parts.elements() / elements;
  with_element_type(out.dtype, [&]<class T>() {
    for_ranges(elements, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; i += kLanes) {
        const std::int64_t n = std::min(kLanes, end - i);
        Vec sum = load_up_to(parts.as<const T>() + i, n);
        for (std::int64_t part = 1; part < count; ++part) {
          sum += load_up_to(parts.as<const T>() + part * elements + i, n);
        }
        store_up_to(out.as<T>() + i, sum, n);
      }
    });
  });
}

void CpuOps::do_copy(TensorView out, TensorView in) {
  if (out.dtype == in.dtype) {
    if (out.data != in.data) copy_bytes(out.data, in.data, out.bytes());
    return;
  }
  with_element_type(out.dtype, [&]<class To>() {
    with_element_type(in.dtype, [&]<class From>() { convert(out.as<To>(), in.as<const From>(), out.elements()); });
  });
}

// Device and host share one memory here, and only the cores can copy.
std::unique_ptr<Pending::State> CpuOps::do_transfer(TensorView out, TensorView in) {
  do_copy(out, in);
  return nullptr;
}

void CpuOps::do_fill(TensorView out, double value) {
  const std::int64_t n = out.elements();
  switch (out.dtype) {
    case DType::f32:
      return fill_with(out.as<float>(), n, static_cast<float>(value));
    case DType::bf16:
      return fill_with(out.as<Bf16>(), n, from_f32<Bf16>(static_cast<float>(value)));
    case DType::f64:
      return fill_with(out.as<double>(), n, value);
    case DType::i32:
      return fill_with(out.as<std::int32_t>(), n, static_cast<std::int32_t>(value));
    case DType::e4m3:
      return fill_with(out.as<E4m3>(), n, from_f32<E4m3>(static_cast<float>(value)));
    case DType::e5m2:
      return fill_with(out.as<E5m2>(), n, from_f32<E5m2>(static_cast<float>(value)));
  }
}

void CpuOps::do_upload(TensorView out, const void* from) {
  copy_bytes(out.data, from, out.bytes());
}

}  // namespace perfbench::engine::cpu
