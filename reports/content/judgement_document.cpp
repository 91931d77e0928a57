#include "reports/content/judgement_document.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/content/alert_document.h"
#include "reports/render/format/escape.h"

namespace perfbench::reports {
namespace {

using harness::Judgement;
using harness::LedgerLine;
using Json = nlohmann::ordered_json;

bool is_wanted(const LedgerLine& line, const std::string& cell) {
  return cell.empty() || line.cell.empty() || line.cell == cell;
}

std::string item(const LedgerLine& line) {
  return fmt::format("{}{}{}: {}", line.metric, line.metric.empty() ? "" : ", ", spec::enum_name(line.part), line.text);
}

std::vector<std::string> cells_of(const Judgement& judgement, const std::string& cell) {
  std::vector<std::string> out{""};
  for (const auto& line : judgement.lines) {
    if (is_wanted(line, cell) && std::find(out.begin(), out.end(), line.cell) == out.end()) out.push_back(line.cell);
  }
  return out;
}

void add_judgement(Document& out, const Judgement& judgement, const std::string& cell, int level) {
  out.add(Heading{.level = level,
                  .text = fmt::format("verdict:{} ({}), matrix {}, {}", judgement.judgement_id,
                                      spec::enum_name(judgement.kind), judgement.matrix, judgement.made_utc)});
  for (const auto& of_cell : cells_of(judgement, cell)) {
    List list;
    for (const auto& line : judgement.lines) {
      if (line.cell == of_cell) list.items.push_back(item(line));
    }
    if (list.items.empty()) continue;
    if (!of_cell.empty()) out.add(Heading{.level = level + 1, .text = of_cell});
    out.add(std::move(list));
  }
}

Json lines_json(const Judgement& judgement, const std::string& cell) {
  Json out{{"verdict", judgement.judgement_id},
           {"kind", spec::enum_name(judgement.kind)},
           {"matrix", judgement.matrix},
           {"made_utc", judgement.made_utc},
           {"lines", Json::array()}};
  for (const auto& line : judgement.lines) {
    if (!is_wanted(line, cell)) continue;
    out["lines"].push_back(
        {{"cell", line.cell}, {"metric", line.metric}, {"part", spec::enum_name(line.part)}, {"text", line.text}});
  }
  return out;
}

// CSV has a row for each line.
void add_lines_for_programs(Document& out, const std::vector<Judgement>& judgements, const std::string& cell) {
  Table table{.key = "lines", .columns = {}, .rows = {}};
  for (const auto* key : {"verdict", "cell", "metric", "part", "text"}) {
    table.columns.push_back({.title = key, .key = key, .audience = Audience::programs});
  }
  for (const auto& judgement : judgements) {
    for (const auto& line : judgement.lines) {
      if (!is_wanted(line, cell)) continue;
      table.rows.push_back({.cells = {judgement.judgement_id, line.cell, line.metric,
                                      std::string(spec::enum_name(line.part)), line.text}});
    }
  }
  out.add(std::move(table));
}

}  // namespace

Document judgement_document(const Judgement& judgement, const std::string& cell) {
  Document out;
  add_judgement(out, judgement, cell, 1);
  add_lines_for_programs(out, {judgement}, cell);
  out.json = [=] { return json_text(lines_json(judgement, cell), 2); };
  return out;
}

Document alert_judgements_document(const harness::Alert& alert, const std::vector<Judgement>& judgements) {
  const auto cell = alert.finding.series.cell;
  auto out = alert_document(alert);
  for (const auto& judgement : judgements) add_judgement(out, judgement, cell, 2);
  out.json = [=, of_alert = out.json] {
    Json json{{"alert", Json::parse(of_alert())}, {"judgements", Json::array()}};
    for (const auto& judgement : judgements) json["judgements"].push_back(lines_json(judgement, cell));
    return json_text(json, 2);
  };
  return out;
}

}  // namespace perfbench::reports
