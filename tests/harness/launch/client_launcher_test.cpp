#include "harness/launch/client_launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/launch/launchers.h"
#include "harness/system/input_error.h"

namespace perfbench::harness {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// sshd gives its words to a shell of the user.
TEST(SshCommand, RefusesWordsThatAShellWouldInterpret) {
  EXPECT_THAT(ssh_command("node1", {"/opt/perfbench", "worker", "/runs/pb-2026_1.a"}),
              ElementsAre("ssh", "-tt", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15", "node1", "--",
                          "/opt/perfbench", "worker", "/runs/pb-2026_1.a"));
  for (const auto* word :
       {"/my runs", "/a;b", "/$HOME", "/a'b", "/a\"b", "/a`b`", "/a\nb", "/a*", "~/runs", "/a\\b", ""}) {
    EXPECT_THROW(ssh_command("node1", {"perfbench", "worker", word}), InputError) << word;
  }
}

TEST(Launchers, AreNamedWithTheirPlaces) {
  EXPECT_THAT(parse_launcher("local"), IsEmpty());
  EXPECT_THAT(parse_launcher("slurm"), ElementsAre(LaunchRequest{.launcher = "slurm"}));
  EXPECT_THAT(parse_launcher("slurm:gpu"), ElementsAre(LaunchRequest{.launcher = "slurm", .place = "gpu"}));
  EXPECT_THAT(parse_launcher("ssh:a,ada@b"), ElementsAre(LaunchRequest{.launcher = "ssh", .place = "a"},
                                                         LaunchRequest{.launcher = "ssh", .place = "ada@b"}));
  EXPECT_THAT(parse_launcher("docker"), ElementsAre(LaunchRequest{.launcher = "docker"}));
  EXPECT_THAT(parse_launcher("kubernetes:perf"), ElementsAre(LaunchRequest{.launcher = "kubernetes", .place = "perf"}));
  for (const auto* words : {"", "slrum", "local:", "podman:x", "ssh", "ssh:", "Slurm"}) {
    EXPECT_THROW(parse_launcher(words), InputError) << words;
  }
}

}  // namespace
}  // namespace perfbench::harness
