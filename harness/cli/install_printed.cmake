# Part of `cmake --install`: `perfbench` prints its completion script into the folder `printed`, and help2man makes manual
# pages of its help. Both are installed from there below `data` and `manual`. Without help2man there are no manual pages.
file(REMOVE_RECURSE "${printed}")
file(MAKE_DIRECTORY "${printed}")

function(check_result result what)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "'${what}' ended with ${result}")
  endif()
endfunction()

execute_process(COMMAND "${perfbench}" completion bash OUTPUT_FILE "${printed}/perfbench" RESULT_VARIABLE result)
check_result("${result}" "perfbench completion bash")
file(INSTALL "${printed}/perfbench" DESTINATION "${data}/bash-completion/completions")

# A page for perfbench and one for each of its commands, which the completion script names.
find_program(help2man help2man)
if(help2man)
  file(READ "${printed}/perfbench" script)
  string(REGEX MATCHALL "'[a-z ]+'\\) return 0" commands "${script}")
  string(REGEX REPLACE "'([a-z ]+)'\\) return 0" "\\1" commands "${commands}")
  get_filename_component(folder "${perfbench}" DIRECTORY)
  set(ENV{PATH} "${folder}:$ENV{PATH}")  # help2man starts it by its name
  file(MAKE_DIRECTORY "${printed}/man1")
  foreach(command "" ${commands})
    separate_arguments(words UNIX_COMMAND "${command}")
    execute_process(COMMAND "${perfbench}" ${words} --help OUTPUT_VARIABLE help)
    string(REGEX REPLACE "\n.*" "" title "${help}")
    list(PREPEND words perfbench)
    list(JOIN words " " whole)
    list(JOIN words "-" page)
    execute_process(COMMAND "${help2man}" --no-info "--name=${title}" "--version-string=${version}" "${whole}"
                    OUTPUT_FILE "${printed}/man1/${page}.1" RESULT_VARIABLE result)
    check_result("${result}" "help2man ${whole}")
  endforeach()
  file(INSTALL "${printed}/man1" DESTINATION "${manual}")
else()
  message(STATUS "help2man is not installed: no manual pages")
endif()
file(REMOVE_RECURSE "${printed}")
