#include "harness/evidence/evidence_file.h"

#include <utility>

#include "harness/evidence/attempt.h"
#include "workloads/spec/checkpoint_record.h"
#include "workloads/spec/environment.h"
#include "workloads/spec/gpu_sample.h"
#include "workloads/spec/json_schema.h"
#include "workloads/spec/regular_file.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/run_summary.h"
#include "workloads/spec/step_record.h"
#include "workloads/spec/trace_record.h"

namespace perfbench::harness {

std::optional<std::string> document_text(const std::filesystem::path& file) {
  try {
    auto text = spec::read_regular_file(file, spec::kLargestDocumentBytes);
    if (text && text->empty()) throw DamagedFile(file.filename().string() + " is empty");
    return text;
  } catch (const spec::FileError& e) {
    throw DamagedFile(file.filename().string() + " " + e.trouble());
  }
}

void refuse_damaged(const std::filesystem::path& file, const spec::NotJson& error) {
  throw DamagedFile(file.filename().string() + " was cut off or damaged: " + error.what());
}

std::vector<FileSchema> file_schemas() {
  using spec::fields_schema;
  // The last line counts the others and has another shape (parse_trace_line).
  const spec::Json trace{
      {"oneOf", spec::Json::array({fields_schema<spec::TraceEvent>(), fields_schema<spec::TraceEnd>()})}};
  std::vector<FileSchema> schemas{
      {"run", kRunFile, "the requested run", fields_schema<spec::RunSpec>()},
      {"env", kEnvironmentFile, "the machine and the build", fields_schema<spec::EnvironmentRecord>()},
      {"steps", "steps.rank<R>.jsonl", "the steps of rank R, one a line", fields_schema<spec::StepRecord>()},
      {"gpu", "gpu.rank<R>.jsonl", "samples of the GPU of rank R, one a line", fields_schema<spec::GpuSample>()},
      {"trace", "trace.rank<R>.jsonl", "the traced steps of rank R, one event a line, then their number", trace},
      {"result", kResultFile, "the engine's result of the run", fields_schema<spec::RunSummary>()},
      {"checkpoint", spec::kCheckpointFile, "of a checkpoint (checkpoints/step_<N>): its model and ranks",
       fields_schema<spec::CheckpointManifest>()},
      {"rank", "rank<R>.json", "of a checkpoint: the values of rank R", fields_schema<spec::CheckpointShard>()},
      {"attempt", kAttemptFile, "the harness's record of the attempt", fields_schema<AttemptRecord>()},
  };
  for (auto& entry : schemas) {
    entry.schema["$schema"] = spec::kJsonSchemaDialect;
    entry.schema["title"] = entry.file;
    entry.schema["description"] = entry.holds;
  }
  return schemas;
}

}  // namespace perfbench::harness
