// The bias of scores by distance (Raffel et al., "T5", arXiv:1910.10683, 2.1).
#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/element_type.h"
#include "engine/ops/cpu/parallel.h"

namespace perfbench::engine::cpu {

void CpuOps::do_relative_bias_forward(const RelativeBiasForwardArgs& args) {
  const std::int64_t heads = args.bias_HT.shape[0];
  const std::int64_t seq_len = args.bias_HT.shape[1];
  const std::int32_t* const buckets = args.buckets_T.as<const std::int32_t>();
  float* const bias = args.bias_HT.as<float>();
  with_element_type(args.table_UH.dtype, [&]<class T>() {
    const T* const table = args.table_UH.as<const T>();
    for_ranges(
        heads,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t h = begin; h < end; ++h) {
            for (std::int64_t d = 0; d < seq_len; ++d) bias[h * seq_len + d] = to_f32(table[buckets[d] * heads + h]);
          }
        },
        seq_len);
  });
}

// The sums of a head run by sequence and distance, whichever thread computes them.
void CpuOps::do_relative_bias_backward(const RelativeBiasBackwardArgs& args) {
  const std::int64_t batch = args.dbias_BHT.shape[0];
  const std::int64_t heads = args.dbias_BHT.shape[1];
  const std::int64_t seq_len = args.dbias_BHT.shape[2];
  const std::int64_t of_table = args.dtable_UH.shape[0];
  const std::int32_t* const buckets = args.buckets_T.as<const std::int32_t>();
  const float* const dbias = args.dbias_BHT.as<const float>();
  float* const dtable = args.dtable_UH.as<float>();
  const int threads = threads_for(args.dbias_BHT.elements());
  scratch_.prepare(threads, of_table);
  for_items(heads, threads, [&](std::int64_t h, int thread) {
    float* const sums = scratch_.of_thread(thread);
    std::fill(sums, sums + of_table, 0.0F);
    for (std::int64_t b = 0; b < batch; ++b) {
      const float* const row = dbias + (b * heads + h) * seq_len;
      for (std::int64_t d = 0; d < seq_len; ++d) sums[buckets[d]] += row[d];
    }
    for (std::int64_t u = 0; u < of_table; ++u) {
      float& to = dtable[u * heads + h];
      to = args.write == Write::accumulate ? to + sums[u] : sums[u];
    }
  });
}

}  // namespace perfbench::engine::cpu
