// The launch files of a matrix's cells (harness/launch/launch_file.h).
#pragma once

#include <string>
#include <vector>

#include "harness/app/installation.h"
#include "harness/app/sweep/planned_sweep.h"
#include "harness/launch/launch_file.h"

namespace perfbench::harness {

struct LaunchFilesRequest {
  MatrixOptions matrix;
  LaunchFileRequest file;
  std::string checkout;  // the program's checkout in the job; empty: --program-repo
};

struct LaunchFiles {
  std::vector<LaunchFile> files;     // in the order of the cells
  std::vector<std::string> refused;  // "LABEL: why it has none"
};

// One file for each cell. The site's file completes the request. Throws InputError as load_matrix(), load_site() and
// render_launch_file().
LaunchFiles launch_files(const LaunchFilesRequest& request, const Installation& installation);

}  // namespace perfbench::harness
