// Lists that need no database: perfbench's data files and metrics.
#include <utility>

#include "reports/content/cells.h"
#include "reports/content/list_document.h"
#include "reports/content/listed_table.h"
#include "reports/render/format/number.h"
#include "workloads/spec/metric_catalog.h"
#include "workloads/spec/parameter_table.h"

namespace perfbench::reports {
namespace {

std::optional<double> if_known(double value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

Cell flops_cell(double flops_per_s) {
  if (flops_per_s <= 0) return {kNothing, Value()};
  return {human_count(flops_per_s, "FLOP/s"), Value(flops_per_s)};
}

}  // namespace

Document list_models(const harness::ModelCatalog& catalog, const ListQuery& query) {
  ListedTable out("models",
                  {{.title = "model", .key = "model"},
                   {.title = "parameters", .key = "parameters", .align = Align::right},
                   {.title = "layers", .key = "layers", .align = Align::right},
                   {.title = "d_model", .key = "d_model", .align = Align::right},
                   {.title = "heads", .key = "n_heads", .align = Align::right},
                   {.title = "kv heads", .key = "n_kv_heads", .align = Align::right},
                   {.title = "d_ff", .key = "d_ff", .align = Align::right},
                   {.title = "vocabulary", .key = "vocab_size", .align = Align::right},
                   {.title = "experts", .key = "experts", .align = Align::right}},
                  query);
  for (const auto& name : catalog.model_names()) {
    const auto model = catalog.model(name).model;
    const auto parameters = spec::count_parameters(model).total;
    Row row{.cells = {name, Cell(format_parameters(parameters), Value(parameters)), count_cell(model.layers),
                      count_cell(model.d_model), count_cell(model.n_heads), count_cell(model.n_kv_heads),
                      count_cell(model.d_ff), count_cell(model.vocab_size), count_cell(model.moe.n_experts)}};
    if (!out.add(std::move(row))) break;
  }
  return std::move(out).document();
}

Document list_hardware(const harness::ModelCatalog& catalog, const ListQuery& query) {
  ListedTable out("hardware",
                  {{.title = "hardware", .key = "hardware"},
                   {.title = "title", .key = "title"},
                   {.title = "fp32", .key = "fp32_flops_per_s", .align = Align::right},
                   {.title = "bf16", .key = "bf16_flops_per_s", .align = Align::right},
                   {.title = "fp8", .key = "fp8_flops_per_s", .align = Align::right},
                   {.title = "memory", .key = "memory_bytes", .align = Align::right},
                   {.title = "bandwidth", .key = "memory_bytes_per_s", .align = Align::right},
                   {.title = "devices/node", .key = "devices_per_node", .align = Align::right},
                   {.title = "aliases", .key = "aliases", .audience = Audience::programs}},
                  query);
  for (const auto& name : catalog.hardware_names()) {
    const auto device = catalog.hardware(name);
    const auto& peak = device.peak_flops_per_s;
    Row row{.cells = {name, device.title, flops_cell(peak.fp32), flops_cell(peak.bf16), flops_cell(peak.fp8),
                      bytes_cell(device.memory_bytes),
                      Cell(human_count(device.memory_bytes_per_s, "B/s"), Value(device.memory_bytes_per_s)),
                      count_cell(device.devices_per_node), Cell("", Value(device.aliases))}};
    if (!out.add(std::move(row))) break;
  }
  return std::move(out).document();
}

Document list_metrics(const ListQuery& query) {
  ListedTable out("metrics",
                  {{.title = "metric", .key = "metric"},
                   {.title = "unit", .key = "unit"},
                   {.title = "better", .key = "direction"},
                   {.title = "what it is", .key = "description"}},
                  query);
  for (const auto& metric : spec::kMetricCatalog) {
    Row row{.cells = {std::string(metric.tag), std::string(metric.unit), std::string(spec::enum_name(metric.direction)),
                      std::string(metric.description)}};
    if (!out.add(std::move(row))) break;
  }
  return std::move(out).document();
}

Document list_published(const harness::PublishedCatalog& catalog, const ListQuery& query) {
  ListedTable out("published",
                  {{.title = "row", .key = "row"},
                   {.title = "model", .key = "model"},
                   {.title = "device", .key = "device"},
                   {.title = "devices", .key = "devices", .align = Align::right},
                   {.title = "precision", .key = "precision"},
                   {.title = "seq_len", .key = "seq_len", .align = Align::right},
                   {.title = "GBS", .key = "global_batch", .align = Align::right},
                   {.title = "step time (s)", .key = "step_time_s", .align = Align::right},
                   {.title = "tokens/s/device", .key = "tokens_per_s_per_device", .align = Align::right},
                   {.title = "stated MFU", .key = "stated_mfu_fraction", .align = Align::right}},
                  query);
  for (const auto& system : catalog.systems()) {
    for (const auto& entry : catalog.rows(system)) {
      const auto& row = entry.row;
      const auto mfu = if_known(row.stated_mfu_fraction);
      const bool wants_more = out.add(
          {.cells = {entry.name, row.model_name, row.device_name, count_cell(row.devices),
                     std::string(spec::enum_name(row.precision)), count_cell(row.seq_len), count_cell(row.global_batch),
                     number_cell(harness::step_time_s(entry)), number_cell(harness::tokens_per_s_per_device(entry)),
                     mfu ? Cell(format_percent(*mfu), Value(*mfu)) : Cell(kNothing, Value())}});
      if (!wants_more) return std::move(out).document();
    }
  }
  return std::move(out).document();
}

}  // namespace perfbench::reports
