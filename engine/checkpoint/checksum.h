// The checksum of the values in a checkpoint.
#pragma once

#include <cstddef>
#include <string>

namespace perfbench::engine {

// XXH3 of 64 bits (xxhash.com) as 16 hexadecimal digits. It is faster than memory and offers no protection against
// malice.
std::string checksum(const void* data, std::size_t bytes);

}  // namespace perfbench::engine
