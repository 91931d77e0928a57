// Rows of the token (and position) table, their gradients, and one-hot rows for products with that table.
#include <algorithm>
#include <cstring>

#include "engine/core/error.h"
#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/document_rows.h"
#include "engine/ops/cpu/parallel.h"
#include "engine/ops/cpu/row_sum.h"

namespace perfbench::engine::cpu {
namespace {

void check_tokens(const TensorView& tokens, std::int64_t vocabulary) {
  const auto* const ids = tokens.as<const std::int32_t>();
  for (std::int64_t r = 0; r < tokens.elements(); ++r) {
    if (ids[r] < 0 || ids[r] >= vocabulary) {
      throw BadInput("embedding: token " + std::to_string(ids[r]) + " at position " + std::to_string(r) +
                     " of the batch is outside the vocabulary of " + std::to_string(vocabulary) +
                     "; does the data set belong to this model's tokenizer?");
    }
  }
}

}  // namespace

void CpuOps::do_embedding_forward(const EmbeddingForwardArgs& args) {
  const std::int64_t known = args.table_VM.shape[0];
  check_tokens(args.tokens_N, args.range.all > 0 ? args.range.all : known);
  const std::int64_t rows = args.x_NM.shape[0];
  const std::int64_t width = args.x_NM.shape[1];
  const auto* const tokens = args.tokens_N.as<const std::int32_t>();
  const DocumentRows documents(args.first_N, args.seq_len);
  with_element_type(args.x_NM.dtype, [&]<class T>() {
    for_ranges(
        rows,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t r = begin; r < end; ++r) {
            T* const x = args.x_NM.as<T>() + r * width;
            const std::int64_t row = tokens[r] - args.range.first;
            const bool here = row >= 0 && row < known;
            const T* const table = here ? args.table_VM.as<const T>() + row * width : nullptr;
            const T* const position =
                args.position_TM.defined() ? args.position_TM.as<const T>() + documents.position(r) * width : nullptr;
            if (table == nullptr || position == nullptr) {
              const auto bytes = static_cast<std::size_t>(width) * sizeof(T);
              const T* const only = table != nullptr ? table : position;
              if (only != nullptr) {
                std::memcpy(static_cast<void*>(x), only, bytes);
              } else {
                std::memset(static_cast<void*>(x), 0, bytes);
              }
              continue;
            }
            for (std::int64_t i = 0; i < width; i += kLanes) {
              const std::int64_t n = std::min(kLanes, width - i);
              store_up_to(x + i, load_up_to(table + i, n) + load_up_to(position + i, n), n);
            }
          }
        },
        width);
  });
}

// Threads divide the columns, so that each adds the gradients of a token in the order of r.
void CpuOps::do_embedding_backward(const EmbeddingBackwardArgs& args) {
  const std::int64_t known = args.dtable_VM.shape[0];
  check_tokens(args.tokens_N, args.range.all > 0 ? args.range.all : known);
  const std::int64_t rows = args.dx_NM.shape[0];
  const std::int64_t width = args.dx_NM.shape[1];
  const auto* const tokens = args.tokens_N.as<const std::int32_t>();
  const DocumentRows documents(args.first_N, args.seq_len);
  const auto strips = (width + kLanes - 1) / kLanes;
  with_element_type(args.dx_NM.dtype, [&]<class T>() {
    const auto add_row = [](float* sum, const T* dx, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; i += kLanes) {
        const std::int64_t n = std::min(kLanes, end - i);
        store_up_to(sum + i, load_up_to(sum + i, n) + load_up_to(dx + i, n), n);
      }
    };
    for_ranges(
        strips,
        [&](std::int64_t first, std::int64_t last) {
          const std::int64_t begin = first * kLanes;
          const std::int64_t end = std::min(width, last * kLanes);
          for (std::int64_t r = 0; r < rows; ++r) {
            const T* const dx = args.dx_NM.as<const T>() + r * width;
            const std::int64_t row = tokens[r] - args.range.first;
            if (row >= 0 && row < known) add_row(args.dtable_VM.as<float>() + row * width, dx, begin, end);
            if (args.dposition_TM.defined()) {
              add_row(args.dposition_TM.as<float>() + documents.position(r) * width, dx, begin, end);
            }
          }
        },
        rows * kLanes);
  });
}

void CpuOps::do_one_hot(const OneHotArgs& args) {
  const std::int64_t rows = args.rows_NV.shape[0];
  const std::int64_t width = args.rows_NV.shape[1];
  check_tokens(args.tokens_N, args.range.all > 0 ? args.range.all : width);
  const auto* const tokens = args.tokens_N.as<const std::int32_t>();
  with_element_type(args.rows_NV.dtype, [&]<class T>() {
    for_ranges(
        rows,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t r = begin; r < end; ++r) {
            T* const row = args.rows_NV.as<T>() + r * width;
            std::fill_n(row, width, from_f32<T>(0.0F));
            const std::int64_t column = tokens[r] - args.range.first;
            if (column >= 0 && column < width) row[column] = from_f32<T>(1.0F);
          }
        },
        width);
  });
}

}  // namespace perfbench::engine::cpu
