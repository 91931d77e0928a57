#include <gtest/gtest.h>

#include "harness/evidence/attempt.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace {

TEST(AttemptJson, ReadsBackWhatItWrote) {
  AttemptRecord record;
  record.run_id = std::string(64, 'a');
  record.attempt = 3;
  record.state = AttemptState::crashed;
  record.reason = "rank 1 ended by signal 11";
  record.signal = 11;
  record.axes = {{"fsdp", "2"}, {"model", "llama-tiny"}};
  record.command = {"mpirun", "-n", "2"};
  const auto back = parse_attempt(to_json_line(record));
  EXPECT_EQ(to_json_line(back), to_json_line(record));
  EXPECT_EQ(back.state, AttemptState::crashed);
  EXPECT_EQ(back.axes.at("fsdp"), "2");
  EXPECT_EQ(back.command[2], "2");
}

TEST(AttemptJson, WritesAReasonThatIsNotUtf8) {
  AttemptRecord record;
  record.reason = "no file caf\xe9.bin";  // a path in Latin-1
  EXPECT_EQ(parse_attempt(to_json_line(record)).reason, "no file caf\xef\xbf\xbd.bin");
}

TEST(AttemptJson, RefusesAnUnknownState) {
  auto text = to_json_line(AttemptRecord{});
  const std::string ok = R"("state":"ok")";
  text.replace(text.find(ok), ok.size(), R"("state":"fine")");
  try {
    parse_attempt(text);
    FAIL() << "accepted " << text;
  } catch (const spec::SpecError& e) {
    EXPECT_EQ(e.pointer(), "/state");
  }
}

}  // namespace
}  // namespace perfbench::harness
