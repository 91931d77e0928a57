# The library perfbench_build_info says which sources a binary was built from. The commit is read at build time, not at
# configure time. Its header is rewritten only when the commit changed, so builds stay incremental.
#
# As a script (cmake -DSOURCE=repository -DOUTPUT=header -P BuildInfo.cmake) this file writes that header.
if(CMAKE_SCRIPT_MODE_FILE)
  set(commit unknown)
  set(dirty false)
  # The inputs of the binaries. A changed matrix or document does not make them dirty.
  set(inputs CMakeLists.txt CMakePresets.json ci/cmake engine harness reports workloads ":(exclude)*.md"
             ":(exclude)*.yaml")
  # The owner of the files may be another user than the one who builds (containers): building them trusts them already.
  execute_process(
    COMMAND git -c safe.directory=* status --porcelain=v2 --branch -- ${inputs}
    WORKING_DIRECTORY ${SOURCE}
    OUTPUT_VARIABLE status
    ERROR_QUIET
    RESULT_VARIABLE result)
  if(result EQUAL 0 AND status MATCHES "# branch.oid ([0-9a-f]+)")
    set(commit ${CMAKE_MATCH_1})
    if(status MATCHES "(^|\n)[^#]")
      set(dirty true)
    endif()
  endif()
  file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "// Made by BuildInfo.cmake.
#pragma once
#define PERFBENCH_GIT_COMMIT \"${commit}\"
#define PERFBENCH_GIT_DIRTY ${dirty}
")
  return()
endif()

function(perfbench_add_build_info)
  set(header ${CMAKE_CURRENT_BINARY_DIR}/git_state.h)
  add_custom_target(perfbench_git_state
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUTPUT=${header}
            -P ${PROJECT_SOURCE_DIR}/ci/cmake/BuildInfo.cmake
    BYPRODUCTS ${header}
    COMMENT "Reading the commit"
    VERBATIM)

  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  set(flags "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}} -march=${PERFBENCH_MARCH}")
  if(PERFBENCH_SANITIZE)
    string(APPEND flags " -fsanitize=${PERFBENCH_SANITIZE}")
  endif()
  string(STRIP "${flags}" flags)

  perfbench_library(perfbench_build_info SOURCES build_info.cpp)
  add_dependencies(perfbench_build_info perfbench_git_state)
  target_include_directories(perfbench_build_info PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
  set_source_files_properties(build_info.cpp PROPERTIES COMPILE_DEFINITIONS
    "PERFBENCH_VERSION=\"${PROJECT_VERSION}\";PERFBENCH_COMPILER=\"${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}\";PERFBENCH_COMPILER_FLAGS=\"${flags}\";PERFBENCH_BUILD_TYPE=\"${CMAKE_BUILD_TYPE}\"")
endfunction()
