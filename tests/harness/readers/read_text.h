// Reads a text with a reader of harness/readers, in one chunk or in many.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/readers/reader.h"

namespace perfbench::readers {

struct ReadText {
  std::vector<spec::Sample> samples;
  std::vector<std::string> notes;

  // The values of one metric, in the order of arrival.
  std::vector<double> values(std::string_view metric) const {
    std::vector<double> out;
    for (const auto& sample : samples) {
      if (sample.metric == metric) out.push_back(sample.value);
    }
    return out;
  }
  // The only sample of the metric; a sample without a metric if there is none, or several.
  spec::Sample only(std::string_view metric) const {
    spec::Sample found;
    int count = 0;
    for (const auto& sample : samples) {
      if (sample.metric != metric) continue;
      found = sample;
      ++count;
    }
    return count == 1 ? found : spec::Sample{};
  }
};

inline ReadText read_text(std::string_view reader_name, std::string_view text, const Settings& settings = {},
                          std::size_t chunk = std::string_view::npos) {
  ReadText out;
  const auto reader =
      make_reader(reader_name, settings, [&out](const spec::Sample& sample) { out.samples.push_back(sample); });
  for (std::size_t at = 0; at < text.size(); at += std::min(chunk, text.size())) {
    reader->feed(text.substr(at, chunk), std::nullopt);
  }
  reader->finish();
  out.notes = reader->notes();
  return out;
}

}  // namespace perfbench::readers
