#include "harness/predict/symmetric_system.h"

#include <cmath>
#include <stdexcept>

namespace perfbench::predict {
namespace {

// Lower triangle L with A = L L'.
std::vector<double> cholesky(const std::vector<double>& a, std::size_t n) {
  std::vector<double> lower(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= lower[i * n + k] * lower[j * n + k];
      if (i != j) {
        lower[i * n + j] = sum / lower[j * n + j];
      } else {
        if (!(sum > 0)) throw std::domain_error("the matrix of a fit is not positive definite");
        lower[i * n + i] = std::sqrt(sum);
      }
    }
  }
  return lower;
}

std::vector<double> substitute(const std::vector<double>& lower, std::vector<double> x) {
  const std::size_t n = x.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) x[i] -= lower[i * n + k] * x[k];
    x[i] /= lower[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) x[i] -= lower[k * n + i] * x[k];
    x[i] /= lower[i * n + i];
  }
  return x;
}

}  // namespace

std::vector<double> solve_symmetric(const std::vector<double>& a, const std::vector<double>& b) {
  return substitute(cholesky(a, b.size()), b);
}

std::vector<double> inverse_symmetric(const std::vector<double>& a, std::size_t n) {
  const auto lower = cholesky(a, n);
  std::vector<double> out(n * n, 0);
  for (std::size_t column = 0; column < n; ++column) {
    std::vector<double> unit(n, 0);
    unit[column] = 1;
    const auto x = substitute(lower, std::move(unit));
    for (std::size_t row = 0; row < n; ++row) out[row * n + column] = x[row];
  }
  return out;
}

}  // namespace perfbench::predict
