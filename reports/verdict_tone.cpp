#include "reports/verdict_tone.h"

namespace perfbench::reports {

Tone tone_of(harness::Verdict verdict) {
  switch (verdict) {
    case harness::Verdict::regressed:
      return Tone::bad;
    case harness::Verdict::improved:
      return Tone::good;
    case harness::Verdict::inconclusive:
    case harness::Verdict::not_comparable:
      return Tone::doubtful;
    case harness::Verdict::same:
      break;
  }
  return Tone::plain;
}

}  // namespace perfbench::reports
