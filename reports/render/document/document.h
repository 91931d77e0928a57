// A timeline as data of a document (document.h): lanes of spans.
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
  std::string kind;  // spans of the same kind look alike
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// Spans of a lane that are nested or overlap are drawn below each other.
struct TimelineLane {
  std::string name;
  std::vector<TimelineSpan> spans;  // sorted by start; of two that begin together the longer one comes first
  bool repeats_others = false;      // shows spans of other lanes again, which a search must not find twice
};

struct Timeline {
  std::string key;
  std::string title;
  std::vector<TimelineLane> lanes;
  std::vector<std::string> coloured = {};  // kinds with a colour, in the order of the colours; others are grey
};

// The output of a command as blocks. A command fills a document once; for each format there is one function that
// renders any document (render.h).
//
// Every text in a document is data, including names, reasons and log lines from outside. Only the renderer escapes it,
// once, as its format requires.
//
// Tone marks what should catch the reader's eye: it is a colour on a terminal, and nothing elsewhere.
enum class Tone { plain, good, bad, doubtful };

// The readers of a column. For people, identity and raw spread would clutter a table, but programs need them; programs
// also need one table of data that people see in several. A table that has no column for a reader does not exist for
// that reader. `pages` marks content for pages only, which can be selected there.
enum class Audience { everyone, programs, people, pages };

struct Column {
  std::string title;  // for people
  std::string key;    // for programs: including its unit, unique in its table
  Align align = Align::left;
  Audience audience = Audience::everyone;
  bool higher_is_better = false;  // for sorting, of a metric that the catalog does not have
  bool is_setting = false;        // describes what was run, so that people read a value that all rows share only once
};

// monostate if the value is unknown.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::string>>;

template <class T>
Value value_of(const std::optional<T>& value) {
  return value ? Value(*value) : Value();
}

// nullopt if it is not a number.
std::optional<double> as_number(const Value& value);

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
  std::vector<Cell> cells;              // one cell for each column
  std::vector<std::string> notes = {};  // footnotes; equal notes of several rows become one
};

struct Table {
  std::string key;  // its name for programs, unique in a document: "rows", "findings"
  std::vector<Column> columns;
  std::vector<Row> rows;
};

struct Heading {
  int level = 1;  // from 1
  std::string text;
  bool folded = false;                     // pages and Markdown show its section only after a click
  Audience audience = Audience::everyone;  // pages: the section has only charts, which other formats do not have
};
// The answer of a document in one line.
struct Headline {
  std::string text;
  Tone tone = Tone::plain;
};
// A number that a reader looks for before all others.
struct Card {
  std::string title;
  std::string value;        // with its unit
  std::string detail = {};  // what it belongs to, or what it is compared with
  Tone tone = Tone::plain;
};
// Only pages have cards, because tables have the same numbers.
struct Cards {
  std::vector<Card> cards;
};
// Where the content of a page comes from: "Date", "Machine", "Commit", "Command". Only pages show it.
struct Origin {
  std::vector<std::pair<std::string, std::string>> facts;
};
struct Paragraph {
  std::string text;
  Tone tone = Tone::plain;
};
struct List {
  std::vector<std::string> items;
};
// A remark about the output, shorter than a paragraph: for example what was left out, and how to see it.
struct Note {
  std::string text;
};
// An ordered series of numbers, for a line of heights. Charts appear in pages and in files of their own, timelines in
// pages; other formats have tables of the same data.
struct Series {
  std::string title;
  std::string unit;  // as in the metric catalog
  std::vector<double> values;
};

// A small chart (Chart::small) below its title, the newest value and its change. A click on it leads to a large chart.
struct SmallChart {
  Chart chart;
  std::string value;  // with its unit
  std::string change;
  Tone tone = Tone::plain;
  std::string opens;  // the key of that chart, which is in the same document
};
// Small charts beside each other, which share their axes. Only pages have them: tables have the same numbers, and files
// of charts have the large ones.
struct SmallCharts {
  std::string key;
  std::string caption;  // how to read them
  std::vector<SmallChart> charts;
};

using Block =
    std::variant<Heading, Headline, Origin, Cards, Paragraph, List, Note, Series, Chart, SmallCharts, Timeline, Table>;

// A choice that a page of a server offers, as a parameter of its address.
struct Control {
  std::string parameter;
  std::string title;
  std::string value = {};                 // the present one; empty: the default
  std::vector<std::string> choices = {};  // empty: any text
};

struct Document {
  std::vector<Block> blocks;
  // The heading of a page whose blocks begin with none. Text and files do not show it.
  std::string page_title = {};
  // Makes the JSON for programs with json_text(), if it has more than the rows of the tables; it owns the data for
  // that. Only the JSON renderer calls it, because for a long history it takes as long as all the rest. Empty: the
  // tables are complete.
  std::function<std::string()> json = {};
  std::vector<Control> controls = {};
  // Changes that a server may offer for the subject of the document: the names of the allowed next states.
  std::vector<std::string> actions = {};
  // This page of a server is a placeholder until the real one is made: it asks for that at once.
  bool to_come = false;
  // The content never changes: such a page is not requested again.
  bool lasting = false;

  template <class T>
  T& add(T block) {
    return std::get<T>(blocks.emplace_back(std::move(block)));
  }
  // Adds to the Origin of the document, or makes one below its title. An empty text adds nothing.
  void add_origin(const std::string& name, const std::string& text);
};

// The columns of a table that a reader sees: the indices of the columns for everyone and for `reader`.
std::vector<std::size_t> columns_for(const Table& table, Audience reader);

// The settings that people read above a table of several rows, because all rows share their values.
std::vector<std::size_t> shared_settings(const Table& table);
// "Precision: FP32; Sequence Length: 128", without those that no row has. Empty if there are none.
std::string shared_text(const Table& table);
// The columns that people read in the table itself.
std::vector<std::size_t> columns_of_rows(const Table& table);

// The notes of a table's rows, numbered in the order of first use. Rows with equal notes share one.
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
