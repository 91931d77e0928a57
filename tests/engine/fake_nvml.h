// The answers of the fake NVML library (fake_nvml.cpp). Tests change them through fake_nvml_answers().
#pragma once

namespace perfbench::engine {

struct FakeNvmlAnswers {
  int init_code = 0;
  unsigned sm_clock_mhz = 1980;
  unsigned memory_clock_mhz = 2619;
  unsigned power_mw = 612'500;
  unsigned temperature = 55;
  unsigned long long throttle_reasons = 0;
  unsigned long long ecc_errors = 0;
  int ecc_code = 0;
  unsigned processes = 1;
  int shutdowns = 0;
};

extern "C" FakeNvmlAnswers* fake_nvml_answers();

}  // namespace perfbench::engine
