// The files of reports/render/page/assets, which the build puts into the program.
#pragma once

#include <string_view>

namespace perfbench::reports {

std::string_view page_template();  // with @POLICY@, @STYLE@, @DOCUMENT@ and @SCRIPT@
std::string_view colour_style();
std::string_view chart_style();
std::string_view page_style();
std::string_view page_script();  // all .js files concatenated

}  // namespace perfbench::reports
