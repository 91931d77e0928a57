# The one place for compiler settings. perfbench_library(name SOURCES... DEPENDS...) and perfbench_executable(...)
# give every target the same warnings, sanitizers and include root (the repository root, so includes read
# "engine/core/tensor.h").
find_package(Threads REQUIRED)

# Another compiler, or the next one, warns of more, which must not keep anyone from building.
set(cxx_errors "")
set(cuda_errors "")
if(PERFBENCH_WERROR)
  set(cxx_errors ";-Werror")
  set(cuda_errors ";-Werror=all-warnings")
endif()
add_library(perfbench_settings INTERFACE)
target_include_directories(perfbench_settings INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(perfbench_settings INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wconversion;-Wshadow;-Wnon-virtual-dtor${cxx_errors}>"
  # designated initialisers leave members to their defaults on purpose
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers>
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers${cuda_errors}>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 sees overlapping copies in `"text" + std::string` (GCC bug 105651).
  target_compile_options(perfbench_settings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(PERFBENCH_SANITIZE)
  target_compile_options(perfbench_settings INTERFACE -fsanitize=${PERFBENCH_SANITIZE} -fno-omit-frame-pointer
                                                      -fno-sanitize-recover=all -g1)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # With the sanitizers' checks between them, g++ loses sight of what <regex> initialises (GCC bug 105562).
    target_compile_options(perfbench_settings INTERFACE -Wno-maybe-uninitialized)
  else()
    # `omp simd` loops keep their meaning where the sanitizers' checks stop clang from vectorising them.
    target_compile_options(perfbench_settings INTERFACE -Wno-pass-failed)
  endif()
  target_link_options(perfbench_settings INTERFACE -fsanitize=${PERFBENCH_SANITIZE})
endif()
# How much a Release build optimises a folder: add_compile_options() with one of these before its targets. Kernels,
# statistics and simulations have -O3, CMake's own. -O2 is for what computes between kernels and for readers of files,
# and takes two thirds of the compile time of -O3. -Og is for what waits for SQLite, engines and people, and takes half.
# nvcc keeps CMake's -O3, as it warns of a second one.
set(PERFBENCH_OPTIMISED_FULLY "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O3>")
set(PERFBENCH_OPTIMISED_WELL "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O2>")
set(PERFBENCH_OPTIMISED_LITTLE "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-Og>")

# Sanitized builds and preset dev compile without optimisation, in half the time. Code that computes for long has -O1.
set(PERFBENCH_UNOPTIMISED FALSE)
if(PERFBENCH_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(PERFBENCH_UNOPTIMISED TRUE)
endif()

find_program(PERFBENCH_CCACHE ccache)
if(PERFBENCH_CCACHE)
  # Paths below the checkout are hashed without it: what one work tree or revision has compiled, another need not.
  # The presets of CI find what ./perfbench has compiled without -Werror; stage build looks for the warnings of such files.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_IGNOREOPTIONS=-Werror)
  if(PERFBENCH_PRECOMPILED)
    # Without these, ccache keeps nothing that was compiled with a precompiled header.
    list(APPEND launcher CCACHE_SLOPPINESS=pch_defines,time_macros)
  endif()
  list(APPEND launcher ${PERFBENCH_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
endif()

# perfbench_precompile(target LIBRARIES...): gives the target the precompiled headers below, if PERFBENCH_PRECOMPILED is on.
# Without optimisation, clang then takes half as long. LIBRARIES are those that the target links: GTest is for tests.
# Precompiled headers need equal compiler options, so the engine and targets with OpenMP have none.
if(PERFBENCH_PRECOMPILED)
  find_package(fmt REQUIRED)
  find_package(nlohmann_json REQUIRED)
  set(standard_headers <algorithm> <array> <charconv> <chrono> <cmath> <cstdint> <filesystem> <fstream> <functional> <map>
      <memory> <optional> <set> <span> <sstream> <stdexcept> <string> <string_view> <unordered_map> <utility> <variant> <vector>)
  set(test_more <gtest/gtest.h> <gmock/gmock.h>)
  foreach(kind "" test_)
    set(headers perfbench_${kind}headers)
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/${headers}.cpp CONTENT "")  # a library needs a source
    add_library(${headers} OBJECT ${PROJECT_BINARY_DIR}/${headers}.cpp)
    target_link_libraries(${headers} PRIVATE perfbench_settings fmt::fmt nlohmann_json::nlohmann_json)
    target_precompile_headers(${headers} PRIVATE ${standard_headers} <fmt/format.h> <nlohmann/json.hpp> ${${kind}more})
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      # The same headers give the same file, for ccache.
      target_compile_options(${headers} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    endif()
  endforeach()
  if(PERFBENCH_TESTS)
    find_package(GTest REQUIRED)
    target_link_libraries(perfbench_test_headers PRIVATE GTest::gtest)
  endif()
endif()

function(perfbench_precompile target)
  string(FIND "${CMAKE_CURRENT_SOURCE_DIR}/" "${PROJECT_SOURCE_DIR}/engine/" in_engine)
  if(PERFBENCH_PRECOMPILED AND in_engine EQUAL -1 AND NOT "${ARGN}" MATCHES OpenMP)
    set(kind "")
    if("${ARGN}" MATCHES GTest)
      set(kind test_)
    endif()
    target_link_libraries(${target} PRIVATE fmt::fmt)
    target_precompile_headers(${target} REUSE_FROM perfbench_${kind}headers)
  endif()
endfunction()

function(perfbench_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC perfbench_settings ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
  perfbench_precompile(${name} ${ARG_DEPENDS} ${ARG_PRIVATE_DEPENDS})
endfunction()

function(perfbench_executable name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE perfbench_settings ${ARG_DEPENDS})
  perfbench_precompile(${name} ${ARG_DEPENDS})
  # Side by side, as installed: perfbench finds perfbench-engine beside itself.
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endfunction()

# Test code is compiled once and runs briefly: its compile time is worth more than its speed.
set(PERFBENCH_TEST_OPTIONS $<$<CONFIG:Release>:-O0>)

# perfbench_test_objects(name SOURCES ... DEPENDS ...): tests that several executables link, compiled once.
# $<TARGET_OBJECTS:name> is a source of theirs.
function(perfbench_test_objects name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} OBJECT ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE perfbench_settings GTest::gtest GTest::gmock ${ARG_DEPENDS})
  target_compile_definitions(${name} PRIVATE PERFBENCH_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_compile_options(${name} PRIVATE ${PERFBENCH_TEST_OPTIONS})
  perfbench_precompile(${name} GTest ${ARG_DEPENDS})
endfunction()

# perfbench_test(name SOURCES ... DEPENDS ... [PREFIX text]): one GoogleTest executable, its cases registered one by one,
# with PREFIX before their names where the same cases are linked several times: target tests_cuda builds all of "cuda.".
# A case has the name of its executable as label: ctest -L "^store_test$".
function(perfbench_test name)
  cmake_parse_arguments(ARG "" "PREFIX" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE perfbench_settings GTest::gtest GTest::gmock GTest::gtest_main ${ARG_DEPENDS})
  target_compile_definitions(${name} PRIVATE PERFBENCH_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_compile_options(${name} PRIVATE ${PERFBENCH_TEST_OPTIONS})
  perfbench_precompile(${name} GTest ${ARG_DEPENDS})
  gtest_discover_tests(${name} TEST_PREFIX "${ARG_PREFIX}" DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 300 LABELS ${name} ENVIRONMENT PERFBENCH_LOCK=none)
  if(ARG_PREFIX)
    string(REPLACE "." "" group "tests_${ARG_PREFIX}")
    if(NOT TARGET ${group})
      add_custom_target(${group})
    endif()
    add_dependencies(${group} ${name})
  endif()
endfunction()
