// What ran when, in lanes: as data of a document (document.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "reports/render/chart/chart.h"
#include "reports/render/format/print.h"

namespace perfbench::reports {

struct TimelineSpan {
  std::string name;
  std::string kind;  // spans of one kind look alike
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// Spans of a lane that lie within one another, or overlap, are drawn below one another.
struct TimelineLane {
  std::string name;
  std::vector<TimelineSpan> spans;  // by their beginning, the longer one first
};

struct Timeline {
  std::string key;
  std::string title;
  std::vector<TimelineLane> lanes;
};

// What a command has to say, as blocks. A command fills a document once; each format has one function that renders any
// (render.h).
//
// Every text in a document is data, as it is: names, reasons and log lines of others too. A renderer escapes what its
// format needs, once, and nobody else does.
// What a reader's eye should find first; colour on a terminal, nothing elsewhere.
enum class Tone { plain, good, bad, doubtful };

// Who reads a column: people find identity and raw spread beside the table in the way, programs want them; and programs
// want one table of what people are shown in several. A table without a column for somebody is not there for them. What
// is for pages can be chosen there, and nobody else has it.
enum class Audience { everyone, programs, people, pages };

struct Column {
  std::string title;  // for people
  std::string key;    // for programs: with its unit, unique in its table
  Align align = Align::left;
  Audience audience = Audience::everyone;
};

// Nothing for what is not known.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::string>>;

template <class T>
Value value_of(const std::optional<T>& value) {
  return value ? Value(*value) : Value();
}

struct Cell {
  std::string text;  // for people: with digits and units (reports/format)
  Value value;       // for programs: raw, in the unit of the column's key
  Tone tone = Tone::plain;

  Cell() = default;
  Cell(std::string both) : text(both), value(std::move(both)) {}
  Cell(const char* both) : Cell(std::string(both)) {}
  Cell(std::string for_people, Value for_programs, Tone how = Tone::plain)
      : text(std::move(for_people)), value(std::move(for_programs)), tone(how) {}
};

struct Row {
  std::vector<Cell> cells;              // one for each column
  std::vector<std::string> notes = {};  // footnotes; those of several rows that say the same are one
};

struct Table {
  std::string key;  // what programs call its rows, unique in a document: "rows", "findings"
  std::vector<Column> columns;
  std::vector<Row> rows;
};

struct Heading {
  int level = 1;  // from 1
  std::string text;
};
struct Paragraph {
  std::string text;
  Tone tone = Tone::plain;
};
struct List {
  std::vector<std::string> items;
};
// A remark about what was shown, less than a paragraph: what was left out, how to see it.
struct Note {
  std::string text;
};
// A series of numbers in order, for a line of heights. A chart is drawn in pages and alone, a timeline in
// pages; others have their tables.
struct Series {
  std::string title;
  std::string unit;  // of the metric catalog
  std::vector<double> values;
};

using Block = std::variant<Heading, Paragraph, List, Note, Series, Chart, Timeline, Table>;

struct Document {
  std::vector<Block> blocks;
  // Makes the JSON of the same for programs with json_text(), where that is more than the rows of the tables; it holds
  // what it is made of. Only who renders JSON calls it: of a long history it takes as long as all the rest. Empty: the
  // tables are all there is to say.
  std::function<std::string()> json = {};
  // What a server that may change things offers to do about what the document is of: names of the states that may
  // follow.
  std::vector<std::string> actions = {};
  // Of a server's page in whose place there is another once it is made: it asks for that at once.
  bool to_come = false;
  // Of what does not change: such a page is not asked for again.
  bool lasting = false;

  template <class T>
  T& add(T block) {
    return std::get<T>(blocks.emplace_back(std::move(block)));
  }
};

// Which columns of a table somebody gets to see.
// The places of the columns for everyone and for `reader`.
std::vector<std::size_t> columns_for(const Table& table, Audience reader);

// Notes of a table's rows, numbered in the order of their first use: rows that say the same share one.
class Footnotes {
 public:
  // Counted from 1.
  std::size_t number(const std::string& note);
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::vector<std::string> notes_;
  std::unordered_map<std::string, std::size_t> numbers_;  // a report has a note for each of thousands of rows
};

}  // namespace perfbench::reports
