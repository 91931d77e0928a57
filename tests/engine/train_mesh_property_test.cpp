// Properties of every run on every mesh, walked dry on all of its ranks: together they hold the model once and compute
// what one rank does, each sends what others receive, and none needs more than the rank that a plan shows. Oracles are
// the list of parameters, closed forms of it, and the order of axes that mesh_spec.h states.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/train/assembly.h"
#include "engine/train/dry_walk.h"
#include "tests/engine/expected_states.h"
#include "tests/engine/logged_collectives.h"
#include "tests/engine/random_runs.h"
#include "workloads/spec/dry_counts.h"
#include "workloads/spec/parameter_table.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::engine {
namespace {

constexpr std::uint64_t kRandomRuns = 750;

spec::RunSpec property_run(std::uint64_t seed) {
  constexpr std::array<std::int64_t, 12> kRanks{1, 2, 3, 4, 6, 8, 2, 4, 5, 6, 8, 16};
  return random_run(seed, kRanks[seed % kRanks.size()], seed % 5 < 3 ? spec::Device::cpu : spec::Device::cuda);
}

// How many ranks have an element of a parameter, and how many of these are its owner, whose value counts.
struct Held {
  std::int64_t ranks = 0;
  std::int64_t owners = 0;
};
using Holders = std::map<std::string, std::vector<Held>>;

struct RankWalk {
  spec::DryReport report;
  CallLog calls;
};

void add_held(const Grid& grid, std::int64_t rank, ParameterStore& store, Holders& holders) {
  for (std::size_t u = 0; u < store.units().size(); ++u) {
    const auto& unit = store.unit(u);
    const std::int64_t begin = store.first_element(unit.layout);
    for (const auto& range : unit.layout.replica_ranges(begin, unit.weight.view().elements())) {
      const bool of_first_replica = grid.is_first(rank, range.replicas.with(Axis::dp));
      const std::int64_t owners = of_first_replica && store.belongs_here(u) ? 1 : 0;
      for (const auto& p : unit.layout.parameters) {
        auto& elements = holders[p.spec.name];
        elements.resize(static_cast<std::size_t>(p.spec.elements()));
        const std::int64_t first = std::max(range.first, p.offset);
        const std::int64_t end = std::min(range.first + range.count, p.offset + p.slice.elements());
        for (auto i = first; i < end; ++i) {
          const std::int64_t own = i - p.offset;
          const std::int64_t element = p.slice.first + own / p.slice.run * p.slice.stride + own % p.slice.run;
          auto& held = elements.at(static_cast<std::size_t>(element));
          ++held.ranks;
          held.owners += owners;
        }
      }
    }
  }
}

RankWalk walk(const spec::RunSpec& run, const Grid& grid, std::int64_t rank, Holders& holders) {
  RankWalk out{.report = dry_walk(run, rank), .calls = {}};
  Backend backend;
  backend.device_memory = make_dry_backing();
  backend.host_memory = make_dry_backing();
  backend.ops = make_dry_ops();
  backend.collectives = std::make_unique<LoggedCollectives>(Mesh(run.mesh, rank), run, out.calls);
  Assembly assembly(run, std::move(backend), {});
  add_held(grid, rank, assembly.trainer().parameters(), holders);
  out.calls = {};
  assembly.trainer().step(0);
  return out;
}

bool is_cut_over_ep(const spec::RunSpec& run, const spec::ParameterSpec& parameter) {
  return run.mesh.ep() > 1 && parameter.dims.find("/ep") != std::string::npos;
}

// The adapters of all layers.
std::vector<spec::ParameterSpec> adapters_of(const spec::RunSpec& run) {
  std::vector<spec::ParameterSpec> out;
  for (std::int64_t layer = 0; layer < run.model.layers; ++layer) {
    for (auto& parameter : spec::layer_adapters(run.model, run.lora, layer)) out.push_back(parameter);
  }
  return out;
}

// Every replica has each element once, and so has each rank along tp or ep if that does not cut the parameter. The unit
// of a tied embedding is at both ends of a pipeline. One of all these owns it.
void expect_each_element_held(const spec::RunSpec& run, const Holders& holders, const std::vector<RankWalk>& walks) {
  std::int64_t elements = 0;
  auto all = spec::parameter_table(run.model);
  for (const auto& parameter : all) elements += parameter.elements();
  for (auto& parameter : adapters_of(run)) all.push_back(parameter);
  for (const auto& parameter : all) {
    std::int64_t copies = run.mesh.dp() * (is_cut_over_tp(run, parameter) ? 1 : run.mesh.tp());
    if (!is_cut_over_ep(run, parameter)) copies *= run.mesh.ep();
    if (run.model.tied_embedding && run.mesh.pp() > 1 && is_looked_up(parameter)) copies *= 2;
    const auto& found = holders.at(parameter.name);
    const auto right = std::count_if(found.begin(), found.end(),
                                     [&](const Held& held) { return held.ranks == copies && held.owners == 1; });
    EXPECT_EQ(right, parameter.elements()) << parameter.name;
  }
  EXPECT_EQ(holders.size(), all.size());
  for (const auto& rank : walks) EXPECT_EQ(rank.report.parameters, elements);
}

void expect_memory_of_states(const spec::RunSpec& run, const Grid& grid, const spec::DryReport& report) {
  constexpr std::int64_t kBlock = 256;  // of the arena
  std::int64_t gradients = 0;
  std::int64_t moments = 0;
  std::int64_t weights = 0;
  for (const auto& unit : units_of(run, grid.stage(report.rank))) {
    const std::int64_t elements = shard_elements(run, unit);
    if (run.lora.used() && unit.front().kind != spec::ParameterKind::adapter_a) {  // frozen
      weights += up((spec::computes_in_bf16(run.precision) ? 2 : 4) * elements, kBlock);
      continue;
    }
    gradients += up((run.optimizer.gradients == spec::StateType::bf16 ? 2 : 4) * elements, kBlock);
    moments += 2 * up((run.optimizer.moments == spec::StateType::bf16 ? 2 : 4) * elements, kBlock);
    weights += up(4 * elements, kBlock);
    if (run.bf16_weights == spec::Bf16Weights::kept) weights += up(2 * elements, kBlock);
  }
  if (run.model.position.kind == spec::PositionKind::rope) weights += up(4 * run.seq_len * run.model.head_dim, kBlock);
  if (run.model.position.kind == spec::PositionKind::t5_relative_bias) weights += up(4 * run.seq_len, kBlock);
  EXPECT_EQ(report.peak.weights_bytes, weights) << "rank " << report.rank;
  EXPECT_EQ(report.peak.gradients_bytes, gradients) << "rank " << report.rank;
  const std::int64_t scales = fp8_state_bytes(run, units_of(run, grid.stage(report.rank)));
  EXPECT_EQ(report.peak.optimizer_bytes, moments + scales) << "rank " << report.rank;
}

// The number of elements of the model's weights whose name, without the layer, is one of these. Experts' names are
// "experts.NAME".
std::int64_t elements_of(const spec::ModelSpec& model, std::initializer_list<const char*> names) {
  std::int64_t out = 0;
  for (const auto& parameter : spec::parameter_table(model)) {
    for (const std::string name : names) {
      const bool of_experts = parameter.kind == spec::ParameterKind::expert && !name.starts_with("experts.");
      if (!of_experts && parameter.name.ends_with("." + name + ".weight")) out += parameter.elements();
    }
  }
  return out;
}

// The rows that a layer's experts multiply in a step: every choice of a token or, with a capacity, all slots of each
// expert for each sequence. The slots are floor(T*f/E), above one in multiples of four, for top2_gshard, and
// floor(ceil(T*C/E)*f) for topk_softmax.
std::int64_t rows_of_experts(const spec::RunSpec& run) {
  const auto& moe = run.model.moe;
  if (moe.capacity_factor == 0.0) return run.global_batch * run.seq_len * moe.top_k;
  const auto quarters = static_cast<std::int64_t>(4 * moe.capacity_factor);  // as random_runs.h draws it
  std::int64_t slots = 0;
  if (moe.routing == spec::MoeRouting::top2_gshard) {
    slots = run.seq_len * quarters / (4 * moe.n_experts);
    if (slots > 1) slots = up(slots, 4);
  } else {
    slots = up(run.seq_len * moe.top_k, moe.n_experts) / moe.n_experts * quarters / 4;
  }
  return run.global_batch * moe.n_experts * std::max<std::int64_t>(slots, 1);
}

// For one token and element: the forward product, the gradient of the input and, if the weights train, their gradient.
std::int64_t flops_of_a_weight(const spec::RunSpec& run) {
  return run.lora.used() ? 4 : 6;
}

// Ranks along tp share the router's forward products by rows; each computes the gradients of its own part of the gates.
std::int64_t flops_of_experts(const spec::RunSpec& run) {
  if (run.model.moe.n_experts == 0) return 0;
  const std::int64_t tokens = run.global_batch * run.seq_len;
  const std::int64_t weights =
      elements_of(run.model, {"experts.gate", "experts.up", "experts.down"}) / run.model.moe.n_experts;
  const std::int64_t gradients = flops_of_a_weight(run) / 2 - 1;
  return flops_of_a_weight(run) * rows_of_experts(run) * weights +
         2 * tokens * elements_of(run.model, {"router"}) * (1 + gradients * run.mesh.tp());
}

// The products of adapters on all ranks, in elements. An adapter that is not cut over tp is multiplied on every rank
// along it; for key and value heads that each rank has whole, only the rows of the head that it computes.
struct AdapterWork {
  std::int64_t attention = 0;
  std::int64_t feed_forward = 0;
  std::int64_t a_more = 0;      // for a, beyond one rank
  std::int64_t again_more = 0;  // for a and b, in linear layers that a policy recomputes
};

AdapterWork work_of_adapters(const spec::RunSpec& run) {
  static const std::map<std::string, spec::Saved> kNames{
      {"query", spec::Saved::query_proj}, {"key", spec::Saved::key_proj}, {"value", spec::Saved::value_proj},
      {"out", spec::Saved::out_proj},     {"gate", spec::Saved::mlpwi_0}, {"up", spec::Saved::mlpwi_1}};
  const auto plan = spec::resolve_remat(run);
  const bool gated = spec::is_gated(run.model.activation);
  const std::int64_t tp = run.mesh.tp();
  AdapterWork work;
  for (const auto& parameter : adapters_of(run)) {
    const std::int64_t elements = parameter.elements();
    std::int64_t done = is_cut_over_tp(run, parameter) ? elements : elements * tp;
    if (has_few_heads(run) && parameter.dims.starts_with("kv_heads")) {
      done = tp * run.model.head_dim * run.lora.rank;
    }
    const std::string name = parameter.name.substr(0, parameter.name.size() - 2);  // without ".a"
    const std::string linear = name.substr(name.rfind('.') + 1);
    const bool of_attention = linear == "query" || linear == "key" || linear == "value" || linear == "out";
    (of_attention ? work.attention : work.feed_forward) += done;
    if (parameter.kind == spec::ParameterKind::adapter_a) work.a_more += done - elements;
    // Policies call a block's only input projection the first one; the down projection is not needed again.
    if (linear == "down") continue;
    const auto saved = linear == "up" && !gated ? spec::Saved::mlpwi_0 : kNames.at(linear);
    if (!plan.keeps(saved)) work.again_more += done - elements;
  }
  return work;
}

// FLOPs per token that all ranks leave out: layer 0's gradients that no adapter reads, down to a frozen embedding.
// Ranks along tp each have the whole a of an adapter.
struct UnreadFlops {
  std::int64_t attention_projection = 0;
  std::int64_t attention_score = 0;
  std::int64_t feed_forward = 0;
};

UnreadFlops unread_flops(const spec::RunSpec& run) {
  if (!run.lora.used()) return {};
  const auto& model = run.model;
  const std::int64_t of_an_adapter = run.mesh.tp() * run.lora.rank * model.d_model;
  const std::int64_t keys_and_values = 2 * std::max(run.mesh.tp(), model.n_kv_heads) * model.head_dim * model.d_model;
  const std::int64_t projections = elements_of(model, {"0.query"}) + keys_and_values;
  if (run.lora.targets != spec::LoraTargets::mlp) {
    return {.attention_projection = 2 * (projections + 3 * of_an_adapter)};
  }
  const std::int64_t inputs = spec::is_gated(model.activation) ? 2 : 1;
  return {.attention_projection = 2 * (projections + elements_of(model, {"0.out"})),
          .attention_score = 4 * model.n_heads * model.head_dim * run.seq_len,
          .feed_forward = 2 * (elements_of(model, {"0.gate", "0.up"}) + inputs * of_an_adapter)};
}

// Over all ranks: 6 for every token and element of a weight, 4 if it is frozen, and the causal half of attention
// (flops.h), 6*h*e*T a token and layer. A policy recomputes the same amount as on one rank. If ranks along tp hold key
// and value heads whole, each computes one of them, so there are as many as ranks.
void expect_one_ranks_work(const spec::RunSpec& run, const std::vector<RankWalk>& walks) {
  spec::FlopCounts all;
  for (const auto& rank : walks) spec::add(all, rank.report.flops);
  auto alone = run;
  alone.mesh = {};
  alone.pipeline_chunks = 1;
  alone.expert_buffer_factor = spec::RunSpec().expert_buffer_factor;
  const auto& model = run.model;
  const std::int64_t tokens = run.global_batch * run.seq_len;
  std::int64_t one_layer_more = 0;  // for the projection of keys or values, in a pass
  if (has_few_heads(run)) {
    one_layer_more = 2 * tokens * (run.mesh.tp() - model.n_kv_heads) * model.head_dim * model.d_model;
  }
  const std::int64_t one_pass_more = model.layers * one_layer_more;
  const auto plan = spec::resolve_remat(run);
  // If its gradients are not needed, layer 0's attention is recomputed only for what follows it.
  const bool unread_attention = run.lora.used() && run.lora.targets == spec::LoraTargets::mlp;
  const std::int64_t layers_again = model.layers - (unread_attention && plan.keeps(spec::Saved::out_proj) ? 1 : 0);
  const std::int64_t again =
      (plan.keeps(spec::Saved::key_proj) ? 0 : 1) + (plan.keeps(spec::Saved::value_proj) ? 0 : 1);
  const auto names_of_attention = {"query", "key", "value", "out"};
  const std::int64_t of_a_weight = flops_of_a_weight(run);
  const auto adapters = work_of_adapters(run);
  const auto unread = unread_flops(run);
  EXPECT_EQ(all.attention_projection_flops, of_a_weight * tokens * elements_of(model, names_of_attention) +
                                                of_a_weight * one_pass_more + 6 * tokens * adapters.attention -
                                                tokens * unread.attention_projection);
  EXPECT_EQ(all.feed_forward_flops, of_a_weight * tokens * elements_of(model, {"gate", "up", "down"}) +
                                        flops_of_experts(run) + 6 * tokens * adapters.feed_forward -
                                        tokens * unread.feed_forward);
  EXPECT_EQ(all.unembedding_flops, of_a_weight * tokens * model.vocab_size * model.d_model);
  EXPECT_EQ(all.attention_score_flops,
            6 * tokens * model.layers * model.n_heads * model.head_dim * run.seq_len - tokens * unread.attention_score);
  EXPECT_EQ(all.rematerialised_flops, dry_walk(alone, 0).flops.rematerialised_flops +
                                          again * layers_again * one_layer_more +
                                          2 * tokens * (adapters.a_more + adapters.again_more));
}

// Ranks that differ only in their sequences count equal shares, whatever experts their tokens go to.
void expect_equal_shares_of_work(const Grid& grid, const std::vector<RankWalk>& walks) {
  for (const auto& rank : walks) {
    Place first = grid.place(rank.report.rank);
    for (std::size_t i = 0; i < kPlaces; ++i) {
      if (grid.is_along(i, {kDataAxes, kDataAxes})) first[i] = 0;
    }
    const auto& other = walks.at(static_cast<std::size_t>(grid.rank(first)));
    EXPECT_EQ(rank.report.flops.model_flops(), other.report.flops.model_flops()) << "rank " << rank.report.rank;
    EXPECT_EQ(rank.report.flops.executed_flops(), other.report.flops.executed_flops()) << "rank " << rank.report.rank;
  }
}

// "fsdp+dcn_fsdp".
std::string name_of(const MeshGroup& group) {
  std::string out;
  for (const auto& [axes, prefix] : {std::pair{group.ici, ""}, std::pair{group.dcn, "dcn_"}}) {
    for (const auto axis : kAxesOfALevel) {
      if (axes.has(axis)) out += (out.empty() ? "" : "+") + std::string(prefix) + std::string(axis_name(axis));
    }
  }
  return out;
}

// The ranks of a group are those that differ only along its axes: all are told the same, in the same order.
void expect_groups_to_agree(const Grid& grid, const std::vector<RankWalk>& walks) {
  struct Group {
    const std::vector<Call>* calls;
    std::int64_t found;
    std::int64_t ranks;
  };
  std::map<std::pair<Channel, Place>, Group> groups;
  for (const auto& rank : walks) {
    for (const auto& [channel, calls] : rank.calls.collectives) {
      Place elsewhere = grid.place(rank.report.rank);
      for (std::size_t i = 0; i < kPlaces; ++i) {
        if (grid.is_along(i, channel.group)) elsewhere[i] = 0;
      }
      auto& group = groups.try_emplace({channel, elsewhere}, Group{&calls, 0, grid.ranks(channel.group)}).first->second;
      ++group.found;
      EXPECT_TRUE(calls == *group.calls) << name_of(channel.group) << " of rank " << rank.report.rank;
    }
  }
  for (const auto& [where, group] : groups) {
    EXPECT_EQ(group.found, group.ranks) << name_of(where.first.group);
    EXPECT_GT(group.ranks, 1);
  }
}

// In each direction a stage receives what its predecessor there has sent, in the same order.
void expect_neighbours_to_match(const Grid& grid, std::int64_t stages, const std::vector<RankWalk>& walks) {
  for (const auto& rank : walks) {
    for (const auto heading : {Heading::onward, Heading::back}) {
      const std::int64_t step = heading == Heading::onward ? 1 : stages - 1;
      const std::int64_t to = grid.on_stage(rank.report.rank, (grid.stage(rank.report.rank) + step) % stages);
      const auto found = [heading](const auto& by_heading) {
        const auto at = by_heading.find(heading);
        return at == by_heading.end() ? std::vector<std::int64_t>{} : at->second;
      };
      EXPECT_EQ(found(rank.calls.sent), found(walks[static_cast<std::size_t>(to)].calls.received))
          << "from rank " << rank.report.rank << " to " << to;
    }
  }
}

// A report counts the communication that was requested, by the names of axes and level.
void expect_traffic_as_told(const Grid& grid, std::int64_t stages, const RankWalk& rank) {
  std::map<std::pair<std::string, std::string>, std::array<std::int64_t, 3>> told;  // messages, payload, sent
  const auto add = [&](const std::string& axis, const std::string& what, std::int64_t bytes, std::int64_t sent) {
    auto& row = told[{axis, what}];
    row[0] += 1;
    row[1] += bytes;
    row[2] += sent;
  };
  for (const auto& [channel, calls] : rank.calls.collectives) {
    const std::int64_t ranks = grid.ranks(channel.group);
    for (const auto& [what, bytes] : calls) {
      add(name_of(channel.group), what, bytes, (what == "all_reduce" ? 2 : 1) * (ranks - 1) * bytes / ranks);
    }
  }
  const std::int64_t own = rank.report.rank;
  for (const auto heading : {Heading::onward, Heading::back}) {
    const std::int64_t step = heading == Heading::onward ? 1 : stages - 1;
    const auto axis_to = [&](std::int64_t ahead) {
      const std::int64_t other = grid.on_stage(own, (grid.stage(own) + ahead) % stages);
      return grid.on_one_node(own, other) ? "pp" : "dcn_pp";
    };
    if (const auto sent = rank.calls.sent.find(heading); sent != rank.calls.sent.end()) {
      for (const auto bytes : sent->second) add(axis_to(step), "send", bytes, bytes);
    }
    if (const auto received = rank.calls.received.find(heading); received != rank.calls.received.end()) {
      for (const auto bytes : received->second) add(axis_to(stages - step), "receive", bytes, 0);
    }
  }
  decltype(told) counted;
  for (const auto& row : rank.report.traffic) {
    counted[{row.axis, row.collective}] = {row.messages, row.payload_bytes, row.sent_bytes};
  }
  EXPECT_EQ(rank.report.traffic.size(), told.size());
  EXPECT_TRUE(counted == told) << "traffic of rank " << own;
}

// The rank that a plan shows needs at least as much as any other, and so does each stage's within its stage; it fits a
// limit that all fit.
void expect_worst_rank(spec::RunSpec run, const Grid& grid, const std::vector<RankWalk>& walks) {
  std::int64_t need = 0;
  std::int64_t arena = 0;
  std::map<std::int64_t, std::int64_t> need_of_stage;
  for (const auto& rank : walks) {
    const auto bytes = spec::needed_bytes(rank.report);
    auto& of_stage = need_of_stage[grid.stage(rank.report.rank)];
    of_stage = std::max(of_stage, bytes);
    need = std::max(need, bytes);
    arena = std::max(arena, rank.report.arena_bytes);
  }
  run.memory_limit_bytes = arena;
  const auto worst = dry_walk_of_worst(run);
  const auto& named = walks.at(static_cast<std::size_t>(worst.rank)).report;
  EXPECT_EQ(spec::needed_bytes(worst), need);
  EXPECT_EQ(worst.arena_bytes, named.arena_bytes);
  EXPECT_EQ(worst.peak.total_bytes, named.peak.total_bytes);
  EXPECT_EQ(worst.peak.host_bytes, named.peak.host_bytes);
  EXPECT_EQ(worst.flops.executed_flops(), named.flops.executed_flops());
  ASSERT_EQ(worst.stages.size(), run.mesh.pp() > 1 ? need_of_stage.size() : 0);
  std::int64_t layers = 0;
  for (const auto& stage : worst.stages) {
    EXPECT_EQ(grid.stage(stage.rank), stage.stage);
    EXPECT_EQ(spec::needed_bytes(stage), need_of_stage.at(stage.stage)) << "stage " << stage.stage;
    EXPECT_EQ(stage.arena_bytes, walks.at(static_cast<std::size_t>(stage.rank)).report.arena_bytes);
    layers += stage.layers;
  }
  if (!worst.stages.empty()) {
    EXPECT_EQ(layers, run.model.layers);
  }
  EXPECT_TRUE(worst.feasible);
  run.memory_limit_bytes = arena - 1;
  EXPECT_FALSE(dry_walk_of_worst(run).feasible);
}

TEST(EveryRunOnEveryMesh, SharesModelWorkAndMessagesAmongItsRanks) {
  for (std::uint64_t seed = 0; seed < kRandomRuns; ++seed) {
    const auto run = property_run(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + spec::canonical_json(run));
    const Grid grid(run.mesh);
    Holders holders;
    std::vector<RankWalk> walks;
    for (std::int64_t rank = 0; rank < run.mesh.devices(); ++rank) walks.push_back(walk(run, grid, rank, holders));
    expect_each_element_held(run, holders, walks);
    expect_one_ranks_work(run, walks);
    expect_equal_shares_of_work(grid, walks);
    expect_groups_to_agree(grid, walks);
    expect_neighbours_to_match(grid, run.mesh.pp(), walks);
    for (const auto& rank : walks) {
      expect_memory_of_states(run, grid, rank.report);
      expect_traffic_as_told(grid, run.mesh.pp(), rank);
    }
    expect_worst_rank(run, grid, walks);
    if (HasFailure()) return;
  }
}

bool has_stage_without_experts(const spec::RunSpec& run) {
  for (std::int64_t stage = 0; stage < run.mesh.pp(); ++stage) {
    bool found = false;
    for (const auto& unit : units_of(run, stage)) {
      for (const auto& parameter : unit) found = found || parameter.kind == spec::ParameterKind::expert;
    }
    if (!found) return true;
  }
  return false;
}

void count_kinds_of_experts(const spec::RunSpec& run, std::map<std::string, int>& runs) {
  const auto& moe = run.model.moe;
  const auto& mesh = run.mesh;
  const auto plan = spec::resolve_remat(run);
  const auto is = [&](const std::string& kind, bool holds) { runs[kind] += moe.n_experts > 0 && holds ? 1 : 0; };
  const bool gshard = moe.routing == spec::MoeRouting::top2_gshard;
  is("ep inside a node", mesh.ici.ep > 1);
  is("ep over nodes", mesh.ici.ep > 1 && mesh.dcn.ep > 1);
  is("ep with dp", mesh.ep() > 1 && mesh.dp() > 1);
  is("ep with fsdp", mesh.ep() > 1 && mesh.fsdp() > 1);
  is("ep with tp", mesh.ep() > 1 && mesh.tp() > 1);
  is("ep with pp", mesh.ep() > 1 && mesh.pp() > 1);
  is("one expert on a rank", mesh.ep() == moe.n_experts);
  is("experts on one rank", mesh.devices() == 1);
  is("experts' hidden width in different parts", moe.d_ff % mesh.tp() != 0);
  is("tokens of a router in different parts", run.microbatch() * run.seq_len % mesh.tp() != 0);
  is("dropless", moe.capacity_factor == 0.0);
  is("a buffer below the worst case",
     has_expert_buffer(run) && run.expert_buffer_factor < static_cast<double>(mesh.ep()));
  is("top2_gshard", gshard);
  is("topk_softmax with a capacity", !gshard && moe.capacity_factor > 0.0);
  is("one choice", moe.top_k == 1);
  is("three choices", moe.top_k == 3);
  is("all experts chosen", moe.top_k == moe.n_experts);
  is("dense layers between experts", moe.layer_stride > 1 && run.model.layers > 1);
  is("a stage without experts", has_stage_without_experts(run));
  for (const auto& [activation, name] : spec::EnumNames<spec::Activation>::kNames) {
    is("experts of " + std::string(name), moe.activation == activation);
  }
  for (const auto& [place, name] : spec::EnumNames<spec::SavePlace>::kNames) {
    is("routes: " + std::string(name), plan[spec::Saved::norm_statistics] == place);
    is("experts' input projection: " + std::string(name), plan[spec::Saved::moe_mlpwi_0] == place);
    is("experts' output: " + std::string(name), plan[spec::Saved::moe_mlpwo] == place);
  }
}

// The runs cover all kinds of models.
TEST(EveryRunOnEveryMesh, CoversEveryKind) {
  std::map<std::string, int> runs;
  for (std::uint64_t seed = 0; seed < kRandomRuns; ++seed) {
    const auto run = property_run(seed);
    const auto& mesh = run.mesh;
    const auto plan = spec::resolve_remat(run);
    const auto is = [&](const std::string& kind, bool holds) { runs[kind] += holds ? 1 : 0; };
    is("parts of different size along tp", run.model.d_ff % mesh.tp() != 0);
    is("a relative bias over tp", run.model.position.kind == spec::PositionKind::t5_relative_bias && mesh.tp() > 1);
    is("a vocabulary in different parts", run.model.vocab_size % mesh.tp() != 0);
    is("key and value heads on every rank", has_few_heads(run));
    is("tp over nodes", mesh.ici.tp > 1 && mesh.dcn.tp > 1);
    is("fsdp over nodes", mesh.ici.fsdp > 1 && mesh.dcn.fsdp > 1);
    is("pp over nodes", mesh.ici.pp > 1 && mesh.dcn.pp > 1);
    is("pp with tp", mesh.pp() > 1 && mesh.tp() > 1);
    is("several chunks", run.pipeline_chunks > 1);
    is("fewer microbatches than stages", mesh.pp() > run.grad_accum);
    is("a tied embedding at two ends", mesh.pp() > 1 && run.model.tied_embedding);
    is("offloading", plan[spec::Saved::query_proj] == spec::SavePlace::offload);
    is("a layer input on the host", plan[spec::Saved::layer_input] == spec::SavePlace::offload);
    is("stochastic rounding", run.rounding == spec::Rounding::stochastic);
    is("dropped input over tp", run.dropout.input > 0 && mesh.tp() > 1);
    is("dropped additions over tp", run.dropout.residual > 0 && mesh.tp() > 1);
    is("dropped layer inputs over tp", run.dropout.layer_input > 0 && mesh.tp() > 1);
    is("dropout over pp", run.dropout.used() && mesh.pp() > 1);
    is("dropout beside experts", run.dropout.residual > 0 && run.model.moe.n_experts > 0);
    is("adapters over tp", run.lora.used() && mesh.tp() > 1);
    is("adapters over fsdp", run.lora.used() && mesh.fsdp() > 1);
    is("adapters over pp", run.lora.used() && mesh.pp() > 1);
    is("adapters beside experts", run.lora.used() && run.model.moe.n_experts > 0);
    is("adapters of heads on every rank", run.lora.used() && has_few_heads(run));
    is("adapters in bf16", run.lora.used() && run.precision == spec::Precision::bf16);
    is("merged adapters over tp", run.lora.merge && mesh.tp() > 1);
    is("merged adapters over fsdp", run.lora.merge && mesh.fsdp() > 1);
    for (const auto& [targets, name] : spec::EnumNames<spec::LoraTargets>::kNames) {
      is("adapters of " + std::string(name), run.lora.used() && run.lora.targets == targets);
    }
    is("8 bits", run.precision == spec::Precision::fp8);
    is("moments in bf16", run.optimizer.moments == spec::StateType::bf16);
    is("gradients in bf16", run.optimizer.gradients == spec::StateType::bf16);
    is("kept weights", run.bf16_weights == spec::Bf16Weights::kept);
    for (const auto& policy : spec::remat_policy_names()) is(policy, run.remat == policy);
    is("odd causal square", run.seq_len % 2 != 0 && run.model.n_heads / mesh.tp() % 2 != 0);
    count_kinds_of_experts(run, runs);
  }
  for (const auto& [kind, count] : runs) EXPECT_GE(count, 10) << kind;
}

}  // namespace
}  // namespace perfbench::engine
