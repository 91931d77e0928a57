// Names and versions of the libraries behind the cuda backend, for the record of a run.
#pragma once

#include <map>
#include <string>

namespace perfbench::engine {

// Library -> version ("cublaslt" -> "13.1.0"), and who computes: "matmul" and "attention" -> a library or "own".
std::map<std::string, std::string> cuda_library_versions();

}  // namespace perfbench::engine
