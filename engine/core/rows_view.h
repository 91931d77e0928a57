// A view of rows that need not be contiguous: some columns of a wider matrix, such as the queries in the rows of a
// joined projection. Operations that can read such operands take this type; the others take dense ones only.
#pragma once

#include <concepts>
#include <cstdint>

#include "engine/core/error.h"
#include "engine/core/tensor.h"

namespace perfbench::engine {

// Shape [rows, columns]; row_start gives the start of a row.
struct RowsView {
  void* data = nullptr;
  DType dtype = DType::f32;
  Shape shape;
  std::int64_t stride = 0;  // elements from a group's first row to the next group's
  std::int64_t group = 1;   // contiguous rows in a group

  RowsView() = default;
  RowsView(void* first, DType type, Shape extent, std::int64_t row_stride, std::int64_t group_rows)
      : data(first), dtype(type), shape(extent), stride(row_stride), group(group_rows) {}
  // A view of dense rows.
  RowsView(const TensorView& dense)
      : data(dense.data),
        dtype(dense.dtype),
        shape(dense.shape),
        stride(dense.shape.rank() == 2 ? dense.shape[1] : 0) {}
  template <std::convertible_to<TensorView> Dense>
  RowsView(const Dense& dense) : RowsView(static_cast<TensorView>(dense)) {}

  bool defined() const { return shape.rank() > 0; }
  std::int64_t elements() const { return shape.elements(); }
  std::int64_t bytes() const { return elements() * size_bytes(dtype); }
  bool is_dense() const { return shape.rank() != 2 || stride == group * shape[1]; }

  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }

  // Throws LogicFault if the rows are not dense.
  TensorView dense() const {
    if (!is_dense()) throw LogicFault("dense rows are required, but these rows are apart");
    return {data, dtype, shape};
  }
  // The columns [first, first + count) of the same rows, which must not be grouped. It stays a null view in a dry walk.
  RowsView columns(std::int64_t first, std::int64_t count) const {
    require_ungrouped();
    return {data == nullptr ? nullptr : static_cast<char*>(data) + first * size_bytes(dtype), dtype,
            Shape{shape[0], count}, stride, 1};
  }
  // Splits each row, which must not be grouped, into several of `width`: a token's row into its heads.
  RowsView split(std::int64_t width) const {
    require_ungrouped();
    const std::int64_t parts = shape[1] / width;
    if (parts * width != shape[1]) throw LogicFault("rows are split into parts that do not fill them");
    return {data, dtype, Shape{shape[0] * parts, width}, stride, parts};
  }

 private:
  void require_ungrouped() const {
    if (group != 1) throw LogicFault("grouped rows cannot be divided into columns");
  }
};

constexpr std::int64_t row_start(std::int64_t r, std::int64_t stride, std::int64_t group, std::int64_t columns) {
  return r / group * stride + r % group * columns;
}
// The first element of a row.
template <class T>
T* row_of(const RowsView& rows, std::int64_t r) {
  return rows.as<T>() + row_start(r, rows.stride, rows.group, rows.shape[1]);
}

}  // namespace perfbench::engine
