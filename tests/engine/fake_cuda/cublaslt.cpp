#include <cublasLt.h>

#include <algorithm>
#include <cstring>

#include "tests/engine/fake_cuda/fake_cuda.h"
#include "tests/engine/fake_cuda/handles.h"

struct cublasLtContext {};

namespace perfbench::engine::fake_cuda {
namespace {

template <class Handle>
cublasStatus_t make_plain(Handle** handle) {
  *handle = new Handle{};
  return CUBLAS_STATUS_SUCCESS;
}

template <class Handle>
cublasStatus_t destroy_plain(Handle* handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace
extern "C" {

const char* cublasLtGetStatusName(cublasStatus_t) {
  return "an error";
}
const char* cublasLtGetStatusString(cublasStatus_t) {
  return "of the fake cuBLASLt";
}
std::size_t cublasLtGetVersion() {
  return 130100;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  return make_plain(handle);
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return destroy_plain(handle);
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description, cublasComputeType_t, cudaDataType_t) {
  return make_plain(description);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  return destroy_plain(description);
}
// A description keeps only the address of the pre-activation. Fast accumulation is noted.
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              std::size_t bytes) {
  if (attribute == CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER) std::memcpy(&description->data[0], value, bytes);
  if (attribute == CUBLASLT_MATMUL_DESC_FAST_ACCUM) note("fast_accumulation", *static_cast<const std::int8_t*>(value));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType, std::uint64_t, std::uint64_t,
                                          std::int64_t) {
  return make_plain(layout);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return destroy_plain(layout);
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t, const void*,
                                                std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return make_plain(preference);
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy_plain(preference);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int most,
                                              cublasLtMatmulHeuristicResult_t* results, int* count) {
  *count = std::min(most, answers().algorithms.load());
  for (int i = 0; i < *count; ++i) {
    results[i] = {};
    results[i].state = CUBLAS_STATUS_SUCCESS;
    results[i].algo.data[0] = static_cast<std::uint64_t>(i + 1);
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t*, cublasLtMatmulHeuristicResult_t* result) {
  *result = {};
  return CUBLAS_STATUS_SUCCESS;
}

// The number of the algorithm is written to the first element of the result and of a pre-activation, so that a test
// sees what was written where.
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void*, const void*,
                              cublasLtMatrixLayout_t, const void*, cublasLtMatrixLayout_t, const void* beta,
                              const void*, cublasLtMatrixLayout_t, void* result, cublasLtMatrixLayout_t,
                              const cublasLtMatmulAlgo_t* algorithm, void*, std::size_t, cudaStream_t) {
  const auto number = static_cast<std::int64_t>(algorithm->data[0]);
  const float adds = *static_cast<const float*>(beta);
  note("cublasLtMatmul", adds == 0.0F ? number : -number);
  float& first = *static_cast<float*>(result);
  first = adds * first + static_cast<float>(number);
  if (description->data[0] != 0) *reinterpret_cast<float*>(description->data[0]) = static_cast<float>(number);
  turn_clock(number == answers().fastest ? 1.0 : 2.0);
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"

}  // namespace perfbench::engine::fake_cuda
