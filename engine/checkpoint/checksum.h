// The checksum of what a checkpoint holds.
#pragma once

#include <cstddef>
#include <string>

namespace perfbench::engine {

// XXH3 of 64 bits (xxhash.com) as 16 hexadecimal digits: quicker than memory, no defence against malice.
std::string checksum(const void* data, std::size_t bytes);

}  // namespace perfbench::engine
