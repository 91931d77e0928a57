// Launch files: what submits one cell of a matrix to a scheduler, in the form of the scheduler's own documents. Such a
// job needs no harness, and a training program needs only its own image.
//
// Sources of the forms: the options of sbatch and srun (slurm.schedmd.com), of docker run (docs.docker.com) and of
// `xpk workload create --help` (XPK 1.x), the API of Kubernetes batch/v1 and of JobSet v1alpha2
// (jobset.sigs.k8s.io), and for the whole JAX-Toolbox's docs/frameworks/maxtext/example_slurm.sub and
// .github/eks-workflow-files/maxtext-job.yaml.
#pragma once

#include "harness/launch/launch_form.h"
#include "harness/launch/node_work.h"

namespace perfbench::harness {

struct Site;

// Throws InputError for something that the form has no place for, so that nothing is left out in silence, and for a
// word with a line break.
void check_launch_file_request(const LaunchFileRequest& request);

// The images of a site have perfbench. A training program has an image of its own.
enum class ImageHolds { perfbench, program };

// The request with the site's settings in all places that it leaves open.
LaunchFileRequest with_site(LaunchFileRequest request, const Site& site, ImageHolds holds);

// Throws InputError if the form cannot express the work, or needs an option that is not given.
LaunchFile render_launch_file(const NodeWork& work, const LaunchFileRequest& request);

}  // namespace perfbench::harness
