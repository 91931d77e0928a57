#include "harness/app/runs/baseline_file.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "harness/matrix/yaml_document.h"
#include "harness/stats/verdict.h"
#include "harness/system/input_error.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {
namespace {

using nlohmann::json;

void check_metric(const std::string& metric, const std::string& pointer) {
  try {
    metric_rule(metric);
  } catch (const InputError& e) {
    throw spec::SpecError(pointer, e.what());
  }
}

void check_value(double value, const std::string& pointer) {
  if (!(value > 0) || !std::isfinite(value)) throw spec::SpecError(pointer, "a value must be a positive number");
}

std::string text_of(const json& entry, const char* key, const std::string& pointer) {
  const auto found = entry.find(key);
  if (found == entry.end()) return {};
  if (!found->is_string()) throw spec::SpecError(pointer + "/" + key, std::string("'") + key + "' must be text");
  return found->get<std::string>();
}

void read_entry(const json& entry, const std::string& pointer, std::vector<BaselineValue>& out) {
  if (!entry.is_object()) throw spec::SpecError(pointer, "an entry must be a mapping of cell or run, metric and value");
  for (const auto& [key, value] : entry.items()) {
    if (key != "cell" && key != "run" && key != "metric" && key != "value") {
      throw spec::SpecError(pointer + "/" + key,
                            "unknown key '" + key + "'" + spec::suggestion(key, {"cell", "run", "metric", "value"}));
    }
  }
  if (entry.contains("cell") == entry.contains("run")) {
    throw spec::SpecError(pointer, "an entry names either a cell by its label or a run by its whole id");
  }
  BaselineValue item;
  item.subject = text_of(entry, entry.contains("cell") ? "cell" : "run", pointer);
  item.metric = text_of(entry, "metric", pointer);
  check_metric(item.metric, pointer + (entry.contains("metric") ? "/metric" : ""));
  const auto value = entry.find("value");
  if (value == entry.end()) throw spec::SpecError(pointer, "the key 'value' is missing");
  const auto values = value->is_array() ? *value : json::array({*value});
  for (const auto& one : values) {
    if (!one.is_number()) throw spec::SpecError(pointer + "/value", "a value must be a positive number");
    item.value = one.get<double>();
    check_value(item.value, pointer + "/value");
    out.push_back(item);
  }
}

std::vector<BaselineValue> values_of_document(const std::filesystem::path& file) {
  const auto document = YamlDocument::load(file, "baseline");
  std::vector<BaselineValue> out;
  try {
    const auto& root = document.root();
    if (!root.is_object() || !root.contains("values") || !root["values"].is_array()) {
      throw spec::SpecError("", "a baseline file has one list, 'values'");
    }
    for (const auto& [key, value] : root.items()) {
      if (key != "values") {
        throw spec::SpecError("/" + key, "unknown key '" + key + "'" + spec::suggestion(key, {"values"}));
      }
    }
    for (std::size_t i = 0; i < root["values"].size(); ++i) {
      read_entry(root["values"][i], "/values/" + std::to_string(i), out);
    }
  } catch (const spec::SpecError& e) {
    throw document.error(e);
  }
  return out;
}

// One line of RFC 4180. A quoted field must not contain a line break.
std::vector<std::string> split_csv(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quoted && line[i] == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  return fields;
}

double csv_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nan("");
  return value;
}

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // spreadsheets write it at the start of a UTF-8 file

class CsvReader {
 public:
  explicit CsvReader(const std::filesystem::path& file) : file_(file) {}

  std::vector<BaselineValue> read() {
    std::ifstream in(file_);
    if (!in) throw InputError("[baseline] " + file_.string() + ": cannot be read");
    std::string line;
    while (std::getline(in, line)) {
      ++line_;
      if (line_ == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (line.empty()) continue;
      titles_.empty() ? read_titles(split_csv(line)) : read_row(split_csv(line));
    }
    if (titles_.empty()) fail("is empty; its first line names the columns: cell,metric,value");
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError("[baseline] " + file_.string() + ":" + std::to_string(line_) + " " + what);
  }

  void read_titles(std::vector<std::string> titles) {
    titles_ = std::move(titles);
    int subjects = 0;
    for (const auto& title : titles_) {
      if (title != "cell" && title != "run" && title != "metric" && title != "value") {
        fail("unknown column '" + title + "'" + spec::suggestion(title, {"cell", "run", "metric", "value"}));
      }
      subjects += title == "cell" || title == "run";
    }
    if (titles_.size() != 3 || subjects != 1) fail("the columns must be: cell or run, metric, value");
  }

  void read_row(const std::vector<std::string>& fields) {
    if (fields.size() != titles_.size()) {
      fail("has " + std::to_string(fields.size()) + " fields, but the first line names " +
           std::to_string(titles_.size()));
    }
    BaselineValue item;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (titles_[i] == "metric") {
        item.metric = fields[i];
      } else if (titles_[i] == "value") {
        item.value = csv_number(fields[i]);
      } else {
        item.subject = fields[i];
      }
    }
    try {
      check_metric(item.metric, "");
      check_value(item.value, "");
    } catch (const spec::SpecError& e) {
      fail(e.what());
    }
    out_.push_back(std::move(item));
  }

  std::filesystem::path file_;
  std::int64_t line_ = 0;
  std::vector<std::string> titles_;
  std::vector<BaselineValue> out_;
};

}  // namespace

std::vector<BaselineValue> read_baseline_file(const std::filesystem::path& file) {
  auto extension = file.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return extension == ".csv" ? CsvReader(file).read() : values_of_document(file);
}

}  // namespace perfbench::harness
