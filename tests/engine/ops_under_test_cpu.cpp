#include <omp.h>

#include <cstdlib>

#include "tests/engine/ops_under_test.h"

namespace perfbench::engine {

std::string why_no_ops() {
  return "";
}

std::unique_ptr<Ops> make_ops_under_test() {
  return make_cpu_ops();
}

bool rounds_flash_weights() {
  return false;
}

bool multiplies_odd_8_bit_rows() {
  return true;
}

bool rounds_before_adding() {
  return false;
}

bool cuts_8_bit_sums() {
  return false;
}

bool multiplies_rows_apart_alike() {
  return true;
}

void in_every_circumstance(const std::function<void(const std::string&)>& f) {
  const int before = omp_get_max_threads();
  for (const int threads : {1, 1, 2, 3}) {
    omp_set_num_threads(threads);
    f(std::to_string(threads) + " threads");
  }
  omp_set_num_threads(before);
}

void in_circumstances_of_products(const std::function<void(const std::string&)>& f) {
  for (int time = 1; time <= 2; ++time) in_every_circumstance(f);
}

void* allocate_operand(std::size_t bytes) {
  constexpr std::size_t kAlignment = 64;
  return std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
}

void free_operand(void* memory) {
  std::free(memory);
}

void wait_for_ops() {}

}  // namespace perfbench::engine
