#include "harness/app/night/night_pairs.h"

#include <filesystem>
#include <utility>

#include "harness/app/pairs/ab_comparison.h"
#include "harness/app/pairs/ab_preparation.h"
#include "harness/pairs/commit_build.h"
#include "harness/system/input_error.h"
#include "harness/system/parallel_ranges.h"

namespace perfbench::harness {

NightPairs run_pairs(Night& night, const AbSide& a, const AbSide& b, const std::set<std::string>& cells,
                     AbPurpose purpose) {
  auto options = night.options.ab;
  options.cells = cells;
  options.runs = night.options.runs_folder();
  NightPairs out;
  try {
    const auto ready_a = ready_side(a, options, night.interruption);
    const auto ready_b = ready_side(b, options, night.interruption);
    auto outcome = compare_sides(ready_a, ready_b, options, purpose, night.installation, night.interruption);
    out.cancelled = outcome.cancelled;
    out.comparison =
        NightComparison{outcome.report.comparison.comparison_id, std::move(outcome.report.cells), /*answers=*/{}};
  } catch (const Cancelled&) {
    out.cancelled = true;
  } catch (const InputError& e) {
    out.why_not = e.what();
  } catch (const RemoteEnd& e) {
    out.why_not = e.what();
  } catch (const LaunchError& e) {
    out.why_not = e.what();
  } catch (const BuildError& e) {
    out.why_not = e.what();
  } catch (const std::filesystem::filesystem_error& e) {  // the folder of builds cannot be written
    out.why_not = e.what();
  }
  return out;
}

}  // namespace perfbench::harness
