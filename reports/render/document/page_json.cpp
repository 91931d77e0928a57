#include "reports/render/document/page_json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "reports/render/chart/scene.h"
#include "reports/render/document/document.h"
#include "reports/render/format/shown.h"

namespace perfbench::reports {
namespace {

using Json = nlohmann::ordered_json;

const char* tone_name(Tone tone) {
  switch (tone) {
    case Tone::good:
      return "good";
    case Tone::bad:
      return "bad";
    case Tone::doubtful:
      return "doubtful";
    case Tone::plain:
      break;
  }
  return "";
}

bool is_known(const Value& value) {
  return !std::holds_alternative<std::monostate>(value);
}

// Sorts by number if all known values are numbers, otherwise by text.
bool sorts_by_number(const Table& table, std::size_t column) {
  bool any = false;
  for (const auto& row : table.rows) {
    const auto& value = row.cells[column].value;
    if (as_number(value)) {
      any = true;
    } else if (is_known(value)) {
      return false;
    }
  }
  return any;
}

// Lists the distinct cells once, and the index of each row's cell, because most columns of a long table have few
// distinct values.
Json column_json(const Table& table, std::size_t index) {
  const auto& column = table.columns[index];
  const bool numbers = sorts_by_number(table, index);
  Json out{{"title", shown(column.title)},
           {"key", column.key},
           {"right", column.align == Align::right},
           {"hidden", column.audience == Audience::programs || column.audience == Audience::pages},
           {"texts", Json::array()},
           {"values", numbers ? Json::array() : Json()},
           {"tones", Json::object()},
           {"of", Json::array()}};
  nlohmann::json tones = nlohmann::json::object();  // an ordered one would search all its keys for each insertion
  std::map<std::tuple<std::string, std::optional<double>, Tone>, std::size_t> known;
  for (const auto& row : table.rows) {
    const auto& cell = row.cells[index];
    const auto number = numbers ? as_number(cell.value) : std::nullopt;
    const auto [at, is_new] = known.try_emplace({cell.text, number, cell.tone}, known.size());
    out["of"].push_back(at->second);
    if (!is_new) continue;
    out["texts"].push_back(shown(cell.text));
    if (numbers) out["values"].push_back(number ? Json(*number) : Json());
    if (cell.tone != Tone::plain) tones[std::to_string(at->second)] = tone_name(cell.tone);
  }
  out["tones"] = tones;
  return out;
}

Json axis_json(const SceneAxis& axis) {
  return {{"title", axis.title},
          {"log", axis.is_logarithmic},
          {"low", axis.low},
          {"high", axis.high},
          {"categories", axis.categories}};
}

Json scene_json(const Scene& scene) {
  Json out{{"title", scene.title},
           {"width", scene.width},
           {"height", scene.height},
           {"sideways", scene.sideways},
           {"plot", {{"left", scene.left}, {"top", scene.top}, {"right", scene.right}, {"bottom", scene.bottom}}},
           {"x", axis_json(scene.x)},
           {"y", axis_json(scene.y)},
           {"readings", Json::array()},
           {"shapes", Json::array()}};
  for (const auto& [x, y, text] : scene.readings) {
    out["readings"].push_back({std::round(10 * x) / 10, std::round(10 * y) / 10, text});
  }
  for (const auto& shape : scene.shapes) {
    Json entry{{"tag", shape.tag}};
    for (const auto& [name, value] : shape.attributes) entry[name] = value;
    if (!shape.text.empty()) entry["text"] = shape.text;
    out["shapes"].push_back(std::move(entry));
  }
  return out;
}

// Lists names and kinds once. Times are in microseconds since the first start, with one decimal.
class TimelineJson {
 public:
  explicit TimelineJson(const Timeline& timeline) {
    for (const auto& lane : timeline.lanes) {
      for (const auto& span : lane.spans) {
        begin_ = std::min(begin_.value_or(span.start_ns), span.start_ns);
        end_ = std::max(end_, span.end_ns);
      }
    }
  }

  Json of(const Timeline& timeline) {
    Json lanes = Json::array();
    for (const auto& lane : timeline.lanes) lanes.push_back(lane_json(lane));
    return {{"kind", "timeline"},
            {"key", timeline.key},
            {"title", shown(timeline.title)},
            {"names", names_.texts},
            {"kinds", kinds_.texts},
            {"lanes", std::move(lanes)},
            {"length_us", microseconds(end_)},
            {"coloured", timeline.coloured}};
  }

 private:
  struct Texts {
    std::map<std::string, std::size_t> known;
    Json texts = Json::array();
    std::size_t number(const std::string& text) {
      const auto [at, is_new] = known.try_emplace(text, known.size());
      if (is_new) texts.push_back(shown(text));
      return at->second;
    }
  };

  double microseconds(std::int64_t ns) const {
    return std::round(static_cast<double>(ns - begin_.value_or(0)) / 100.0) / 10.0;
  }

  // Puts each span in the first row whose last span has ended, so that nested and overlapping spans are below each
  // other.
  Json lane_json(const TimelineLane& lane) {
    Json spans = Json::array();
    std::vector<std::int64_t> ends;  // end of the last span in each row
    for (const auto& span : lane.spans) {
      const auto free = std::find_if(ends.begin(), ends.end(), [&](auto end) { return end <= span.start_ns; });
      const auto row = free - ends.begin();
      if (free == ends.end()) ends.emplace_back();
      ends[static_cast<std::size_t>(row)] = span.end_ns;
      const double start = microseconds(span.start_ns);
      spans.push_back({names_.number(span.name), kinds_.number(span.kind), row, start,
                       std::round((microseconds(span.end_ns) - start) * 10.0) / 10.0});
    }
    Json out{{"name", shown(lane.name)}, {"rows", ends.size()}, {"spans", std::move(spans)}};
    if (lane.repeats_others) out["repeats_others"] = true;
    return out;
  }

