// Reads keys, values and axes, of which the sections of a matrix consist. Include this in .cpp files only, because it
// needs the JSON library.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/matrix/matrix_parts.h"

namespace perfbench::harness {

class Mistakes;
class YamlDocument;

// JSON pointer of an entry.
std::string child(const std::string& pointer, std::string_view key);
std::string child(const std::string& pointer, std::size_t index);

// A function throws InputError, with its place, for a mistake that leaves nothing to return. It adds other mistakes to
// `mistakes` and returns the rest.
class ValueReader {
 public:
  // `parts` has the free keys that were read so far. All three arguments must outlive the reader.
  ValueReader(const YamlDocument& document, Mistakes& mistakes, const MatrixParts& parts)
      : document_(document), mistakes_(mistakes), parts_(parts) {}

  [[noreturn]] void fail(const std::string& pointer, const std::string& message) const;

  // `of` names the contents of the mapping or list, for messages.
  const spec::Json& mapping(const std::string& pointer, const spec::Json& json, const std::string& of) const;
  const spec::Json& list(const std::string& pointer, const spec::Json& json, const std::string& of) const;
  std::string text(const std::string& pointer, const spec::Json& json) const;
  void check_keys(const std::string& pointer, const spec::Json& json, const std::vector<std::string>& known) const;
  std::string required_text(const std::string& pointer, const spec::Json& json, const std::string& key,
                            const std::string& meaning) const;

  // Reads one key and its value and appends them to `out`; "mesh: {ici: {fsdp: 2}}" becomes mesh.ici.fsdp.
  void assign(const std::string& pointer, const std::string& word, const spec::Json& value,
              std::vector<Assignment>& out);
  // A mapping of keys and values, in which no field has two values.
  std::vector<Assignment> assignments(const std::string& pointer, const spec::Json& json);

  // A plain value of the axis's field, or {name: ..., set: {...}}.
  AxisValue axis_value(const std::string& pointer, const Axis& axis, const spec::Json& value);
  Axis axis(const std::string& pointer, const std::string& name, const spec::Json& values);

  // A mapping of keys, or of the axes that were read so far, to the values that match.
  When when(const std::string& pointer, const spec::Json& json) const;

  // Number of assignments that were read.
  std::size_t count() const { return next_id_; }

 private:
  Condition condition(const std::string& pointer, const std::string& word, const spec::Json& json) const;
  void check_value(const std::string& pointer, const std::string& word, const RunKey& key,
                   const spec::Json& value) const;
  // Returns whether all keys of an inline model are known and all values are allowed.
  bool check_model(const std::string& pointer, const spec::Json& model) const;
  void check_one_meaning(const std::vector<Assignment>& set) const;

  void check_settable(const std::string& pointer, const std::string& word, const RunKey& key) const;
  void add_values(Axis& axis, const spec::Json& values);

  const YamlDocument& document_;
  Mistakes& mistakes_;
  const MatrixParts& parts_;
  std::size_t next_id_ = 0;
};

}  // namespace perfbench::harness
