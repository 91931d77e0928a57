// Every call of MPI goes through mpi_check. For the mpi_*.cpp files alone.
#pragma once

#define OMPI_SKIP_MPICXX
#define MPICH_SKIP_MPICXX
#include <mpi.h>

#include <string>

#include "engine/core/error.h"

namespace perfbench::engine {

// `call`: the name of the MPI function.
inline void mpi_check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  throw EngineError(EngineExit::failed, std::string(call) + " failed: " + text);
}

}  // namespace perfbench::engine
