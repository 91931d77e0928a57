// The schemas of the files agree with their readers: each file is damaged in every way that a schema can express, and
// the reader refuses exactly those.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "harness/evidence/attempt.h"
#include "harness/evidence/evidence_file.h"
#include "workloads/spec/checkpoint_record.h"
#include "workloads/spec/environment.h"
#include "workloads/spec/fields_json.h"
#include "workloads/spec/gpu_sample.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/run_summary.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/step_record.h"
#include "workloads/spec/trace_record.h"

namespace perfbench::harness {
namespace {

using spec::Json;
using Pointer = Json::json_pointer;

Json schema_of_file(const std::string& name) {
  for (auto& entry : file_schemas()) {
    if (entry.name == name) return entry.schema;
  }
  ADD_FAILURE() << "no schema " << name;
  return {};
}

// visit(schema of the object, its position in a document whose lists and mappings have one entry each).
using Visit = std::function<void(const Json&, const Pointer&)>;
void for_each_object(const Json& schema, const Pointer& at, const Json& document, const Visit& visit) {
  if (schema.contains("properties")) {
    visit(schema, at);
    for (const auto& [name, below] : schema.at("properties").items()) {
      for_each_object(below, at / name, document, visit);
    }
  } else if (schema.contains("items")) {
    for_each_object(schema.at("items"), at / 0, document, visit);
  } else if (schema.contains("additionalProperties")) {
    for_each_object(schema.at("additionalProperties"), at / document.at(at).begin().key(), document, visit);
  }
}

template <class T>
class Agreement {
 public:
  Agreement(Json schema, const T& example)
      : schema_(std::move(schema)), whole_(spec::fields_to_json(example, spec::Written::whole)) {
    EXPECT_TRUE(takes(whole_)) << whole_;
  }

  void check() {
    for_each_object(schema_, Pointer(), whole_, [this](const Json& object, const Pointer& at) {
      EXPECT_EQ(object.at("additionalProperties"), false) << at;
      auto more = whole_;
      more[at / "no_such_key"] = 1;
      EXPECT_FALSE(takes(more)) << at;
      for (const auto& [name, property] : object.at("properties").items()) {
        check_presence(object.at("required"), at, name);
        check_values(property, at / name);
      }
    });
    EXPECT_GT(checked_, 4);
  }

 private:
  static bool takes(const Json& document) {
    try {
      spec::fields_from_json<T>(document, spec::Missing::is_error);
      return true;
    } catch (const spec::SpecError&) {
      return false;
    }
  }
  bool takes_with(const Pointer& at, const Json& value) const {
    auto changed = whole_;
    changed[at] = value;
    return takes(changed);
  }

  void check_presence(const Json& required, const Pointer& at, const std::string& name) {
    auto without = whole_;
    without[at].erase(name);
    const bool is_required = std::find(required.begin(), required.end(), name) != required.end();
    EXPECT_EQ(takes(without), !is_required) << at << " " << name;
  }

  void check_values(const Json& property, const Pointer& at) {
    ++checked_;
    EXPECT_FALSE(property.at("description").get<std::string>().empty()) << at;
    if (property.contains("default")) {
      EXPECT_TRUE(takes_with(at, property.at("default"))) << at;
    }
    const auto type = property.value("type", "");
    EXPECT_EQ(takes_with(at, "text"), type == "string") << at;
    EXPECT_EQ(takes_with(at, true), type == "boolean") << at;
    EXPECT_EQ(takes_with(at, Json::array()), type == "array") << at;
    if (property.contains("enum")) {
      for (const auto& word : property.at("enum")) EXPECT_TRUE(takes_with(at, word)) << at << word;
    }
    if (property.contains("anyOf")) {
      const auto& other = property.at("anyOf").at(1);
      if (other.contains("enum")) {
        for (const auto& word : other.at("enum")) EXPECT_TRUE(takes_with(at, word)) << at << word;
      } else {
        EXPECT_EQ(other, Json({{"type", "null"}})) << at;
        EXPECT_TRUE(takes_with(at, nullptr)) << at;
      }
    } else {
      EXPECT_FALSE(takes_with(at, nullptr)) << at;
    }
    check_bounds(property, at);
  }

