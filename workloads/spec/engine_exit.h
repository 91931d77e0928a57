// How perfbench-engine ends: its exit code, and the status of the same name in result.json.
#pragma once

#include <array>
#include <utility>

#include "workloads/spec/enum_names.h"

namespace perfbench::spec {

enum class EngineExit { ok = 0, input_error = 3, failed = 4, out_of_memory = 5, infeasible = 6 };
template <>
struct EnumNames<EngineExit> {
  static constexpr std::array kNames{std::pair{EngineExit::ok, "ok"}, std::pair{EngineExit::input_error, "input_error"},
                                     std::pair{EngineExit::failed, "failed"},
                                     std::pair{EngineExit::out_of_memory, "out_of_memory"},
                                     std::pair{EngineExit::infeasible, "infeasible"}};
};

}  // namespace perfbench::spec
