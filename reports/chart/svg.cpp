#include "reports/chart/svg.h"

#include <fmt/core.h>

#include <algorithm>
#include <pugixml.hpp>
#include <regex>
#include <sstream>

#include "reports/format/xml_text.h"
#include "reports/page/assets.h"

namespace perfbench::reports {
namespace {

// What the page's style says of charts, with the light one of each pair of colours in the place of its name: not every
// program that shows SVG knows names.
std::string style_of_light_page() {
  static const std::regex kColour(R"(--([a-z0-9-]+): light-dark\(([^,]+), [^)]+\);)");
  std::string style(chart_style());
  const std::string colours(colour_style());
  for (std::sregex_iterator found(colours.begin(), colours.end(), kColour), end; found != end; ++found) {
    const std::string name = "var(--" + (*found)[1].str() + ")";
    for (auto at = style.find(name); at != std::string::npos; at = style.find(name, at)) {
      style.replace(at, name.size(), (*found)[2].str());
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
