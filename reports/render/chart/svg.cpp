#include "reports/render/chart/svg.h"

#include <fmt/core.h>

#include <algorithm>
#include <pugixml.hpp>
#include <sstream>

#include "reports/render/format/escape.h"
#include "reports/render/page/assets.h"

namespace perfbench::reports {
namespace {

// The part of the page's style for charts, with each named colour replaced by its light value, because some programs
// that show SVG do not support colour variables. The page has lines "--NAME: light-dark(LIGHT, DARK);".
std::string style_of_light_page() {
  constexpr std::string_view kPair = ": light-dark(";
  std::string style(chart_style());
  const std::string_view colours = colour_style();
  for (auto at = colours.find(kPair); at != std::string_view::npos; at = colours.find(kPair, at + 1)) {
    const auto begin = colours.rfind("--", at);
    const auto light = at + kPair.size();
    const std::string name = "var(" + std::string(colours.substr(begin, at - begin)) + ")";
    const std::string value(colours.substr(light, colours.find(',', light) - light));
    for (auto found = style.find(name); found != std::string::npos; found = style.find(name, found)) {
      style.replace(found, name.size(), value);
    }
  }
  return style;
}

constexpr int kTitleHeight = 28;

void append(pugi::xml_node parent, const Scene& scene, int y) {
  auto title = parent.append_child("text");
  title.append_attribute("x") = 12;
  title.append_attribute("y") = y + kTitleHeight - 8;
  title.append_attribute("class") = "heading";
  title.text() = xml_text(scene.title).c_str();
  auto drawing = parent.append_child("svg");
  drawing.append_attribute("y") = y + kTitleHeight;
  drawing.append_attribute("width") = scene.width;
  drawing.append_attribute("height") = scene.height;
  for (const auto& shape : scene.shapes) {
    auto element = drawing.append_child(shape.tag.c_str());
    for (const auto& [name, value] : shape.attributes) element.append_attribute(name.c_str()) = value.c_str();
    if (shape.text.empty()) continue;
    auto holder = shape.tag == "text" ? element : element.append_child("title");
    holder.text() = xml_text(shape.text).c_str();
  }
}

}  // namespace

std::string svg(const std::vector<Scene>& scenes) {
  int width = 0;
  int height = 0;
  for (const auto& scene : scenes) {
    width = std::max(width, scene.width);
    height += kTitleHeight + scene.height;
  }
  pugi::xml_document document;
  auto root = document.append_child("svg");
  root.append_attribute("xmlns") = "http://www.w3.org/2000/svg";
  root.append_attribute("viewBox") = fmt::format("0 0 {} {}", width, height).c_str();
  root.append_attribute("width") = width;
  root.append_attribute("height") = height;
  root.append_child("style").text() = style_of_light_page().c_str();
  auto paper = root.append_child("rect");
  paper.append_attribute("width") = "100%";
  paper.append_attribute("height") = "100%";
  paper.append_attribute("fill") = "#ffffff";
  int y = 0;
  for (const auto& scene : scenes) {
    append(root, scene, y);
    y += kTitleHeight + scene.height;
  }
  std::ostringstream out;
  document.save(out, "", pugi::format_raw | pugi::format_no_declaration, pugi::encoding_utf8);
  return out.str() + "\n";
}

}  // namespace perfbench::reports
