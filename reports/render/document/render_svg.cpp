#include <string>
#include <vector>

#include "reports/render/chart/scene.h"
#include "reports/render/chart/svg.h"
#include "reports/render/document/render.h"

namespace perfbench::reports {
namespace {

bool is_named(const Chart& chart, std::string_view name) {
  return name.empty() || chart.key == name || chart.key.starts_with(std::string(name) + "_");
}

}  // namespace

std::string render_svg(const Document& document, std::string_view name) {
  std::vector<Scene> scenes;
  for (const auto& block : document.blocks) {
    const auto* chart = std::get_if<Chart>(&block);
    if (chart != nullptr && is_named(*chart, name)) scenes.push_back(draw(*chart));
  }
  return svg(scenes);
}

std::vector<std::string> chart_keys(const Document& document) {
  std::vector<std::string> out;
  for (const auto& block : document.blocks) {
    if (const auto* chart = std::get_if<Chart>(&block)) out.push_back(chart->key);
  }
  return out;
}

}  // namespace perfbench::reports
