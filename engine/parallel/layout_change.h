// "U/fsdp -> U": how a collective changes the layout of one tensor. Parsed at compile time; a malformed text does not
// compile.
#pragma once

#include <string_view>

#include "engine/parallel/mesh.h"

namespace perfbench::engine {

class LayoutChange {
 public:
  consteval LayoutChange(const char* text) : text_(text) {
    const auto arrow = text_.find(" -> ");
    if (arrow == std::string_view::npos) throw "a layout change reads 'before -> after'";
    const auto before = text_.substr(0, arrow);
    const auto after = text_.substr(arrow + 4);
    const auto slash_before = before.find('/');
    const auto slash_after = after.find('/');
    if ((slash_before == std::string_view::npos) == (slash_after == std::string_view::npos)) {
      throw "exactly one side of a layout change is sharded";
    }
    gathers_ = slash_before != std::string_view::npos;
    const auto sharded = gathers_ ? before : after;
    const auto whole = gathers_ ? after : before;
    const auto slash = sharded.find('/');
    if (sharded.substr(0, slash) != whole || whole.empty()) throw "both sides of a layout change name the same dim";
    axis_ = parse_axis(sharded.substr(slash + 1));
  }

  constexpr std::string_view text() const { return text_; }
  constexpr Axis axis() const { return axis_; }
  constexpr bool gathers() const { return gathers_; }

 private:
  static consteval Axis parse_axis(std::string_view name) {
    for (const auto axis : kAxes) {
      if (name == axis_name(axis)) return axis;
    }
    throw "an axis is pp, dp, fsdp, ep or tp";
  }

  std::string_view text_;
  Axis axis_ = Axis::fsdp;
  bool gathers_ = false;
};

}  // namespace perfbench::engine
