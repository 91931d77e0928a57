// A night's engine is found again, byte for byte and executable, and nothing else is kept.
#include "harness/app/night/engine_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/app/installation.h"
#include "harness/evidence/run_directory.h"
#include "harness/execute/process.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {
namespace fs = std::filesystem;
using testing::HasSubstr;

class Archive : public testing::Test {
 protected:
  fs::path engine(const std::string& contents) {
    const auto file = scratch_ / ("engine-" + contents);
    write_text(file, contents);
    return file;
  }
  std::size_t kept_engines() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(scratch_ / "archive")) {
      count += entry.is_regular_file() && entry.path().filename() != "control" ? 1 : 0;
    }
    return count;
  }

  ScratchFolder scratch_;
  EngineArchive archive_{scratch_ / "archive"};
};

TEST_F(Archive, FindsTheEngineOfANight) {
  archive_.keep("night1", "m", engine("one"));
  archive_.keep("night2", "m", engine("two"));
  archive_.keep("night3", "m", engine("one"));
  ASSERT_TRUE(archive_.of_night("night1"));
  EXPECT_EQ(read_text(archive_.of_night("night1")->program.file), "one");
  EXPECT_EQ(read_text(archive_.of_night("night2")->program.file), "two");
  EXPECT_EQ(archive_.of_night("night1")->program.file, archive_.of_night("night3")->program.file);
  EXPECT_TRUE(archive_.of_night("night1")->program.file.is_absolute());
  EXPECT_EQ(archive_.of_night("night1")->problem, "");
  EXPECT_EQ(kept_engines(), 2U);
  const auto permissions = fs::status(archive_.of_night("night1")->program.file).permissions();
  EXPECT_NE(permissions & fs::perms::owner_exec, fs::perms::none);
  EXPECT_FALSE(archive_.of_night("night4"));
}

TEST_F(Archive, TheControlStaysWhileNightsPass) {
  EXPECT_FALSE(archive_.control());
  archive_.set_control(engine("fixed"));
  for (int night = 1; night <= 4; ++night) {
    archive_.keep("night" + std::to_string(night), "m", engine(std::to_string(night)));
  }
  archive_.prune(2);
  EXPECT_EQ(read_text(archive_.control()->program.file), "fixed");
  EXPECT_FALSE(archive_.of_night("night2"));
  EXPECT_EQ(read_text(archive_.of_night("night3")->program.file), "3");
  EXPECT_EQ(kept_engines(), 3U);
  archive_.prune(2);
  EXPECT_EQ(kept_engines(), 3U);
}

// An old night with which later ones are compared once a month.
TEST_F(Archive, ANamedNightStaysHoweverOldItIs) {
  for (int night = 1; night <= 4; ++night) {
    archive_.keep("night" + std::to_string(night), "m", engine(std::to_string(night)));
  }
  archive_.prune(2, {"night1"});
  ASSERT_TRUE(archive_.of_night("night1"));
  EXPECT_EQ(read_text(archive_.of_night("night1")->program.file), "1");
  EXPECT_FALSE(archive_.of_night("night2"));
  EXPECT_EQ(kept_engines(), 3U);
}

TEST_F(Archive, AnEngineThatIsNotThereIsAnError) {
  EXPECT_THROW(archive_.keep("night1", "m", scratch_ / "none"), RunDirectoryError);
  EXPECT_NO_THROW(archive_.prune(1));
}

TEST_F(Archive, NightsOfOneMatrixThrowOutNoEngineOfAnother) {
  archive_.keep("night1", "weekly", engine("seldom"));
  for (int night = 2; night <= 5; ++night) {
    archive_.keep("night" + std::to_string(night), "nightly", engine(std::to_string(night)));
  }
  archive_.prune(2);
  ASSERT_TRUE(archive_.of_night("night1"));
  EXPECT_EQ(archive_.of_night("night1")->problem, "");
  EXPECT_FALSE(archive_.of_night("night3"));
  EXPECT_TRUE(archive_.of_night("night4"));
  EXPECT_EQ(kept_engines(), 3U);
  EXPECT_FALSE(fs::exists(scratch_ / "archive/matrices/night3"));
}

TEST_F(Archive, AnArchiveThatKnowsNoMatricesIsPrunedAsOne) {
  for (const auto* night : {"night1", "night2", "night3"}) archive_.keep(night, "m", engine(night));
  fs::remove_all(scratch_ / "archive/matrices");
  archive_.prune(2);
  EXPECT_FALSE(archive_.of_night("night1"));
  EXPECT_TRUE(archive_.of_night("night2"));
}

TEST_F(Archive, SaysWhyAnEngineIsNotFitToRun) {
  archive_.keep("night1", "m", engine("one"));
  const auto file = archive_.of_night("night1")->program.file;
  fs::permissions(file, fs::perms::owner_read);
  EXPECT_THAT(archive_.of_night("night1")->problem, HasSubstr(file.string() + " cannot be executed"));
  write_text(file, "another");
  fs::permissions(file, fs::perms::owner_all);
  EXPECT_THAT(archive_.of_night("night1")->problem, HasSubstr("was modified"));
  fs::remove(file);
  EXPECT_THAT(archive_.of_night("night1")->problem, HasSubstr("is gone"));
  fs::create_directory(file);
  EXPECT_THAT(archive_.of_night("night1")->problem, HasSubstr("is gone"));
  write_text(scratch_ / "archive/nights/night1", "../../bin/sh");
  EXPECT_THAT(archive_.of_night("night1")->problem, HasSubstr("names no engine"));
}

