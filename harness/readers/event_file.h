// The format of TensorBoard's event files (tensorflow/core/lib/io/record_writer.h, event.proto): records with masked
// CRC-32C, each of which holds a protocol buffer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace perfbench::readers {

// The masked CRC-32C (Castagnoli) of a record: rotated, and with a constant added.
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace perfbench::readers
