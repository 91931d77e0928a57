#include "harness/system/run_id.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "workloads/spec/run_spec.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::harness {
namespace {

// RFC 4231, sections 4.2 and 4.3.
TEST(Hmac, EqualsTheExamplesOfItsStandard) {
  EXPECT_EQ(hmac_sha256_hex(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac_sha256_hex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

// The two examples of NIST's SHA-256 document (FIPS 180-2, appendix B) and the empty message.
TEST(RunId, HashesLikeThePublishedExamples) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(RunId, IsEqualForEqualRunsAndDiffersWhenAnyFieldDiffers) {
  spec::RunSpec run;
  const auto first = run_id(run);
  EXPECT_EQ(first.size(), 64U);
  const spec::RunSpec same;
  EXPECT_EQ(run_id(same), first);
  run.optimizer.eps = 2e-8;
  EXPECT_NE(run_id(run), first);
}

// The digest was computed by Python's json and hashlib from the same run (tests/golden/run_id.py).
TEST(RunId, EqualsWhatAnotherProgramComputes) {
  std::ifstream file(PERFBENCH_SOURCE_DIR "/tests/golden/run_id.json");
  const auto golden = nlohmann::json::parse(file);
  EXPECT_EQ(run_id(spec::parse_run_json(golden["run"].dump())), golden["sha256"]);
}

}  // namespace
}  // namespace perfbench::harness
