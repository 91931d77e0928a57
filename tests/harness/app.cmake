perfbench_test(app_test
  SOURCES app/detection_test.cpp app/engine_archive_test.cpp app/night_cells_test.cpp app/night_verdict_test.cpp
          app/pairing_test.cpp app/prune_test.cpp app/reproduction_test.cpp app/stored_ab_report_test.cpp demonstration_test.cpp
  DEPENDS perfbench_app example_run)

# A program and two versions of a shared library that it looks for beside itself.
foreach(version 1 2)
  add_library(example_library_${version} SHARED app/example_library/library.cpp)
  target_include_directories(example_library_${version} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(example_library_${version} PRIVATE PERFBENCH_EXAMPLE_VERSION=${version})
  set_target_properties(example_library_${version} PROPERTIES
    OUTPUT_NAME openblas_example LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/example_library_${version})
endforeach()
add_executable(example_library_user app/example_library/program.cpp)
target_include_directories(example_library_user PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(example_library_user PRIVATE example_library_1)
target_link_options(example_library_user PRIVATE "LINKER:--enable-new-dtags")
set_target_properties(example_library_user PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
add_dependencies(app_test example_library_user example_library_2)
target_compile_definitions(app_test PRIVATE
  PERFBENCH_LIBRARY_USER="$<TARGET_FILE:example_library_user>"
  PERFBENCH_EXAMPLE_LIBRARY_1="$<TARGET_FILE:example_library_1>"
  PERFBENCH_EXAMPLE_LIBRARY_2="$<TARGET_FILE:example_library_2>")