  void check_bounds(const Json& property, const Pointer& at) {
    using Limits = std::numeric_limits<std::int64_t>;
    const bool is_whole = property.value("type", "") == "integer";
    if (is_whole) {
      EXPECT_FALSE(takes_with(at, 1.5)) << at;
    }
    if (property.contains("minimum")) {
      const auto& least = property.at("minimum");
      EXPECT_TRUE(takes_with(at, least)) << at;
      if (least != Limits::min()) {
        EXPECT_FALSE(takes_with(at, below(least, is_whole))) << at;
      }
    }
    if (property.contains("maximum")) {
      const auto& most = property.at("maximum");
      EXPECT_TRUE(takes_with(at, most)) << at;
      if (is_whole) {
        EXPECT_FALSE(takes_with(at, most.get<std::uint64_t>() + 1)) << at;
      }
      if (!is_whole) {
        EXPECT_FALSE(takes_with(at, most.get<double>() + 1)) << at;
      }
    }
  }
  static Json below(const Json& least, bool is_whole) {
    return is_whole ? Json(least.get<std::int64_t>() - 1) : Json(least.get<double>() - 1);
  }

  Json schema_;
  Json whole_;
  int checked_ = 0;
};

template <class T>
void expect_agreement(const Json& schema, const T& example) {
  Agreement<T>(schema, example).check();
}

spec::ModelSpec small_model() {
  spec::ModelSpec model;
  model.layers = model.d_model = model.n_heads = model.n_kv_heads = model.head_dim = 1;
  model.d_ff = model.vocab_size = model.max_seq_len = 2;
  model.needs = {spec::MissingBlock::soft_caps};
  return model;
}

TEST(FileSchemas, ARunsSchemaMatchesItsReader) {
  spec::RunSpec run;
  run.model = small_model();
  run.seq_len = run.global_batch = 2;
  run.remat_custom["query_proj"] = spec::SavePlace::offload;
  expect_agreement(schema_of_file("run"), run);
}

TEST(FileSchemas, TheRecordsSchemasMatchTheirReaders) {
  spec::EnvironmentRecord environment;
  environment.libraries["oneDNN"] = "3";
  expect_agreement(schema_of_file("env"), environment);
  expect_agreement(schema_of_file("steps"), spec::StepRecord());
  expect_agreement(schema_of_file("gpu"), spec::GpuSample());
  spec::RunSummary summary;
  summary.traffic.resize(1);
  summary.attention_kernels.resize(1);
  summary.ranks.resize(1);
  expect_agreement(schema_of_file("result"), summary);
  AttemptRecord attempt;
  attempt.axes["model"] = "gpt-mini";
  attempt.command = {"perfbench-engine"};
  expect_agreement(schema_of_file("attempt"), attempt);
}

TEST(FileSchemas, ACheckpointsSchemasMatchTheirReaders) {
  expect_agreement(schema_of_file("checkpoint"),
                   spec::CheckpointManifest{.ranks = 1, .shards = {"0123456789abcdef"}, .model = small_model()});
  expect_agreement(schema_of_file("rank"), spec::CheckpointShard{.parts = {{.parameter = "w", .count = 1}}});
}

TEST(FileSchemas, ATracesSchemaDescribesAnEventOrTheLastLine) {
  const auto either = schema_of_file("trace").at("oneOf");
  ASSERT_EQ(either.size(), 2U);
  expect_agreement(either.at(0), spec::TraceEvent());
  expect_agreement(either.at(1), spec::TraceEnd());
  const auto& required = either.at(1).at("required");
  EXPECT_NE(std::find(required.begin(), required.end(), "dropped_records"), required.end())
      << "by which the reader tells them apart";
}

TEST(FileSchemas, NameTheirFile) {
  for (const auto& entry : file_schemas()) {
    EXPECT_EQ(entry.schema.at("$schema"), "https://json-schema.org/draft/2020-12/schema") << entry.name;
    EXPECT_EQ(entry.schema.at("title"), entry.file);
    EXPECT_TRUE(entry.file.starts_with(entry.name)) << entry.file;
    EXPECT_FALSE(entry.schema.at("description").get<std::string>().empty()) << entry.name;
  }
}

}  // namespace
}  // namespace perfbench::harness
