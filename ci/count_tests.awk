# "PASSED FAILED SKIPPED" over every run of ctest in a log; nothing where there was none. ctest itself counts a test that
# was skipped among those that passed.
/ Test +#[0-9]+: .*\*\*\*Skipped/ { skipped += 1 }
/tests? passed, [0-9]+ tests? failed out of [0-9]+/ { failed += $4; total += $NF; seen = 1 }
/No tests were found/ { failed += 1; total += 1; seen = 1 }
END { if (seen) print total - failed - skipped, failed, 0 + skipped }
