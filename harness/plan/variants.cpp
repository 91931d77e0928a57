#include "harness/plan/variants.h"

#include <algorithm>
#include <map>
#include <optional>

#include "harness/system/run_id.h"
#include "workloads/spec/remat_policy.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/validate.h"

namespace perfbench::harness {
namespace {

using Kind = ChangeOption::Kind;
using spec::MeshAxes;
using spec::RunSpec;

constexpr std::int64_t kFactors[] = {2, 4, 8};

void add_policies(const RunSpec& run, std::vector<ChangeOption>& out) {
  const auto now = spec::resolve_remat(run);
  for (const auto& name : spec::remat_policy_names()) {
    RunSpec other = run;
    other.remat = name;
    if (name == spec::kCustomRemat || spec::resolve_remat(other) == now) continue;
    out.push_back({Kind::remat, [name](RunSpec& changed) {
                     changed.remat = name;
                     changed.remat_custom.clear();
                   }});
  }
}

// The run's own policy, with everything that it keeps on the device moved to host memory.
void add_offload(const RunSpec& run, std::vector<ChangeOption>& out) {
  const auto now = spec::resolve_remat(run);
  std::map<std::string, spec::SavePlace> places;
  bool moves = false;
  for (const auto& [name, text] : spec::EnumNames<spec::Saved>::kNames) {
    const bool of_no_layer = text.starts_with("moe_") && run.model.moe.n_experts == 0;
    if (of_no_layer || !now.keeps(name)) continue;
    moves = moves || now[name] == spec::SavePlace::device;
    places.emplace(text, spec::SavePlace::offload);
  }
  if (!moves) return;
  out.push_back({Kind::remat, [places](RunSpec& changed) {
                   changed.remat = spec::kCustomRemat;
                   changed.remat_custom = places;
                 }});
}

void add_microbatches(const RunSpec& run, std::vector<ChangeOption>& out) {
  const auto sequences = run.sequences_per_rank();
  const auto add = [&out](std::int64_t count) {
    out.push_back({Kind::microbatch, [count](RunSpec& changed) { changed.grad_accum = count; }});
  };
  std::int64_t last = run.grad_accum;
  for (std::int64_t count = 2 * run.grad_accum; count <= sequences; count *= 2) {
    if (sequences % count == 0) add(last = count);
  }
  if (sequences > last) add(sequences);
}

// As many microbatches as needed to keep their size if the sequences of a rank can be divided so, otherwise the next
// smaller possible number.
void keep_microbatch(RunSpec& changed, std::int64_t microbatch) {
  const auto sequences = changed.sequences_per_rank();
  auto count = std::max<std::int64_t>(sequences / microbatch, 1);
  while (sequences % count != 0) --count;
  changed.grad_accum = count;
}

// Moves devices from one axis of a level to another.
void add_exchange(MeshAxes spec::MeshSpec::*level, std::int64_t MeshAxes::*from, std::int64_t MeshAxes::*to,
                  const RunSpec& run, std::vector<ChangeOption>& out) {
  for (const auto factor : kFactors) {
    if ((run.mesh.*level).*from % factor != 0) continue;
    out.push_back({Kind::mesh, [=, microbatch = run.microbatch()](RunSpec& changed) {
                     auto& axes = changed.mesh.*level;
                     axes.*from /= factor;
                     axes.*to *= factor;
                     keep_microbatch(changed, microbatch);
                   }});
  }
}

void add_devices(const RunSpec& run, std::int64_t devices_per_node, std::vector<ChangeOption>& out) {
  for (const auto factor : kFactors) {
    const bool one_node =
        run.mesh.dcn.size() == 1 && (devices_per_node == 0 || run.mesh.ici.size() * factor <= devices_per_node);
    out.push_back({Kind::mesh, [=, microbatch = run.microbatch()](RunSpec& changed) {
                     (one_node ? changed.mesh.ici : changed.mesh.dcn).fsdp *= factor;
                     keep_microbatch(changed, microbatch);
                   }});
  }
}

// In the form of a matrix: "{layer_input: offload, out_proj: offload}".
std::string places_text(const std::map<std::string, spec::SavePlace>& places) {
  std::string out;
  for (const auto& [name, place] : places) {
    out += (out.empty() ? "" : ", ") + name + ": " + std::string(spec::enum_name(place));
  }
  return "{" + out + "}";
}

// The differences, by the names that a matrix uses.
std::vector<std::pair<std::string, std::string>> differences(const RunSpec& before, const RunSpec& after) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto number = [&out](const std::string& name, std::int64_t was, std::int64_t is) {
    if (was != is) out.emplace_back(name, std::to_string(is));
  };
  if (before.remat != after.remat) out.emplace_back("remat", after.remat);
  if (before.remat_custom != after.remat_custom && !after.remat_custom.empty()) {
    out.emplace_back("remat_custom", places_text(after.remat_custom));
  }
  number("fsdp_prefetch", before.fsdp_prefetch, after.fsdp_prefetch);
  for (const auto& [prefix, level] : {std::pair{"", &spec::MeshSpec::ici}, std::pair{"dcn_", &spec::MeshSpec::dcn}}) {
    std::vector<std::int64_t> was;
    MeshAxes::fields(before.mesh.*level, [&](const spec::Field&, std::int64_t size) { was.push_back(size); });
    auto next = was.begin();
    MeshAxes::fields(after.mesh.*level, [&, prefix = std::string(prefix)](const spec::Field& field, std::int64_t size) {
      number(prefix + std::string(field.name), *next++, size);
    });
  }
  number("grad_accum", before.grad_accum, after.grad_accum);
  return out;
}

std::optional<Variant> variant(const Cell& cell, const std::vector<ChangeOption>& options,
                               const std::vector<std::size_t>& chosen) {
  Variant out{.options = chosen, .cell = cell};
  RunSpec& run = out.cell.run;
  for (const auto i : chosen) options[i].apply(run);
  try {
    spec::validate(run);
  } catch (const spec::SpecError&) {
    return std::nullopt;
  }
  if (spec::unsupported(run)) return std::nullopt;
  out.cell.axes = differences(cell.run, run);
  if (out.cell.axes.empty()) return std::nullopt;
  out.cell.label.clear();
  for (const auto& [name, value] : out.cell.axes) {
    out.cell.label += (out.cell.label.empty() ? "" : " ") + name + "=" + value;
  }
  out.cell.run_id = run_id(run);
  return out;
}

void combine(const Cell& cell, const std::vector<ChangeOption>& options, std::size_t changes,
             std::vector<std::size_t>& chosen, std::vector<Variant>& out) {
  if (chosen.size() == changes) {
    if (auto made = variant(cell, options, chosen)) out.push_back(std::move(*made));
    return;
  }
  for (std::size_t i = chosen.empty() ? 0 : chosen.back() + 1; i < options.size(); ++i) {
    const auto is_like = [&](std::size_t other) { return options[other].kind == options[i].kind; };
    if (std::ranges::any_of(chosen, is_like)) continue;
    chosen.push_back(i);
    combine(cell, options, changes, chosen, out);
    chosen.pop_back();
  }
}

}  // namespace

std::vector<ChangeOption> change_options(const RunSpec& run, std::int64_t devices_per_node) {
  std::vector<ChangeOption> out;
  add_policies(run, out);
  add_offload(run, out);
  if (run.fsdp_prefetch > 0 && run.mesh.fsdp() > 1) {
    out.push_back({Kind::prefetch, [](RunSpec& changed) { changed.fsdp_prefetch = 0; }});
  }
  for (const auto level : {&spec::MeshSpec::ici, &spec::MeshSpec::dcn}) {
    add_exchange(level, &MeshAxes::dp, &MeshAxes::fsdp, run, out);
  }
  add_exchange(&spec::MeshSpec::ici, &MeshAxes::fsdp, &MeshAxes::tp, run, out);
  add_devices(run, devices_per_node, out);
  // Comes after the mesh, which decides how many sequences a rank has.
  add_microbatches(run, out);
  return out;
}

std::vector<Variant> variants(const Cell& cell, const std::vector<ChangeOption>& options, std::size_t changes) {
  std::vector<Variant> out;
  std::vector<std::size_t> chosen;
  combine(cell, options, changes, chosen, out);
  return out;
}

}  // namespace perfbench::harness
