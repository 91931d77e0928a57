# Part of `cmake --install`: `perfbench` prints completion scripts and manual pages into the folder `printed`, from where
# they are installed below `data` and `manual`.
file(REMOVE_RECURSE "${printed}")
file(MAKE_DIRECTORY "${printed}")

function(print_to file)
  execute_process(COMMAND "${perfbench}" ${ARGN} OUTPUT_FILE "${printed}/${file}" RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "'${perfbench} ${ARGN}' ended with ${result}")
  endif()
endfunction()

print_to(perfbench completion bash)
print_to(_perfbench completion zsh)
print_to(perfbench.fish completion fish)
print_to(said man --output "${printed}/man1")
file(INSTALL "${printed}/perfbench" DESTINATION "${data}/bash-completion/completions")
file(INSTALL "${printed}/_perfbench" DESTINATION "${data}/zsh/site-functions")
file(INSTALL "${printed}/perfbench.fish" DESTINATION "${data}/fish/vendor_completions.d")
file(INSTALL "${printed}/man1" DESTINATION "${manual}")
file(REMOVE_RECURSE "${printed}")
