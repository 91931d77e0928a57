// Access to MPI: one thread at a time, and every call goes through mpi_check. Only for the mpi_*.cpp files.
#pragma once

#define OMPI_SKIP_MPICXX
#define MPICH_SKIP_MPICXX
#include <mpi.h>

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/core/error.h"

namespace perfbench::engine {

// `call` is the name of the MPI function.
inline void mpi_check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  throw EngineError(EngineExit::failed, std::string(call) + " failed: " + text);
}

// One thread at a time may call MPI (MPI_THREAD_SERIALIZED), and no thread blocks the others while it waits for other
// ranks. Otherwise lanes would wait for each other, and those of two ranks in a circle.
class MpiAccess {
 public:
  // `call` must return without any action of another rank.
  template <class Call>
  void call(const Call& call) {
    const std::scoped_lock lock(mutex_);
    call();
  }
  // Blocks until all requests have ended, and empties the list.
  void finish(std::vector<MPI_Request>& requests) {
    for (int ended = 0; ended == 0;) {
      call([&] {
        mpi_check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &ended, MPI_STATUSES_IGNORE),
                  "MPI_Testall");
      });
      if (ended == 0) std::this_thread::yield();
    }
    requests.clear();
  }

 private:
  std::mutex mutex_;
};

}  // namespace perfbench::engine
