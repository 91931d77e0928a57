// Slurm as a launcher: sbatch, squeue, scontrol and scancel.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "harness/launch/job_launcher.h"

namespace perfbench::harness {

// Throws InputError if a command of Slurm is missing.
std::unique_ptr<JobLauncher> slurm_launcher(const LaunchRequest& request);

// Parses a line of `scontrol --oneliner show job`: "JobId=17 ... JobState=TIMEOUT Reason=TimeLimit ...".
JobView parse_slurm_job(std::string_view line);

}  // namespace perfbench::harness
