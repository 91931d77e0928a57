// A file of workloads/models: the architecture, its source, and the totals that its authors state.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "workloads/spec/model_spec.h"

namespace perfbench::spec {

// Figures to check the spec with, never to compute with. 0 or empty: not stated.
struct StatedFigures {
  std::string name;                                     // size as its authors print it: "126M"
  std::int64_t parameters = 0;                          // all trainable parameters
  std::int64_t matmul_parameters = 0;                   // Nm of the FLOP definitions (flops.h)
  std::int64_t seq_len = 0;                             // tokens in a sequence for flops_per_token
  std::map<std::string, std::int64_t> flops_per_token;  // by FLOP definition

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"name", "size as its authors print it"}, self.name);
    f(Field{"parameters", "all trainable parameters", 0}, self.parameters);
    f(Field{"matmul_parameters", "parameters that multiply each token", 0}, self.matmul_parameters);
    f(Field{"seq_len", "tokens of a sequence for flops_per_token", 0}, self.seq_len);
    f(Field{"flops_per_token", "by FLOP definition", 0}, self.flops_per_token);
  }
};

struct ModelFile {
  ModelSpec model;
  std::vector<std::string> source;
  std::string notes;
  StatedFigures stated;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{.name = "model", .help = "the architecture", .presence = Presence::required}, self.model);
    f(Field{.name = "source", .help = "where it comes from", .presence = Presence::required}, self.source);
    f(Field{"notes", "traps"}, self.notes);
    f(Field{"stated", "figures to check the spec against"}, self.stated);
  }
};

}  // namespace perfbench::spec