TEST_F(Archive, NamingTheControlAgainRepairsIt) {
  archive_.set_control(engine("fixed"));
  fs::permissions(archive_.control()->program.file, fs::perms::owner_read);
  EXPECT_NE(archive_.control()->problem, "");
  archive_.set_control(engine("fixed"));
  EXPECT_EQ(archive_.control()->problem, "");
}

// A program that prints the version of a shared library, which lies beside it.
class ArchiveOfLibraries : public Archive {
 protected:
  ArchiveOfLibraries() {
    fs::create_directories(program_.parent_path());
    fs::copy_file(PERFBENCH_LIBRARY_USER, program_);
    install(PERFBENCH_EXAMPLE_LIBRARY_1);
  }
  void install(const fs::path& library) {
    fs::copy_file(library, program_.parent_path() / "libopenblas_example.so", fs::copy_options::overwrite_existing);
  }
  static std::string says(const EngineProgram& program) {
    const auto end = run_process(program.request({}));
    EXPECT_TRUE(end.succeeded()) << end.error_output;
    return end.output;
  }

  fs::path program_ = scratch_ / "bin/program";
};

TEST_F(ArchiveOfLibraries, AnEngineRunsWithThoseOfItsOwnNight) {
  archive_.keep("night1", "m", program_);
  install(PERFBENCH_EXAMPLE_LIBRARY_2);
  archive_.keep("night2", "m", program_);
  archive_.keep("night3", "m", program_);
  const auto first = *archive_.of_night("night1");
  const auto second = *archive_.of_night("night2");
  EXPECT_EQ(first.program.file, second.program.file) << "the engine is the same";
  EXPECT_EQ(says(first.program), "version 1\n");
  EXPECT_EQ(says(second.program), "version 2\n");
  EXPECT_EQ(says({program_}), "version 2\n") << "what the machine has now";
  EXPECT_EQ(archive_.of_night("night3")->program.libraries, second.program.libraries) << "kept once";
  archive_.set_control(program_);
  EXPECT_EQ(archive_.control()->program.libraries, second.program.libraries);
}

TEST_F(ArchiveOfLibraries, AreForgottenWithTheirLastNightAndMissedWhenTheyAreGone) {
  archive_.keep("night1", "m", program_);
  const auto first = archive_.of_night("night1")->program.libraries;
  install(PERFBENCH_EXAMPLE_LIBRARY_2);
  archive_.keep("night2", "m", program_);
  archive_.prune(1);
  EXPECT_FALSE(fs::exists(first));
  const auto second = archive_.of_night("night2")->program.libraries;
  EXPECT_EQ(archive_.of_night("night2")->problem, "");
  write_text(second / "libopenblas_example.so", "another");
  EXPECT_THAT(archive_.of_night("night2")->problem, HasSubstr("were changed"));
  fs::remove(second / "libopenblas_example.so");
  fs::create_directory(second / "libopenblas_example.so");
  EXPECT_THAT(archive_.of_night("night2")->problem, HasSubstr("libopenblas_example.so"));
  fs::remove_all(second);
  EXPECT_THAT(archive_.of_night("night2")->problem, HasSubstr("are gone"));
  write_text(scratch_ / "archive/nights/night2",
             archive_.of_night("night2")->program.file.filename().string() + " ../..");
  EXPECT_THAT(archive_.of_night("night2")->problem, HasSubstr("is damaged: '../..' names none"));
}

TEST_F(ArchiveOfLibraries, EnginesThatWereKeptWithoutLibrariesHaveNone) {
  archive_.keep("night1", "m", engine("no program"));
  EXPECT_EQ(archive_.of_night("night1")->program.libraries, "");
  EXPECT_EQ(archive_.of_night("night1")->problem, "");
}

TEST(ComputingLibraries, AreSelfContainedLibrariesThatCompute) {
  const auto found = parse_loaded_libraries(
      "\tlinux-vdso.so.1 (0x00007f0f58afd000)\n"
      "\tlibopenblas.so.0 => /usr/lib/openblas openmp/libopenblas.so.0 (0x00007f0f53f18000)\n"
      "\tlibdnnl.so.3 => /lib/libdnnl.so.3 (0x00007f0f56200000)\n"
      "\tlibmpi.so.40 => /lib/libmpi.so.40 (0x00007f0f58803000)\n"
      "\tlibcudnn.so.9 => /usr/local/cuda/lib/libcudnn.so.9 (0x00007f0f58803000)\n"
      "\tlibc.so.6 => /lib/libc.so.6 (0x00007f0f5393e000)\n"
      "\tlibgomp.so.1 => not found\n"
      "\t/opt/libdnnl.so.9 => /opt/libdnnl.so.9 (0x00007f0f5393e000)\n"
      "\t/lib64/ld-linux-x86-64.so.2 (0x00007f0f58aff000)\n"
      "libdnnl.so.3 =>");
  EXPECT_THAT(found,
              testing::ElementsAre(SharedLibrary{"libdnnl.so.3", "/lib/libdnnl.so.3"},
                                   SharedLibrary{"libopenblas.so.0", "/usr/lib/openblas openmp/libopenblas.so.0"}));
  EXPECT_THAT(computing_libraries("/etc/passwd"), testing::IsEmpty());
  EXPECT_THAT(computing_libraries("/nowhere"), testing::IsEmpty());
}

}  // namespace
}  // namespace perfbench::harness
