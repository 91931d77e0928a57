// The list of all readers. A reader of rows is a table in programs.cpp; a reader that needs other code has a line here.
#include <algorithm>
#include <array>

#include "harness/readers/benchmarks/benchmark_formats.h"
#include "harness/readers/benchmarks/benchmark_reader.h"
#include "harness/readers/file_readers.h"
#include "harness/readers/programs.h"
#include "harness/readers/reader.h"
#include "workloads/spec/suggest.h"

namespace perfbench::readers {
namespace {

struct Coded {
  ReaderInfo info;
  std::unique_ptr<Reader> (*make)(const Settings& settings, SampleSink sink);
};

constexpr std::array kCoded{
    Coded{{"hf_state", "Hugging Face Trainer: trainer_state.json", Source::file, 2}, &make_hf_state_reader},
    Coded{{"lightning_csv", "Lightning: metrics.csv of its CSVLogger", Source::file, 2}, &make_lightning_reader},
    Coded{{"torchprime_metrics", "torchprime: train_metrics.json", Source::file}, &make_torchprime_metrics_reader},
    Coded{{"tensorboard", "scalars of an event file, by the tags of declared metrics", Source::file},
          &make_event_file_reader},
    Coded{{"jsonl", "JSON lines, by the keys of declared metrics", Source::file}, &make_json_lines_reader},
    Coded{{"csv", "CSV, by the columns of declared metrics", Source::file}, &make_csv_reader},
    Coded{{"hook", "JSON lines that a program appends to PERFBENCH_SAMPLES", Source::file}, &make_hook_reader},
};

std::vector<ReaderInfo> make_list() {
  std::vector<ReaderInfo> list;
  for (const auto& program : log_programs()) list.push_back(program.info);
  for (const auto& coded : kCoded) list.push_back(coded.info);
  for (const auto& format : benchmark_formats()) {
    list.push_back({.name = format.name, .reads = format.reads, .source = Source::file, .warms_up = true});
  }
  return list;
}

}  // namespace

std::span<const ReaderInfo> all_readers() {
  static const auto kList = make_list();
  return kList;
}

const ReaderInfo& reader_info(std::string_view name) {
  const auto list = all_readers();
  const auto found = std::ranges::find(list, name, &ReaderInfo::name);
  if (found != list.end()) return *found;
  std::vector<std::string> names;
  for (const auto& info : list) names.emplace_back(info.name);
  std::string known;
  for (const auto& each : names) known += (known.empty() ? "" : ", ") + each;
  const auto near = spec::nearest(name, names);
  throw ReaderError("there is no reader '" + std::string(name) + "'" +
                    (near ? " (did you mean '" + *near + "'?)" : "") + "; readers are " + known);
}

std::unique_ptr<Reader> make_reader(std::string_view name, const Settings& settings, SampleSink sink) {
  reader_info(name);
  for (const auto& program : log_programs()) {
    if (program.info.name == name) return std::make_unique<FormReader>(program, settings, std::move(sink));
  }
  if (const auto* format = find_benchmark_format(name)) return make_benchmark_reader(*format, std::move(sink));
  return std::ranges::find(kCoded, name, [](const Coded& coded) { return coded.info.name; })
      ->make(settings, std::move(sink));
}

std::vector<std::string> readers_that_know(std::string_view log) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  for (const auto& info : all_readers()) {
    if (info.source != Source::log) continue;
    std::int64_t samples = 0;
    const auto reader = make_reader(info.name, {}, [&samples](const spec::Sample&) { ++samples; });
    reader->feed(log, std::nullopt);
    reader->finish();
    if (samples > 0) found.emplace_back(-samples, info.name);
  }
  std::ranges::stable_sort(found, {}, &std::pair<std::int64_t, std::string>::first);
  std::vector<std::string> names;
  for (auto& [samples, name] : found) names.push_back(std::move(name));
  return names;
}

}  // namespace perfbench::readers
