// Names and versions of the libraries behind the cpu backend, for the record of a run.
#pragma once

#include <map>
#include <string>

namespace perfbench::engine {

// Library -> version ("onednn" -> "2.6.3"), and "matmul" -> the one that computes the products.
std::map<std::string, std::string> cpu_library_versions();

}  // namespace perfbench::engine
