// Sweeps of the built perfbench over cells whose seed selects the behaviour of the fake engine.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "harness/execute/process.h"
#include "harness/store/database.h"
#include "harness/store/queries/query.h"
#include "tests/harness/example_run.h"
#include "tests/harness/fake_engine.h"

namespace perfbench::harness {

class Faults : public testing::Test {
 protected:
  // One cell for each seed; `extra` contains more lines of the defaults.
  void write_matrix(const std::vector<std::int64_t>& seeds, const std::string& extra = "") {
    std::string text =
        "name: faults\ndefaults:\n  model: gpt-tiny\n  seq_len: 8\n  global_batch: 2\n  steps: 3\n" + extra;
    text += "axes:\n  seed: [";
    for (std::size_t i = 0; i < seeds.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(seeds[i]);
    write_text(scratch_ / "faults.yaml", text + "]\n");
  }

  // perfbench with these arguments, in the scratch folder.
  ProcessRequest request(std::vector<std::string> arguments) const;
  ProcessRequest sweep_request(const std::vector<std::string>& options = {}) const;
  ProcessEnd sweep(const std::vector<std::string>& options = {}) const { return run_process(sweep_request(options)); }

  // The same with a fake engine that interrupts perfbench before it hangs: the moment is an event and not a delay.
  static ProcessRequest interrupted_by_its_engine(ProcessRequest request);

  // The same with an engine that kills perfbench when it is first started for a run.
  ProcessRequest killed_by_its_engine(ProcessRequest request) const;

  // Leaves a sweep of two cells that was interrupted in the second one; the first one, with this seed, is finished.
  void cut_off_after(std::int64_t seed) {
    write_matrix({seed, static_cast<std::int64_t>(fake::FakeBehaviour::hang)});
    ASSERT_EQ(run_process(interrupted_by_its_engine(sweep_request())).exit_code, 4);
  }

  std::vector<StoredAttempt> stored() const {
    return load_attempts(open_database(scratch_ / "f.db"), {.kind = SelectionKind::all});
  }

  ScratchFolder scratch_;
};

}  // namespace perfbench::harness
