// The report of `perfbench-engine dry`: what a rank would allocate, compute and send, counted without computing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/spec/fields.h"
#include "workloads/spec/memory_record.h"
#include "workloads/spec/peak_report.h"
#include "workloads/spec/work_record.h"

namespace perfbench::spec {

// The counts of the dry backend for a pipeline stage, for its rank that needs the most memory.
struct StageCounts {
  std::int64_t stage = 0;
  std::int64_t rank = 0;
  std::int64_t layers = 0;
  MemoryPeaks peak;
  std::int64_t arena_bytes = 0;
  FlopCounts flops;
  std::vector<AxisTraffic> traffic;
  std::vector<TensorGroup> largest;  // at its peak, if every tensor is listed

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"stage", "its place in the pipeline", 0}, self.stage);
    f(Field{"rank", "the rank that was walked", 0}, self.rank);
    f(Field{"layers", "layers of the stage", 0}, self.layers);
    f(Field{"peak", "memory peaks"}, self.peak);
    f(Field{"arena_bytes", "address range of the allocator", 0}, self.arena_bytes);
    f(Field{"flops", "floating point operations of a step"}, self.flops);
    f(Field{"traffic", "collectives and messages of a step"}, self.traffic);
    f(Field{"largest", "tensors alive at its peak, by kind"}.omitted_at_default(), self.largest);
  }
};

// The counts of the dry backend for one rank: the requested one, or the one that needs the most memory.
struct DryReport {
  bool feasible = true;
  std::string reason;  // why it is infeasible
  std::int64_t rank = 0;
  std::int64_t parameters = 0;         // of the whole model
  std::int64_t matmul_parameters = 0;  // Nm of the FLOP definitions
  MemoryPeaks peak;
  std::int64_t arena_bytes = 0;          // address range that the allocator needs for that peak, with its gaps
  std::vector<LiveTensor> live_at_peak;  // largest first
  FlopCounts flops;
  std::vector<AxisTraffic> traffic;
  double bubble_fraction = 0;       // for a pipeline whose stages take equally long
  std::vector<StageCounts> stages;  // the stages of a pipeline
  PeakMoment peak_at;
  std::vector<LiveTensor> host_at_peak;     // tensors in host memory at that moment, largest first
  std::vector<Intermediate> intermediates;  // for a run that trains, in the order of the forward pass
  std::int64_t offloaded_bytes = 0;         // bytes that a step sends to host memory and brings back
  std::vector<MemorySample> course;         // the step's memory over time, if every tensor is listed

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"feasible", "whether the run fits"}, self.feasible);
    f(Field{"reason", "why it does not"}, self.reason);
    f(Field{"rank", "the rank that was walked", 0}, self.rank);
    f(Field{"parameters", "parameters of the model", 0}, self.parameters);
    f(Field{"matmul_parameters", "parameters that multiply each token", 0}, self.matmul_parameters);
    f(Field{"peak", "memory peaks"}, self.peak);
    f(Field{"arena_bytes", "address range of the allocator", 0}, self.arena_bytes);
    f(Field{"live_at_peak", "tensors alive at the peak"}, self.live_at_peak);
    f(Field{"flops", "floating point operations of a step"}, self.flops);
    f(Field{"traffic", "collectives of a step"}, self.traffic);
    f(Field{"bubble_fraction", "part of the time that stages of a pipeline wait, were they equal", 0.0, 1.0}
          .omitted_at_default(),
      self.bubble_fraction);
    f(Field{"stages", "of a pipeline, each"}.omitted_at_default(), self.stages);
    f(Field{"peak_at", "when the peak is"}.omitted_at_default(), self.peak_at);
    f(Field{"host_at_peak", "tensors in host memory at the peak"}.omitted_at_default(), self.host_at_peak);
    f(Field{"intermediates", "values of a layer for its backward pass, by kind"}.omitted_at_default(),
      self.intermediates);
    f(Field{"offloaded_bytes", "bytes sent to host memory in a step", 0}.omitted_at_default(), self.offloaded_bytes);
    f(Field{"course", "memory over the step"}.omitted_at_default(), self.course);
  }
};

}  // namespace perfbench::spec
