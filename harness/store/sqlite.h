// SQLite with owning types and typed errors. Only sqlite.cpp includes SQLite's C interface.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace perfbench::harness {

// Errors for which the user has different remedies: another process uses the database, it may not be written, it is
// broken, the disk is full, or a limit on file sizes was reached.
enum class StoreFault { busy, read_only, not_a_database, no_shared_memory, constraint, disk_full, file_limit, other };

class StoreError : public std::runtime_error {
 public:
  StoreError(StoreFault fault, const std::string& message) : std::runtime_error(message), fault_(fault) {}
  StoreFault fault() const { return fault_; }

 private:
  StoreFault fault_;
};

// immutable: for a file that nobody writes, in a folder where the log of a read_only connection cannot be kept.
enum class OpenMode { immutable, read_only, read_write };

class Connection {
 public:
  // read_write creates the file. A writer that finds the database locked waits up to `busy_ms`.
  Connection(const std::filesystem::path& path, OpenMode mode, int busy_ms);
  void execute(const std::string& sql);  // one or more statements without results
  // Whether the file system offers memory that processes share, which a write-ahead log needs. Using it may still fail.
  bool has_shared_memory() const;
  std::int64_t last_insert_key() const;
  std::int64_t changes() const;
  const std::filesystem::path& path() const { return path_; }
  // Rows that readers of this connection could not understand and skipped (stored_row.h), without duplicates. Commands
  // that show the results report them.
  void leave_out(const std::string& why) const { left_out_->insert(why); }
  const std::set<std::string>& left_out() const { return *left_out_; }
  void forget_left_out() const { left_out_->clear(); }
  sqlite3* handle() const { return handle_.get(); }
  [[noreturn]] void fail(int code, std::string_view doing) const;  // throws StoreError with SQLite's own message

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  class IdleStatements;
  std::filesystem::path path_;
  std::unique_ptr<sqlite3, Close> handle_;
  std::shared_ptr<std::set<std::string>> left_out_ = std::make_shared<std::set<std::string>>();
  std::shared_ptr<IdleStatements> idle_;  // shared with the statements, which return to it
};

// Copies all pages to a file that does not exist, by SQLite's online backup: the copy has the state of one moment, and
// other connections may write meanwhile. The copy has no write-ahead log. Throws StoreError.
void copy_database(const Connection& from, const std::filesystem::path& to);

// A prepared statement. Preparing one costs as much as executing it dozens of times, so the connection keeps statements
// for the next use of the same text. As in SQLite, parameters count from 1 and columns from 0. A NaN is bound as NULL.
class Statement {
 public:
  Statement(const Connection& connection, const std::string& sql);

  void bind(int parameter, std::int64_t value);
  void bind(int parameter, double value);
  void bind(int parameter, std::string_view value);  // copied
  void bind(int parameter, std::nullptr_t);
  template <class T>
  void bind(int parameter, const std::optional<T>& value) {
    value ? bind(parameter, *value) : bind(parameter, nullptr);
  }

  bool step();  // true while there is a row
  void reset();

  std::int64_t integer(int column) const;
  double real(int column) const;  // NaN for NULL
  std::string text(int column) const;
  bool is_null(int column) const;
  int columns() const;

  // Starts again with these parameters.
  template <class... T>
  Statement& with(const T&... values) {
    reset();
    int parameter = 0;
    (bind(++parameter, values), ...);
    return *this;
  }
  // Executes once, to the end.
  template <class... T>
  void run(const T&... values) {
    with(values...);
    while (step()) continue;
    reset();
  }

 private:
  void check(int code, std::string_view doing) const;
  struct GiveBack {
    std::shared_ptr<Connection::IdleStatements> idle;
    void operator()(sqlite3_stmt* statement) const;
  };
  const Connection* connection_;
  std::unique_ptr<sqlite3_stmt, GiveBack> statement_;
};

// While it exists, all reads see one state of the database, even if others write, and use a single lock. Has no effect
// without a write-ahead log, because a writer would have to wait. For a connection without a transaction.
class Snapshot {
 public:
  explicit Snapshot(const Connection& connection);
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

 private:
  const Connection* connection_ = nullptr;
};

// Takes the write lock at once, so that a transaction cannot fail halfway because it does not get it. Rolls back unless
// committed. Inside another transaction of the same connection it is a part of that one and is committed with it.
class Transaction {
 public:
  explicit Transaction(Connection& connection);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Connection* connection_;
  bool is_inner_;
};

}  // namespace perfbench::harness