  std::optional<std::int64_t> begin_;
  std::int64_t end_ = 0;
  Texts names_;
  Texts kinds_;
};

Json toned(const char* kind, const std::string& text, Tone tone) {
  Json out{{"kind", kind}, {"text", shown(text)}};
  if (tone != Tone::plain) out["tone"] = tone_name(tone);
  return out;
}

// In the order of their kinds; blocks without content here are null.
struct PageBlock {
  std::string heading;  // text of the last heading
  int level = 0;        // ... and its level

  // The first one is the title of the page. Below it, no level is left out.
  Json operator()(const Heading& block) {
    level = heading.empty() ? 1 : std::min(block.level, level + 1);
    heading = shown(block.text);
    Json out{{"kind", "heading"}, {"level", level}, {"text", heading}};
    if (block.folded) out["folded"] = true;
    return out;
  }
  Json operator()(const Headline& block) const { return toned("headline", block.text, block.tone); }
  Json operator()(const Paragraph& block) const { return toned("paragraph", block.text, block.tone); }
  Json operator()(const Origin& block) const {
    Json out{{"kind", "origin"}, {"facts", Json::array()}};
    for (const auto& [name, text] : block.facts) out["facts"].push_back({shown(name), shown(text)});
    return out;
  }
  Json operator()(const Cards& block) const {
    Json out{{"kind", "cards"}, {"cards", Json::array()}};
    for (const auto& card : block.cards) {
      Json entry = toned("card", card.value, card.tone);
      entry["title"] = shown(card.title);
      entry["detail"] = shown(card.detail);
      out["cards"].push_back(std::move(entry));
    }
    return out;
  }
  Json operator()(const Note& block) const { return {{"kind", "note"}, {"text", shown(block.text)}}; }
  Json operator()(const List& block) const {
    Json out{{"kind", "list"}, {"items", Json::array()}};
    for (const auto& item : block.items) out["items"].push_back(shown(item));
    return out;
  }
  Json operator()(const Chart& block) const {
    return {{"kind", "chart"}, {"key", block.key}, {"scene", scene_json(draw(block))}};
  }
  Json operator()(const SmallCharts& block) const {
    Json out{
        {"kind", "small_charts"}, {"key", block.key}, {"caption", shown(block.caption)}, {"charts", Json::array()}};
    for (const auto& small : block.charts) {
      Json entry = toned("small_chart", small.change, small.tone);
      entry["value"] = shown(small.value);
      entry["opens"] = small.opens;
      entry["scene"] = scene_json(draw(small.chart));
      out["charts"].push_back(std::move(entry));
    }
    return out;
  }
  Json operator()(const Series& block) const {
    Chart chart{.key = "series",
                .title = block.title,
                .x = {.title = "number"},
                .y = {.title = block.unit},
                .series = {{.name = "", .marks = Marks::connected, .points = {}}}};
    for (const double value : block.values) {
      auto& points = chart.series.front().points;
      points.push_back({.x = static_cast<double>(points.size() + 1), .y = value});
    }
    return (*this)(chart);
  }
  Json operator()(const Timeline& timeline) const { return TimelineJson(timeline).of(timeline); }
  Json operator()(const Table& table) const {
    const auto is_for_people = [](const Column& column) {
      return column.audience == Audience::everyone || column.audience == Audience::people;
    };
    if (std::none_of(table.columns.begin(), table.columns.end(), is_for_people)) return {};
    Json out{{"kind", "table"},           {"key", table.key},         {"label", heading.empty() ? table.key : heading},
             {"rows", table.rows.size()}, {"columns", Json::array()}, {"row_notes", Json::object()},
             {"notes", Json::array()}};
    for (std::size_t i = 0; i < table.columns.size(); ++i) out["columns"].push_back(column_json(table, i));
    for (const auto i : shared_settings(table)) out["columns"][i]["shared"] = true;
    Footnotes footnotes;
    nlohmann::json row_notes = nlohmann::json::object();
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      for (const auto& note : table.rows[i].notes) {
        row_notes[std::to_string(i)].push_back(footnotes.number(note) - 1);
      }
    }
    out["row_notes"] = row_notes;
    for (const auto& note : footnotes.notes()) out["notes"].push_back(shown(note));
    return out;
  }
};

}  // namespace

Json page_json(const Document& document) {
  Json out{{"title", ""}, {"blocks", Json::array()}};
  PageBlock page;
  std::string title;
  const bool has_title = !document.blocks.empty() && std::holds_alternative<Heading>(document.blocks.front());
  if (!has_title && !document.page_title.empty()) {
    out["blocks"].push_back(page(Heading{.text = document.page_title}));
  }
  for (const auto& block : document.blocks) {
    auto json = std::visit(page, block);
    if (!json.is_null()) out["blocks"].push_back(std::move(json));
    if (title.empty()) title = page.heading;
  }
  out["title"] = title;
  return out;
}

}  // namespace perfbench::reports
