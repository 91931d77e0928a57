#include "harness/store/sqlite.h"

#include <sqlite3.h>

#include <cctype>
#include <cerrno>
#include <limits>
#include <unordered_map>
#include <utility>

namespace perfbench::harness {
namespace {

// `error` is the errno of the system call behind a failed read or write, or 0. Growing the shared memory of a
// write-ahead log on a full disk is such a failure: SQLite has a code for a full disk only when it writes the log
// itself.
StoreFault fault_of(int code, int error) {
  const int primary = code & 0xff;  // of an extended code
  if (primary == SQLITE_FULL) return StoreFault::disk_full;
  const bool has_error = primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN;
  if (has_error && (error == ENOSPC || error == EDQUOT)) return StoreFault::disk_full;
  if (has_error && error == EFBIG) return StoreFault::file_limit;
  switch (code) {
    case SQLITE_IOERR_SHMOPEN:
    case SQLITE_IOERR_SHMSIZE:
    case SQLITE_IOERR_SHMLOCK:
    case SQLITE_IOERR_SHMMAP:
      return StoreFault::no_shared_memory;
    default:
      break;
  }
  switch (primary) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return StoreFault::busy;
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return StoreFault::read_only;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return StoreFault::not_a_database;
    case SQLITE_CONSTRAINT:
      return StoreFault::constraint;
    default:
      return StoreFault::other;
  }
}

const char* advice(StoreFault fault) {
  switch (fault) {
    case StoreFault::busy:
      return "; another process uses the database: try again when it is done";
    case StoreFault::read_only:
      return "; make the file and its folder writable, or name another one with --db";
    case StoreFault::not_a_database:
      return "; restore the file, or build a new one from run directories with `perfbench ingest`";
    case StoreFault::no_shared_memory:
      return "; its file system has no shared memory for processes: copy the database to a local disk";
    case StoreFault::disk_full:
      return "; the disk of the database is full: free some space, or name a database on another one with --db";
    case StoreFault::file_limit:
      return "; a limit on the size of files was reached: raise it (ulimit -f)";
    default:
      return "";
  }
}

const char* uri_parameter(OpenMode mode) {
  switch (mode) {
    case OpenMode::immutable:
      return "?immutable=1";
    case OpenMode::read_only:
      return "?mode=ro";
    case OpenMode::read_write:
      break;
  }
  return "?mode=rwc";
}

// RFC 8089 with SQLite's parameters; all characters that could have a meaning in a URI are escaped.
std::string uri_of(const std::filesystem::path& path, OpenMode mode) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '/' || c == '.' || c == '-' || c == '_') {
      uri += c;
    } else {
      uri += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return uri + uri_parameter(mode);
}

}  // namespace

// Statements that are prepared, reset and without parameters. A statement in use is not among them.
class Connection::IdleStatements {
 public:
  IdleStatements() = default;
  ~IdleStatements() {
    for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  }
  IdleStatements(const IdleStatements&) = delete;
  IdleStatements& operator=(const IdleStatements&) = delete;

  sqlite3_stmt* take(const std::string& sql) {
    const auto found = statements_.extract(sql);
    return found.empty() ? nullptr : found.mapped();
  }
  void give_back(sqlite3_stmt* statement) {
    sqlite3_reset(statement);  // repeats the error of the last step, which was already thrown
    sqlite3_clear_bindings(statement);
    const bool kept = statements_.size() < kMost && statements_.emplace(sqlite3_sql(statement), statement).second;
    if (!kept) sqlite3_finalize(statement);
  }

 private:
  static constexpr std::size_t kMost = 128;
  std::unordered_map<std::string, sqlite3_stmt*> statements_;
};

void Connection::Close::operator()(sqlite3* handle) const {
  sqlite3_close_v2(handle);
}

Connection::Connection(const std::filesystem::path& path, OpenMode mode, int busy_ms)
    : path_(path), idle_(std::make_shared<IdleStatements>()) {
  const int access = mode == OpenMode::read_write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  const int flags = access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI;
  const std::string name = uri_of(path, mode);
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) fail(code, "opening it");
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, busy_ms);
}

void Connection::fail(int code, std::string_view doing) const {
  const auto fault = fault_of(code, handle_ ? sqlite3_system_errno(handle_.get()) : 0);
  const char* what = handle_ ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code);
  throw StoreError(fault, "[store] " + path_.string() + ": " + std::string(doing) + " failed: " + what + advice(fault));
}

void Connection::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code, "'" + sql.substr(0, sql.find('\n')) + "'");
}

