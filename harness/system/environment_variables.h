// Environment variables that hold secrets of the harness. No command that the harness starts inherits them, because
// engines of any revision, compilers and git do not need them (harness/execute/process.h).
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace perfbench::harness {

inline constexpr const char* kWebhookUrlVariable = "PERFBENCH_WEBHOOK_URL";
inline constexpr const char* kWebhookTokenVariable = "PERFBENCH_WEBHOOK_TOKEN";

inline constexpr std::array<std::string_view, 2> kSecretVariables{kWebhookUrlVariable, kWebhookTokenVariable};

// Environment variables with which a launcher (mpirun, srun, torchrun) tells a process its rank. A user may start
// perfbench below a launcher. Processes that perfbench starts do not inherit these variables: an engine of one rank
// would take itself for a rank of the outer job, and an inner mpirun for a part of it.
//
// Variables that users set themselves are not affected: OMPI_MCA_btl, PMIX_MCA_gds, SLURM_JOB_ID, CUDA_VISIBLE_DEVICES.
inline bool is_launcher_variable(std::string_view name) {
  constexpr std::array<std::string_view, 19> kBeginnings{"OMPI_APP_CTX_",
                                                         "OMPI_COMM_WORLD_",
                                                         "OMPI_MCA_ess_",
                                                         "OMPI_MCA_orte_",
                                                         "OMPI_FIRST_RANKS",
                                                         "OMPI_NUM_APP_CTX",
                                                         "OMPI_UNIVERSE_SIZE",
                                                         "PMIX_",
                                                         "PMI_",
                                                         "PRTE_",
                                                         "HYDI_",
                                                         "MPI_LOCALNRANKS",
                                                         "MPI_LOCALRANKID",
                                                         "MV2_COMM_WORLD_",
                                                         "PALS_",
                                                         "FLUX_TASK_",
                                                         "SLURM_SRUN_",
                                                         "SLURM_STEP",
                                                         "TORCHELASTIC_"};
  constexpr std::array<std::string_view, 23> kNames{"OMPI_ARGV",
                                                    "OMPI_COMMAND",
                                                    "OMPI_FILE_LOCATION",
                                                    "OMPI_MCA_ess",
                                                    "OMPI_MCA_initial_wdir",
                                                    "SLURM_GTIDS",
                                                    "SLURM_LOCALID",
                                                    "SLURM_NODEID",
                                                    "SLURM_PROCID",
                                                    "SLURM_TASK_PID",
                                                    "RANK",
                                                    "LOCAL_RANK",
                                                    "WORLD_SIZE",
                                                    "LOCAL_WORLD_SIZE",
                                                    "GROUP_RANK",
                                                    "GROUP_WORLD_SIZE",
                                                    "MASTER_ADDR",
                                                    "MASTER_PORT",
                                                    "PMI2_RANK",
                                                    "SLURM_LAUNCH_NODE_IPADDR",
                                                    "ROLE_RANK",
                                                    "ROLE_NAME",
                                                    "ROLE_WORLD_SIZE"};
  if (name.starts_with("PMIX_MCA_") || name.starts_with("PRTE_MCA_")) return false;
  return std::any_of(kBeginnings.begin(), kBeginnings.end(), [&](auto begin) { return name.starts_with(begin); }) ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace perfbench::harness
