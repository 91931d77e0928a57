// The engine's typed errors. run_command.cpp turns those of a run into result.json, main.cpp all others into a message.
#pragma once

#include <stdexcept>
#include <string>

#include "workloads/spec/engine_exit.h"

namespace perfbench::engine {

using spec::EngineExit;

class EngineError : public std::runtime_error {
 public:
  EngineError(EngineExit exit, const std::string& message) : std::runtime_error(message), exit_(exit) {}
  EngineExit exit() const { return exit_; }

 private:
  EngineExit exit_;
};

// A bug of this program: shapes or layouts that the schedule must never produce.
class LogicFault : public EngineError {
 public:
  explicit LogicFault(const std::string& message) : EngineError(EngineExit::failed, message) {}
};

// The user's input cannot be read or used: a data set, a run.json.
class BadInput : public EngineError {
 public:
  explicit BadInput(const std::string& message) : EngineError(EngineExit::input_error, message) {}
};

class OutOfMemory : public EngineError {
 public:
  explicit OutOfMemory(const std::string& message) : EngineError(EngineExit::out_of_memory, message) {}
};

}  // namespace perfbench::engine
