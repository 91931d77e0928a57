# For the stages with sanitizers in the fast tier; they source it.

# Trainings that repeat a test for every kind of model, mesh and policy. They are left to the full tier.
repeated_trainings='^(Training/Remat|Kinds/Attention|LoraMerge|EvaluationRun|Evaluation|Fp8|IndependentScores|MaskedTraining)\.'
repeated_trainings+='|^(Training|Lora|PackedTraining|DropoutTraining|Ends)\.(.*Bf16|LossFalls|.*HasTheBits|.*HaveTheBits)'

# sanitized_tests TREE SECONDS LEFT_OUT TARGET...: builds the targets and runs their tests, without those that the
# expression LEFT_OUT fits, three targets at a time in the order given. Begins no more of them after SECONDS.
# Commands run through as_user, which the stage defines.
sanitized_tests() {
  local tree=$1 seconds=$2 end=$((SECONDS + $2)) left_out=$3 labels selected failed=0
  shift 3
  while [ $# -gt 0 ] && [ "$SECONDS" -lt "$end" ]; do
    labels=$(IFS='|'; echo "${*:1:3}")
    selected=(-L "^($labels)\$" -LE '^mpi$' -E "$left_out|_NOT_BUILT\$")
    as_user ninja -C "$tree" "${@:1:3}"
    # All their tests may be among those left out.
    if [[ $(ctest --test-dir "$tree" -N "${selected[@]}") == *"Test "*"#"* ]]; then
      as_user env OMP_NUM_THREADS=2 ctest --test-dir "$tree" --output-on-failure -j "$(nproc)" "${selected[@]}" || failed=1
    fi
    shift $(($# < 3 ? $# : 3))
  done
  [ $# -eq 0 ] || echo "left to the full tier: after $seconds s, sanitized tests of $*"
  return "$failed"
}
