// perfbench reproduce over runs of the fake engine.
#include <nlohmann/json.hpp>

#include "tests/harness/faults/fault_fixture.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;
using Fake = perfbench::fake::FakeBehaviour;
namespace fs = std::filesystem;

class Reproduce : public Faults {
 protected:
  // The folder of the only run.
  fs::path sweep_one(Fake behaviour) {
    write_matrix({static_cast<std::int64_t>(behaviour)});
    sweep();
    return fs::directory_iterator(scratch_ / "f.runs")->path();
  }
  ProcessEnd reproduce(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "reproduce");
    return run_process(request(std::move(arguments)));
  }
};

TEST_F(Reproduce, AGoodRunIsRepeatedAsItsNextAttempt) {
  const auto run = sweep_one(Fake::first_ok);
  const auto end = reproduce({run / "001", "--db", "f.db"});
  EXPECT_EQ(end.exit_code, 0) << end.error_output;
  EXPECT_THAT(end.output, HasSubstr("of 3 step records are equal bit by bit"));
  EXPECT_THAT(end.output, HasSubstr("\nreproduced"));
  EXPECT_TRUE(fs::exists(run / "002" / kAttemptFile));
  EXPECT_EQ(stored().size(), 2U);
}

TEST_F(Reproduce, DifferentNumbersAreNamedAndExitWithOne) {
  const auto run = sweep_one(Fake::first_ok);
  const auto file = run / "001" / steps_file(0);
  auto text = read_text(file);
  const auto second = text.find('\n') + 1;
  auto step = nlohmann::json::parse(text.substr(second, text.find('\n', second) - second));
  step["loss"] = 4.5;
  text.replace(second, text.find('\n', second) - second, step.dump());
  write_text(file, text);
  const auto end = reproduce({run / "001"});
  EXPECT_EQ(end.exit_code, 1) << end.error_output;
  EXPECT_THAT(end.output, HasSubstr("loss of step 1 on rank 0 differs: 4.5 -> 4.99"));
  EXPECT_THAT(end.output, HasSubstr("NOT reproduced"));
}

TEST_F(Reproduce, ACrashThatCrashesAgainIsReproduced) {
  const auto end = reproduce({sweep_one(Fake::segfault)});
  EXPECT_EQ(end.exit_code, 0) << end.error_output;
  EXPECT_THAT(end.output, HasSubstr("crashed -> crashed"));
}

TEST_F(Reproduce, NamesAFolderThatIsNotARun) {
  sweep_one(Fake::first_ok);
  for (const auto* folder : {"f.runs", "nowhere"}) {
    const auto end = reproduce({folder});
    EXPECT_EQ(end.exit_code, 3);
    EXPECT_THAT(end.error_output, HasSubstr("name the folder of an attempt"));
  }
}

}  // namespace
}  // namespace perfbench::harness
