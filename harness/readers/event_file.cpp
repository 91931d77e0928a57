// A record consists of its length (8 bytes), a CRC of the length (4), the data, and a CRC of the data (4), all
// little-endian. The data is an Event: field 2 is the step, field 5 a Summary. Field 1 of the Summary holds values: 1
// tag, 2 simple_value, 8 tensor (with one element: 5 float_val, 6 double_val, 4 tensor_content).
#include "harness/readers/event_file.h"

#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "harness/readers/file_readers.h"

namespace perfbench::readers {
namespace {

constexpr std::size_t kHeaderBytes = 12;
constexpr std::size_t kFooterBytes = 4;
constexpr std::uint64_t kLargestRecord = std::uint64_t{64}
                                         << 20;  // larger records, such as images and graphs, are skipped

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  constexpr std::uint32_t kPolynomial = 0x82f63b78;
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[i] = crc;
  }
  return table;
}

template <class T>
T little_endian(std::string_view bytes) {
  static_assert(std::endian::native == std::endian::little);
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// One field of a message; `bytes` holds a length-delimited or fixed value.
struct ProtoField {
  std::uint64_t number = 0;
  int wire = 0;
  std::uint64_t varint = 0;
  std::string_view bytes;
};

std::optional<std::uint64_t> take_varint(std::string_view& text) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !text.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(text.front());
    text.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

// nullopt at the end, and where the text is not a valid message.
std::optional<ProtoField> take_field(std::string_view& text) {
  constexpr int kVarint = 0;
  constexpr int kFixed64 = 1;
  constexpr int kLength = 2;
  constexpr int kFixed32 = 5;
  const auto tag = take_varint(text);
  if (!tag) return std::nullopt;
  ProtoField field{.number = *tag >> 3, .wire = static_cast<int>(*tag & 7), .bytes = {}};
  std::uint64_t size = 0;
  if (field.wire == kVarint) {
    const auto value = take_varint(text);
    if (!value) return std::nullopt;
    field.varint = *value;
    return field;
  }
  if (field.wire == kFixed64) {
    size = 8;
  } else if (field.wire == kFixed32) {
    size = 4;
  } else if (field.wire == kLength) {
    const auto length = take_varint(text);
    if (!length) return std::nullopt;
    size = *length;
  } else {
    return std::nullopt;
  }
  if (size > text.size()) return std::nullopt;
  field.bytes = text.substr(0, size);
  text.remove_prefix(size);
  return field;
}

template <class T>
std::optional<double> first_number(std::string_view bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  return static_cast<double>(little_endian<T>(bytes));
}

// The value of a tensor with one number: float (type 1) or double (type 2).
std::optional<double> number_of_tensor(std::string_view tensor) {
  constexpr std::uint64_t kFloat = 1;
  constexpr std::uint64_t kDouble = 2;
  std::uint64_t type = 0;
  std::optional<double> value;
  while (const auto field = take_field(tensor)) {
    if (field->number == 1) type = field->varint;
    if (field->number == 5) value = first_number<float>(field->bytes);
    if (field->number == 6) value = first_number<double>(field->bytes);
    if (field->number != 4) continue;
    if (type == kFloat && field->bytes.size() == sizeof(float)) value = first_number<float>(field->bytes);
    if (type == kDouble && field->bytes.size() == sizeof(double)) value = first_number<double>(field->bytes);
  }
  return value;
}

constexpr Program kEvents{.info = {}, .forms = {}, .first_step = 0};

class EventFileReader final : public RowReader {
 public:
  EventFileReader(const Settings& settings, SampleSink sink)
      : RowReader(kEvents, settings, std::move(sink)), keys_(keyed_figures(settings, "step")) {}

  void feed(std::string_view bytes, ArrivalTime) override {
    while (!bytes.empty() && !damaged_) {
      if (passed_over_ > 0) {
        const auto skipped = std::min<std::uint64_t>(passed_over_, bytes.size());
        passed_over_ -= skipped;
        bytes.remove_prefix(skipped);
        continue;
      }
      const auto wanted = wanted_ - buffer_.size();
      const auto taken = std::min(wanted, bytes.size());
      buffer_.append(bytes.substr(0, taken));
      bytes.remove_prefix(taken);
      if (buffer_.size() == wanted_) take_buffer();
    }
  }

  void finish() override {
    RowReader::finish();
    if (damaged_) note("the event file is damaged: the checksum of a record is wrong; the rest was left out");
    if (!damaged_ && !buffer_.empty()) note("the last record of the event file is cut off and was left out");
  }

 private:
  void take_buffer() {
    if (wanted_ == kHeaderBytes) {
      const std::string_view header(buffer_);
      const auto length = little_endian<std::uint64_t>(header);
      damaged_ = masked_crc32c(header.substr(0, 8)) != little_endian<std::uint32_t>(header.substr(8));
      if (damaged_) return;
      if (length > kLargestRecord) {
        passed_over_ = length > UINT64_MAX - kFooterBytes ? length : length + kFooterBytes;
        buffer_.clear();
        return;
      }
      wanted_ = kHeaderBytes + static_cast<std::size_t>(length) + kFooterBytes;
      return;
    }
    const auto data = std::string_view(buffer_).substr(kHeaderBytes, wanted_ - kHeaderBytes - kFooterBytes);
    const auto crc = little_endian<std::uint32_t>(std::string_view(buffer_).substr(wanted_ - kFooterBytes));
    damaged_ = masked_crc32c(data) != crc;
    if (!damaged_) take_event(data);
    buffer_.clear();
    wanted_ = kHeaderBytes;
  }

  void take_event(std::string_view event) {
    Row row{.step = 0};  // field 2 is omitted for step 0
    std::string_view summary;
    while (const auto field = take_field(event)) {
      if (field->number == 2 && field->varint <= INT64_MAX) row.step = static_cast<std::int64_t>(field->varint);
      if (field->number == 5) summary = field->bytes;
    }
    while (const auto field = take_field(summary)) {
      if (field->number == 1) take_value(field->bytes, row);
    }
    if (!row.entries.empty()) take(std::move(row));
  }

  void take_value(std::string_view value, Row& row) const {
    std::string_view tag;
    std::optional<double> number;
    while (const auto field = take_field(value)) {
      if (field->number == 1) tag = field->bytes;
      if (field->number == 2) number = first_number<float>(field->bytes);
      if (field->number == 8) number = number_of_tensor(field->bytes);
    }
    for (const auto& key : keys_) {
      if (number && key.key == tag && key.figure.role == Role::metric) row.add_value(key.figure, {*number, 0});
    }
  }

  std::vector<KeyedFigure> keys_;
  std::string buffer_;
  std::size_t wanted_ = kHeaderBytes;
  std::uint64_t passed_over_ = 0;
  bool damaged_ = false;
};

}  // namespace

std::uint32_t masked_crc32c(std::string_view bytes) {
  constexpr std::uint32_t kMask = 0xa282ead8;
  static constexpr auto kTable = make_crc_table();
  std::uint32_t crc = ~0U;
  for (const char c : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + kMask;
}

std::unique_ptr<Reader> make_event_file_reader(const Settings& settings, SampleSink sink) {
  return std::make_unique<EventFileReader>(settings, std::move(sink));
}

}  // namespace perfbench::readers
