// Lines as `scontrol --oneliner show job` of Slurm 22.05 prints them.
#include "harness/launch/slurm.h"

#include <gtest/gtest.h>

#include <string>

namespace perfbench::harness {
namespace {

JobView job_in(const std::string& state, const std::string& reason = "None") {
  return parse_slurm_job("JobId=17 JobName=JobState=x UserId=ada(1000) Nice=0 Account=(null) QOS=(null) JobState=" +
                         state + " Reason=" + reason +
                         " Dependency=(null) Requeue=0 Restarts=0 ExitCode=0:0 Partition=main ReqNodeList=(null) "
                         "ExcNodeList=(null) NodeList=n[1-2] BatchHost=n1 NumNodes=2 Comment=JobState=FAILED\n");
}

TEST(SlurmJob, IsQueuedRunningOrEnded) {
  EXPECT_EQ(job_in("PENDING", "Resources").state, JobState::queued);
  EXPECT_EQ(job_in("CONFIGURING").state, JobState::queued);
  for (const auto* state : {"RUNNING", "COMPLETING", "SUSPENDED", "STOPPED"}) {
    EXPECT_EQ(job_in(state).state, JobState::running) << state;
  }
  EXPECT_TRUE(job_in("COMPLETING").is_ending);
  EXPECT_FALSE(job_in("RUNNING").is_ending);
  EXPECT_EQ(job_in("COMPLETED").state, JobState::ended);
  EXPECT_EQ(parse_slurm_job("").state, JobState::unknown);
}

TEST(SlurmJob, EndStateSaysWhatBecomesOfItsAttempts) {
  struct Row {
    const char* state;
    AttemptState unfinished;
    bool may_go_on;
  };
  for (const auto& row :
       {Row{"TIMEOUT", AttemptState::timed_out, true}, Row{"DEADLINE", AttemptState::timed_out, false},
        Row{"OUT_OF_MEMORY", AttemptState::out_of_memory, true}, Row{"NODE_FAIL", AttemptState::crashed, true},
        Row{"BOOT_FAIL", AttemptState::crashed, true}, Row{"PREEMPTED", AttemptState::cancelled, true},
        Row{"FAILED", AttemptState::crashed, false}, Row{"CANCELLED", AttemptState::cancelled, false}}) {
    const auto seen = job_in(row.state);
    EXPECT_EQ(seen.state, JobState::ended) << row.state;
    EXPECT_EQ(seen.unfinished, row.unfinished) << row.state;
    EXPECT_EQ(seen.may_go_on, row.may_go_on) << row.state;
    // A node that does not answer may still run the job.
    EXPECT_EQ(seen.is_out_of_sight, std::string(row.state) == "NODE_FAIL") << row.state;
  }
}

// The name and the comment of a job are free text.
TEST(SlurmJob, ReasonAndNodesAreThoseOfTheJob) {
  const auto seen = job_in("PENDING", "Priority");
  EXPECT_EQ(seen.what, "PENDING (Priority)");
  EXPECT_EQ(seen.nodes, "n[1-2]");
  EXPECT_EQ(job_in("RUNNING").what, "RUNNING");
  EXPECT_EQ(parse_slurm_job("JobState=PENDING NodeList=(null)\n").nodes, "");
  EXPECT_EQ(parse_slurm_job("JobState=RUNNING NodeList=n1\n").nodes, "n1");
}

}  // namespace
}  // namespace perfbench::harness
