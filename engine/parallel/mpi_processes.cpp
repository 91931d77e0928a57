// Ranks as MPI processes. One thread at a time calls MPI (MPI_THREAD_SERIALIZED): that of the computation, that of the
// background lane, which exists if a mesh has several ranks, and that of messages, if it has a pipeline.
#include <array>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "engine/parallel/communication_thread.h"
#include "engine/parallel/host_collectives.h"
#include "engine/parallel/mpi_access.h"
#include "engine/parallel/mpi_groups.h"
#include "engine/parallel/mpi_messages.h"

namespace perfbench::engine {
namespace {

class MpiProcesses : public Processes {
 public:
  explicit MpiProcesses(MpiOptions options) : options_(options) {
    int provided = MPI_THREAD_SINGLE;
    mpi_check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
    if (provided < MPI_THREAD_SERIALIZED) {
      throw EngineError(EngineExit::failed,
                        "this MPI library allows no calls from a second thread (MPI_THREAD_SERIALIZED), which "
                        "communication beside computation needs; use one built with threads: " +
                            mpi_version());
    }
    mpi_check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    mpi_check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    mpi_check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
    MPI_Comm node = MPI_COMM_NULL;
    mpi_check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node),
              "MPI_Comm_split_type");
    mpi_check(MPI_Comm_size(node, &ranks_on_node_), "MPI_Comm_size");
    mpi_check(MPI_Comm_rank(node, &rank_on_node_), "MPI_Comm_rank");
    first_on_node_ = rank_;
    mpi_check(MPI_Bcast(&first_on_node_, 1, MPI_INT, 0, node), "MPI_Bcast");
    mpi_check(MPI_Comm_free(&node), "MPI_Comm_free");
  }

  ~MpiProcesses() override {
    if (std::uncaught_exceptions() > 0 && size_ > 1) {
      MPI_Abort(MPI_COMM_WORLD, static_cast<int>(EngineExit::failed));
    }
    background_.reset();
    messages_.reset();
    groups_.clear();
    MPI_Finalize();
  }
  MpiProcesses(const MpiProcesses&) = delete;
  MpiProcesses& operator=(const MpiProcesses&) = delete;

  std::int64_t rank() const override { return rank_; }
  std::int64_t size() const override { return size_; }
  std::int64_t ranks_on_node() const override { return ranks_on_node_; }
  std::int64_t rank_on_node() const override { return rank_on_node_; }
  std::int64_t first_on_node() const override { return first_on_node_; }

  void all_gather(std::span<std::byte> all, std::span<const std::byte> own) override {
    if (all.size() != own.size() * static_cast<std::size_t>(size_)) {
      throw LogicFault("all_gather of " + std::to_string(own.size()) + " bytes from " + std::to_string(size_) +
                       " ranks into " + std::to_string(all.size()));
    }
    const auto bytes = static_cast<int>(own.size());
    std::vector<MPI_Request> requests(1);
    mpi_.call([&] {
      mpi_check(
          MPI_Iallgather(own.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, MPI_COMM_WORLD, &requests.front()),
          "MPI_Iallgather");
    });
    mpi_.finish(requests);
  }

  std::unique_ptr<Collectives> make_collectives(const Mesh& mesh, std::span<const Declared> declared) override {
    if (mesh.devices() > 1 && !background_) background_ = std::make_unique<CommunicationThread>();
    if (!rings_of(mesh, declared).empty() && !messages_) make_messages();
    return make_host_collectives(
        mesh, declared, [&](const Channel& channel) { return make_group(mesh, channel.group); }, background_.get(),
        messages_.get());
  }

  void abort(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
  }

 private:
  void make_messages() {
    MPI_Comm all = MPI_COMM_NULL;
    mpi_.call([&] {
      mpi_check(MPI_Comm_dup(MPI_COMM_WORLD, &all), "MPI_Comm_dup");
      mpi_check(MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    });
    messages_ = std::make_unique<MpiMessages>(all, mpi_, options_.largest_message_bytes);
  }

  RankGroup* make_group(const Mesh& mesh, const MeshGroup& group) {
    mpi_.call([&] {
      MPI_Comm comm = MPI_COMM_NULL;
      const int colour = static_cast<int>(mesh.ranks(group).front());
      mpi_check(MPI_Comm_split(MPI_COMM_WORLD, colour, static_cast<int>(mesh.index(group)), &comm), "MPI_Comm_split");
      groups_.push_back(make_rank_group(comm, mpi_, options_));
    });
    return groups_.back().get();
  }

  MpiOptions options_;
  MpiAccess mpi_;
  int rank_ = 0;
  int size_ = 1;
  int ranks_on_node_ = 1;
  int rank_on_node_ = 0;
  int first_on_node_ = 0;
  std::vector<std::unique_ptr<RankGroup>> groups_;  // freed together, by all ranks, before MPI_Finalize
  std::unique_ptr<CommunicationThread> background_;
  std::unique_ptr<MpiMessages> messages_;
};

}  // namespace

std::unique_ptr<Processes> make_mpi_processes(MpiOptions options) {
  return std::make_unique<MpiProcesses>(options);
}

std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  mpi_check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  const std::string version(text.data(), static_cast<std::size_t>(length));
  return version.substr(0, version.find_first_of(",\n"));  // "Open MPI v4.1.4", without the name of the packager
}

}  // namespace perfbench::engine
