// libFuzzer: any bytes as the output of any program give samples, the same in whatever chunks they come, and settled
// samples that are finite where required. The first byte chooses the reader, the second the chunks.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/readers/reader.h"
#include "harness/readers/settle.h"
#include "workloads/spec/program_json.h"

namespace {

using namespace perfbench;

readers::Settings settings() {
  return {.metrics = {{"loss", {.key = "loss"}},
                      {"step_time_s", {.key = "time", .unit = "ms"}},
                      {"reward", {.regex = R"((?:step (?P<step>\d+) )?reward=(?P<value>\S+))"}}},
          .work = {.tokens_per_device = 4096, .samples = 64, .log_interval = 2}};
}

std::vector<spec::Sample> read(std::size_t which, std::string_view text, std::size_t chunk) {
  static const auto kSettings = settings();
  std::vector<spec::Sample> samples;
  const auto sink = [&samples](const spec::Sample& sample) { samples.push_back(sample); };
  const auto all = readers::all_readers();
  const auto reader = which < all.size() ? readers::make_reader(all[which].name, kSettings, sink)
                                         : readers::make_declared_reader(kSettings, sink);
  for (std::size_t at = 0; at < text.size(); at += chunk) reader->feed(text.substr(at, chunk), std::nullopt);
  try {
    reader->finish();
  } catch (const readers::ReaderError&) {
    // The file of a benchmark program is damaged, or has several benchmarks.
  }
  return samples;
}

void demand(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t which = data[0] % (readers::all_readers().size() + 1);
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto samples = read(which, text, text.size() + 1);
  const auto again = read(which, text, 1 + data[1] % 16);
  demand(samples.size() == again.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto line = spec::to_json_line(samples[i]);
    demand(line == spec::to_json_line(again[i]));
    demand(line == spec::to_json_line(spec::parse_sample(line)));
  }
  const auto settled = readers::settle(samples, {.drop = 1, .steps = 10});
  demand(settled.samples.size() + settled.run_values.size() <= 2 * samples.size());
  demand(settled.restarts >= 0);
  return 0;
}
