// Linear systems with a symmetric, positive definite matrix, by Cholesky's decomposition. Matrices are dense, by rows.
#pragma once

#include <cstddef>
#include <vector>

namespace perfbench::predict {

// x with A x = b. Throws std::domain_error if A is not positive definite.
std::vector<double> solve_symmetric(const std::vector<double>& a, const std::vector<double>& b);

// The inverse of an n x n matrix. Throws as solve_symmetric.
std::vector<double> inverse_symmetric(const std::vector<double>& a, std::size_t n);

}  // namespace perfbench::predict
