// The cost of the operations of one step: a line of `perfbench-engine dry --operations`. Divided by what a device does
// in a second, it is the least time that they can take there; traced spans have the same names (TraceOp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/spec/fields.h"
#include "workloads/spec/trace_record.h"

namespace perfbench::spec {

// Calls of one operation, including those that recompute for the backward pass: all of them, or with --forms those
// whose operands have one form.
struct OperationWork {
  TraceOp operation = TraceOp::matmul;
  std::string dtype;  // of what it reads; likewise the next two only with --forms
  std::string kind;   // OperandForm::kind of engine/ops/ops.h; likewise the next
  std::vector<std::int64_t> dims;
  std::int64_t calls = 0;
  std::int64_t flops = 0;  // of products, counted as in FlopCounts
  std::int64_t bytes = 0;  // with every operand read once or written once

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"operation", "the name of its spans"}, self.operation);
    f(Field{"dtype", "type of what it reads"}.omitted_at_default(), self.dtype);
    f(Field{"kind", "which operands of a product are transposed, or the kind of an attention, a norm or an activation"}
          .omitted_at_default(),
      self.kind);
    f(Field{"dims", "sizes, as OperandForm of engine/ops/ops.h lists them"}.omitted_at_default(), self.dims);
    f(Field{"calls", "how often a step calls it", 0}, self.calls);
    f(Field{"flops", "floating point operations of its products", 0}, self.flops);
    f(Field{"bytes", "of its operands, each read or written once", 0}, self.bytes);
  }
};

// The operations of one rank. The FLOPs of all operations are FlopCounts::executed_flops() of the same run's DryReport.
struct DryOperations {
  bool feasible = true;
  std::string reason;  // why it is infeasible
  std::int64_t rank = 0;
  std::vector<OperationWork> operations;  // called in a step, in the order of TraceOp, then of forms

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"feasible", "whether the run fits"}, self.feasible);
    f(Field{"reason", "why it does not"}, self.reason);
    f(Field{"rank", "the rank that was walked", 0}, self.rank);
    f(Field{"operations", "what each operation of a step costs"}, self.operations);
  }
};

std::string to_json_line(const DryOperations& report);
// Throws SpecError for a line of another form.
DryOperations parse_dry_operations(std::string_view line);

}  // namespace perfbench::spec