bool Connection::has_shared_memory() const {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  return file != nullptr && file->pMethods != nullptr && file->pMethods->iVersion >= 2 &&
         file->pMethods->xShmMap != nullptr;
}

std::int64_t Connection::last_insert_key() const {
  return sqlite3_last_insert_rowid(handle_.get());
}

std::int64_t Connection::changes() const {
  return sqlite3_changes64(handle_.get());
}

void copy_database(const Connection& from, const std::filesystem::path& to) {
  constexpr int kBusyMs = 30'000;
  Connection copy(to, OpenMode::read_write, kBusyMs);
  auto* backup = sqlite3_backup_init(copy.handle(), "main", from.handle(), "main");
  if (backup == nullptr) copy.fail(sqlite3_errcode(copy.handle()), "beginning the copy");
  // In one step: a copy in several steps would begin again whenever another process writes.
  int code = SQLITE_BUSY;
  for (int waited_ms = 0; (code == SQLITE_BUSY || code == SQLITE_LOCKED) && waited_ms <= kBusyMs; waited_ms += 100) {
    code = sqlite3_backup_step(backup, -1);
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED) sqlite3_sleep(100);
  }
  sqlite3_backup_finish(backup);
  if (code != SQLITE_DONE) copy.fail(code, "copying " + from.path().string());
  copy.execute("PRAGMA journal_mode = DELETE");
}

void Statement::GiveBack::operator()(sqlite3_stmt* statement) const {
  idle->give_back(statement);
}

Statement::Statement(const Connection& connection, const std::string& sql)
    : connection_(&connection), statement_(connection.idle_->take(sql), {connection.idle_}) {
  if (statement_) return;
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(connection.handle(), sql.c_str(), static_cast<int>(sql.size() + 1),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  statement_.reset(statement);
  check(code, "'" + sql + "'");
}

void Statement::check(int code, std::string_view doing) const {
  if (code != SQLITE_OK) connection_->fail(code, doing);
}

void Statement::bind(int parameter, std::int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), parameter, value), "binding an integer");
}
void Statement::bind(int parameter, double value) {
  check(sqlite3_bind_double(statement_.get(), parameter, value), "binding a number");
}
void Statement::bind(int parameter, std::string_view value) {
  const char* data = value.data() == nullptr ? "" : value.data();  // a null pointer would bind NULL
  check(sqlite3_bind_text64(statement_.get(), parameter, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8),
        "binding text");
}
void Statement::bind(int parameter, std::nullptr_t) {
  check(sqlite3_bind_null(statement_.get(), parameter), "binding NULL");
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  const std::string sql = sqlite3_sql(statement_.get());
  connection_->fail(code, "'" + sql.substr(0, 60) + "'");
}

void Statement::reset() {
  sqlite3_reset(statement_.get());  // repeats the error of the last step, which was already thrown
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}
double Statement::real(int column) const {
  if (is_null(column)) return std::numeric_limits<double>::quiet_NaN();
  return sqlite3_column_double(statement_.get(), column);
}
std::string Statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (data == nullptr) return {};
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}
bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}
int Statement::columns() const {
  return sqlite3_column_count(statement_.get());
}

Snapshot::Snapshot(const Connection& connection) {
  Statement mode(connection, "PRAGMA journal_mode");
  if (!mode.step() || mode.text(0) != "wal") return;
  mode.reset();
  Statement(connection, "BEGIN").step();
  connection_ = &connection;
}
Snapshot::~Snapshot() {
  if (connection_ == nullptr) return;
  sqlite3_exec(connection_->handle(), "COMMIT", nullptr, nullptr, nullptr);  // nothing was written, so this cannot fail
}

Transaction::Transaction(Connection& connection)
    : connection_(&connection), is_inner_(sqlite3_get_autocommit(connection.handle()) == 0) {
  connection.execute(is_inner_ ? "SAVEPOINT inner_transaction" : "BEGIN IMMEDIATE");
}
void Transaction::commit() {
  connection_->execute(is_inner_ ? "RELEASE inner_transaction" : "COMMIT");
  connection_ = nullptr;
}
Transaction::~Transaction() {
  if (connection_ == nullptr) return;
  // A failed COMMIT or a full disk may have ended the transaction already; then there is nothing left to undo.
  const auto* undo = is_inner_ ? "ROLLBACK TO inner_transaction; RELEASE inner_transaction" : "ROLLBACK";
  sqlite3_exec(connection_->handle(), undo, nullptr, nullptr, nullptr);
}

}  // namespace perfbench::harness
