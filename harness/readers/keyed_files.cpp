// Readers of JSON lines, of CSV, and of lines that a program appends itself.
#include <algorithm>
#include <array>

#include "harness/readers/file_readers.h"
#include "harness/readers/json_row.h"
#include "workloads/spec/parse_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::readers {
namespace {

constexpr Program kByKey{.info = {}, .forms = {}, .first_step = 0, .unnumbered = Unnumbered::counted};

class LinesReader : public RowReader {
 public:
  LinesReader(const Program& program, const Settings& settings, SampleSink sink)
      : RowReader(program, settings, std::move(sink)) {}

  void feed(std::string_view bytes, ArrivalTime at_ns) override {
    lines_.feed(bytes, at_ns, [this](std::string_view line, ArrivalTime at) { take_line(line, at); });
  }
  void finish() override {
    RowReader::finish();
    if (lines_.has_partial_line()) note("the last line has no end and was left out");
    if (damaged_ > 0) note(std::to_string(damaged_) + " lines could not be read and were left out");
  }

 protected:
  virtual void take_line(std::string_view line, ArrivalTime at_ns) = 0;
  void count_damaged() { ++damaged_; }

 private:
  LineFeed lines_;
  std::int64_t damaged_ = 0;
};

class JsonLinesReader final : public LinesReader {
 public:
  JsonLinesReader(const Settings& settings, SampleSink sink)
      : LinesReader(kByKey, settings, std::move(sink)), keys_(keyed_figures(settings, "step")) {}

 private:
  void take_line(std::string_view line, ArrivalTime at_ns) override {
    const auto brace = line.find('{');
    Row row{.at_ns = at_ns};
    if (brace == std::string_view::npos || !add_json(line.substr(brace), keys_, row)) return count_damaged();
    if (!row.entries.empty()) take(std::move(row));
  }
  std::vector<KeyedFigure> keys_;
};

// The fields of a line. A quoted field may contain commas, and "" for a quote.
std::vector<std::string> csv_fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && line.substr(i + 1).starts_with('"')) {
      fields.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

class CsvReader final : public LinesReader {
 public:
  CsvReader(const Program& program, std::vector<KeyedFigure> keys, const Settings& settings, SampleSink sink)
      : LinesReader(program, settings, std::move(sink)), keys_(std::move(keys)) {}

 private:
  void take_line(std::string_view line, ArrivalTime at_ns) override {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    const auto fields = csv_fields(line);
    if (columns_.empty()) {
      for (const auto& name : fields) {
        const auto key = std::ranges::find(keys_, std::string_view(name), &KeyedFigure::key);
        columns_.push_back(key == keys_.end() ? nullptr : &key->figure);
      }
      return;
    }
    if (fields.size() != columns_.size()) return count_damaged();
    Row row{.at_ns = at_ns};
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (columns_[i] != nullptr) row.add(*columns_[i], fields[i]);  // rows are sparse: an empty field is not a number
    }
    if (!row.entries.empty()) take(std::move(row));
  }
  std::vector<KeyedFigure> keys_;
  std::vector<const Figure*> columns_;
};

// train/time is the time since the start without validation; a step has two sparse rows.
constexpr Program kLightning{.info = {}, .forms = {}, .first_step = 0, .covers = Covers::since_last};
constexpr std::array kLightningKeys{Key{"step", "step"},
                                    Key{"train/time", "elapsed_s"},
                                    Key{"train_loss", "loss"},
                                    Key{"train/loss", "loss"},
                                    Key{"train/device/samples_per_sec", "samples_s"},
                                    Key{"grad_norm", "grad_norm"}};

class HookReader final : public LinesReader {
 public:
  HookReader(const Settings& settings, SampleSink sink) : LinesReader(kByKey, settings, std::move(sink)) {}

 private:
  void take_line(std::string_view line, ArrivalTime at_ns) override {
    constexpr std::size_t kLongestName = 100;
    try {
      const auto object = spec::parse_json(with_quoted_words(line));
      Row row{.at_ns = at_ns};
      std::vector<std::string> names;  // the names of the figures of this row
      for (const auto& [name, value] : object.items()) names.push_back(name.substr(0, kLongestName));
      for (const auto& name : names) {
        const auto& value = object.at(name);
        const bool is_step = name == "step";
        const Figure figure{.name = name, .metric = name, .role = is_step ? Role::step : Role::metric};
        if (value.is_number()) row.add_value(figure, {value.get<double>(), 0});
        if (value.is_string()) row.add(figure, value.get<std::string>());
      }
      if (!row.entries.empty()) take(std::move(row));
    } catch (const spec::SpecError&) {
      count_damaged();
    } catch (const spec::Json::exception&) {  // not an object, or a name that is too long
      count_damaged();
    }
  }
};

}  // namespace

std::unique_ptr<Reader> make_json_lines_reader(const Settings& settings, SampleSink sink) {
  return std::make_unique<JsonLinesReader>(settings, std::move(sink));
}

std::unique_ptr<Reader> make_csv_reader(const Settings& settings, SampleSink sink) {
  return std::make_unique<CsvReader>(kByKey, keyed_figures(settings, "step"), settings, std::move(sink));
}

std::unique_ptr<Reader> make_lightning_reader(const Settings& settings, SampleSink sink) {
  return std::make_unique<CsvReader>(kLightning, keyed_figures(kLightningKeys), settings, std::move(sink));
}

std::unique_ptr<Reader> make_hook_reader(const Settings& settings, SampleSink sink) {
  return std::make_unique<HookReader>(settings, std::move(sink));
}

}  // namespace perfbench::readers
