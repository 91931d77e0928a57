// Metrics that a user declares with a regular expression.
#include <algorithm>
#include <map>
#include <optional>

#include "harness/readers/line_pattern.h"
#include "harness/readers/row.h"

namespace perfbench::readers {
namespace {

class DeclaredReader final : public Reader {
 public:
  DeclaredReader(const Settings& settings, SampleSink sink) : Reader(std::move(sink)) {
    for (const auto& [name, metric] : settings.metrics) {
      if (!metric.regex.empty()) found_.push_back(compiled(name, metric));
    }
  }

  void feed(std::string_view bytes, ArrivalTime at_ns) override {
    lines_.feed(bytes, at_ns, [this](std::string_view line, ArrivalTime at) {
      for (auto& declared : found_) take_line(declared, line, at);
    });
  }

  void finish() override {
    for (auto& declared : found_) {
      if (declared.last) emit(*declared.last);
    }
    if (lines_.has_partial_line()) note("the last line has no end and was left out");
  }

 private:
  struct Declared {
    std::string name;
    double factor = 1;
    spec::Take take = spec::Take::each;
    LinePattern pattern;
    std::size_t value = 0;                         // index of the group of the value
    std::optional<std::size_t> step;               // index of the group of the step
    std::map<std::int64_t, std::int64_t> counted;  // by rank: the step of values that do not say theirs
    std::optional<spec::Sample> last;
  };

  static Declared compiled(const std::string& name, const spec::DeclaredMetric& metric) {
    const auto factor = declared_factor(name, metric);
    try {
      LinePattern pattern(metric.regex);
      const auto& names = pattern.names();
      const auto group = [&](std::string_view wanted) -> std::optional<std::size_t> {
        const auto at = std::ranges::find(names, wanted);
        return at == names.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - names.begin()));
      };
      auto value = group("value");
      if (!value && names.size() == 1 && names[0].empty()) value = 0;  // a single group without a name is the value
      if (!value) {
        throw ReaderError("metric '" + name + "': its regex has no group (?P<value>...); put it around the number");
      }
      const auto step = group("step");
      return {name, factor, metric.take, std::move(pattern), *value, step, {}, std::nullopt};
    } catch (const PatternError& e) {
      throw ReaderError("metric '" + name + "': " + e.what());
    }
  }

  void take_line(Declared& declared, std::string_view line, ArrivalTime at_ns) {
    if (!declared.pattern.search(line)) return;
    const auto number = parse_number(declared.pattern.groups()[declared.value]);
    if (!number) return;
    const auto printed =
        declared.step ? parse_number(declared.pattern.groups()[*declared.step]) : std::optional<Number>();
    const auto step = printed ? as_count(*printed) : std::nullopt;
    const auto rank = rank_of_prefix(declared.pattern.before());
    const auto counted = ++declared.counted[rank];
    const spec::Sample sample{.metric = declared.name,
                              .step = step.value_or(counted),
                              .value = number->value * declared.factor,
                              .rank = rank,
                              .resolution = number->resolution * declared.factor,
                              .at_ns = at_ns};
    if (declared.take == spec::Take::last) {
      declared.last = sample;
    } else {
      emit(sample);
    }
  }

  LineFeed lines_;
  std::vector<Declared> found_;
};

}  // namespace

std::unique_ptr<Reader> make_declared_reader(const Settings& settings, SampleSink sink) {
  return std::make_unique<DeclaredReader>(settings, std::move(sink));
}

}  // namespace perfbench::readers
