// The keys that a matrix and a command line may use: every field of RunSpec by its dotted name, short names for mesh
// axes, and a few keys that stand for others. They are derived from RunSpec's field list. Include this in .cpp files
// only, because it needs the JSON library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/spec/fields_json.h"

namespace perfbench::harness {

enum class KeyKind {
  boolean,
  integer,
  number,
  bytes,  // an integer, or a size with a unit
  text,
  model,      // a name in the catalog, or a whole ModelSpec
  group,      // mesh, optimizer, remat_custom ...: a mapping of more keys
  per_share,  // batch_per_device, batch_per_shard: a number or a fraction "1/8"
  repeats,    // how often a cell is executed; not part of the run
  derived,    // can be read, but not set
  free,       // a name that only templates of a program use: any value, as text
};

struct RunKey {
  std::string name;  // canonical: "mesh.ici.fsdp"
  KeyKind kind = KeyKind::text;
  std::string help;
};

// All keys: those of RunSpec in its order, then the others. The names inside remat_custom are not listed.
const std::vector<RunKey>& run_keys();

// The key for a word as users write it: "fsdp" is mesh.ici.fsdp, "dcn_dp" is mesh.dcn.dp, "model.layers" is itself.
std::optional<RunKey> find_key(std::string_view word);

// A hint for a word that is not a key. It names the system that uses the word and its meaning (reference_names.h), or
// is " (did you mean 'seq_len'?)" or "". Searches all keys, their short names and `more_names`.
std::string key_suggestion(std::string_view word, const std::vector<std::string>& more_names);

// "mesh.ici.fsdp" as tables and labels show it: "fsdp".
std::string short_name(std::string_view key);

// "batch_per_device", "global_batch", "batch_per_shard": a run may set only one of them.
bool is_batch_key(std::string_view key);

// The value of `text` from a command line for a key of this kind; nullopt if it is not valid.
std::optional<spec::Json> parse_key_value(KeyKind kind, std::string_view text);
// "a whole number", "true or false": for the error message.
std::string_view kind_wanted(KeyKind kind);

// Converts a pattern of --only or `when` for a key of this kind: a size with a unit becomes a number of bytes.
std::string plain_pattern(KeyKind kind, const std::string& pattern);

// A JSON value in the form in which users write it: text without quotes.
std::string plain_text(const spec::Json& value);

inline constexpr std::int64_t kMostRepeats = 1000;
bool is_repeat_count(const spec::Json& value);  // an integer from 1 to kMostRepeats

// A share of a batch: 4, 0.125 or "1/8"; nullopt unless it is above 0.
std::optional<double> parse_share(const spec::Json& value);

}  // namespace perfbench::harness
