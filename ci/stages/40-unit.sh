# All tests that need no MPI.
set -eu
# Tests run in parallel, so each computes on one thread; those about threads set their own number. The cores are counted
# first, because nproc returns OMP_NUM_THREADS if that is set.
jobs=$(nproc)
export OMP_NUM_THREADS=1
# The schedule above the operations is the same on the emulated device as on the CPU, but takes minutes there.
left_out='^emulated\.(LoraMerge|Evaluation|MaskedTraining)\.'
if [ "${PERFBENCH_TIER:-full}" = fast ]; then
  # The emulated device keeps the tests of its operations, the losses and norms of every family compared with the
  # independent framework's, and one test of each feature of a training.
  left_out+='|^emulated\.(Training|Checkpoints|DropoutTraining|Ends|Lora|PackedTraining|TracedStepsTest|RecordedStepsTest)\.'
  left_out+='|^emulated\.(Training/Remat\.SeparateProducts|Families/Golden\.EveryParametersGradient|Storage/Determinism\.)'
  kept='^emulated\.(Training\.(SameSeedSameBits|RecordedStepsHaveTheBits|DryMemory)|Checkpoints\.ResumeWithTheSameBits$'
  kept+='|DropoutTraining\.Microbatches|Ends\.AOneHotEmbeddingHas|Lora\.ChangesEvery|PackedTraining\.ADocument'
  kept+='|TracedStepsTest\.ChangeNoBit|RecordedStepsTest\.AreReplayed|Storage/Determinism\.Attention)'
  if [ -x build/cpu/tests/engine/engine_emulated_training_tests ]; then
    ctest --test-dir build/cpu --output-on-failure -j "$jobs" -R "$kept"
    echo "left to the full tier: all but one test of each feature in a training on the emulated device"
  fi
  # These detect a fault by measured times, which takes minutes.
  left_out+='|/EngineMutation\.'
  echo "left to the full tier: verdicts on engines that were made worse or better on purpose"
fi
ctest --test-dir build/cpu --output-on-failure -j "$jobs" -LE '^mpi$' -E "$left_out"
