// Machines that push runs to a server, over real sockets.
#include "harness/app/push.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <future>
#include <thread>

#include "harness/app/http_client.h"
#include "harness/execute/process.h"
#include "harness/serve/push_receiver.h"
#include "harness/serve/server.h"
#include "harness/store/archive/transfer.h"
#include "harness/store/attempts/ingest.h"
#include "harness/store/attempts/prune.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/tag_ledger.h"
#include "harness/system/input_error.h"
#include "harness/system/sha256.h"
#include "tests/harness/example_run.h"
#include "workloads/spec/fields_json.h"

namespace perfbench::harness {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A server in a thread of its own.
class RunningServer {
 public:
  explicit RunningServer(ServerOptions options) : options_(std::move(options)) {
    std::promise<std::string> ready;
    thread_ = std::thread([this, &ready] {
      try {
        serve(options_, {}, stop_.fd(), [&ready](const std::string& url) { ready.set_value(url); });
      } catch (...) {
        ready.set_exception(std::current_exception());
      }
    });
    try {
      url_ = ready.get_future().get();
    } catch (...) {
      thread_.join();
      throw;
    }
  }
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;
  ~RunningServer() {
    stop_.add();
    thread_.join();
  }
  const std::string& url() const { return url_; }

 private:
  ServerOptions options_;
  Event stop_;
  std::string url_;
  std::thread thread_;
};

class Pushes : public testing::Test {
 protected:
  void SetUp() override {
    for (const auto* machine : {"node1", "node2"}) lines_ += new_machine_key_line(machine) + "\n";
    write_keys(lines_);
    keys_ = read_machine_keys(scratch_ / "keys");
  }
  void write_keys(const std::string& text) const {
    write_text(scratch_ / "keys", text);
    fs::permissions(scratch_ / "keys", fs::perms::owner_read | fs::perms::owner_write);
  }
  static constexpr int kOutsideSweeps = 9;

  // Adds an attempt to a database, in a sweep of its own.
  void add(const std::string& db, int number) const {
    ExampleRun one{.attempt = example_attempt("c", number)};
    if (number != kOutsideSweeps) one.attempt.sweep_id = "20260101T000000Z-" + db + std::to_string(number);
    one.attempt.started_utc = "2026-01-01T00:00:" + std::to_string(10 + number) + "Z";
    const auto folder = scratch_ / (db + ".runs" + std::to_string(number));
    write_run_directory(folder, one);
    auto store = open_database(scratch_ / db);
    ingest_run_directory(store, folder);
  }
  std::int64_t count(const std::string& query) const {
    const auto db = open_database(team_, {.mode = OpenMode::read_only});
    Statement row(db, query);
    row.step();
    return row.integer(0);
  }
  PushRuns request(const RunningServer& server, const std::string& db, std::size_t key = 0) const {
    return {.url = server.url(), .db = scratch_ / db, .key = keys_.at(key), .patience = std::chrono::seconds(20)};
  }
  ServerOptions options() const { return {.db = team_, .port = 0, .accept = scratch_ / "keys"}; }
  // A file of `perfbench export`, its hash and its bytes.
  std::pair<std::string, std::string> exported(const std::string& db) const {
    const auto file = scratch_ / (db + ".export");
    export_runs({.db = scratch_ / db, .file = file, .perfbench_version = "test"});
    std::ifstream in(file, std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(in), {});
    return {sha256_hex(bytes), bytes};
  }
  static PushStatus status_of(const PushReceiver::Reply& reply) {
    return spec::fields_from_json<PushStatus>(spec::parse_json(reply.text), spec::Missing::is_error);
  }
  // The status of a complete file, once the server has decided about it.
  static PushStatus decided(PushReceiver& receiver, const std::string& machine, const std::string& hash) {
    while (true) {
      const auto status = status_of(receiver.look(machine, hash));
      if (status.state != PushState::waiting) return status;
      std::this_thread::yield();
    }
  }

  ScratchFolder scratch_;
  const fs::path team_ = scratch_ / "team.db";
  std::string lines_;
  std::vector<MachineKey> keys_;
  Event no_cancel_;
};

TEST_F(Pushes, RunsOfTwoMachinesGatherOnceEach) {
  add("a.db", 1);
  add("a.db", kOutsideSweeps);
  add("b.db", 3);
  const RunningServer server(options());
  const auto first = push_runs(request(server, "a.db"), no_cancel_.fd());
  EXPECT_EQ(first.files, 2);
  EXPECT_EQ(first.added, 2);
  EXPECT_EQ(push_runs(request(server, "b.db", 1), no_cancel_.fd()).added, 1);
  const auto again = push_runs(request(server, "a.db"), no_cancel_.fd());
  EXPECT_EQ(again.files, 0) << "a second export of the same runs has the same bytes";
  EXPECT_EQ(again.known, 2);
  EXPECT_EQ(count("SELECT count(*) FROM attempts"), 3);
  EXPECT_EQ(count("SELECT count(*) FROM pushed_attempts JOIN pushes USING (push_key) JOIN attempts USING (attempt_key) "
                  "WHERE machine = 'node1' AND attempt IN (1, 9) OR machine = 'node2' AND attempt = 3"),
            3);
  EXPECT_TRUE(fs::is_empty(team_.string() + ".incoming"));
  const auto key = count("SELECT attempt_key FROM attempts WHERE attempt = 3");
  EXPECT_EQ(origin_of_attempt(open_database(team_), key), "pushed by node2");
  EXPECT_EQ(origin_of_attempt(open_database(scratch_ / "b.db"), 1), "");

  add("a.db", 4);
  const auto more = push_runs(request(server, "a.db"), no_cancel_.fd());
  EXPECT_THAT((std::vector{more.files, more.known, more.added}), ElementsAre(1, 2, 1));
  // Another file with the same attempts doubles nothing.
  auto same = request(server, "a.db", 1);
  same.selection = {.kind = SelectionKind::run, .id = read_attempt(scratch_ / "a.db.runs1")->run_id};
  EXPECT_EQ(push_runs(same, no_cancel_.fd()).present, 3);
  EXPECT_EQ(count("SELECT count(*) FROM attempts"), 4);
}

TEST_F(Pushes, ManyMachinesAtOnceLoseAndDoubleNothingWhilePagesAreServed) {
  constexpr int kMachines = 12;
  constexpr int kSweeps = 3;
  std::string lines;
  for (int i = 0; i < kMachines; ++i) {
    lines += new_machine_key_line("m" + std::to_string(i)) + "\n";
    for (int n = 1; n <= kSweeps; ++n) add("m" + std::to_string(i) + ".db", n);
  }
  write_keys(lines);
  keys_ = read_machine_keys(scratch_ / "keys");
  const RunningServer server(options());
  std::vector<std::future<PushReport>> reports;
  for (std::size_t i = 0; i < kMachines; ++i) {
    reports.push_back(std::async(std::launch::async, [&, i] {
      return push_runs(request(server, "m" + std::to_string(i) + ".db", i), no_cancel_.fd());
    }));
  }
  const auto page = send_http({.url = server.url(), .most_bytes = 1 << 24});
  EXPECT_LT(page.status, 300) << page.body;
  for (auto& report : reports) EXPECT_EQ(report.get().added, kSweeps);
  EXPECT_EQ(count("SELECT count(*) FROM attempts"), kMachines * kSweeps);
  EXPECT_EQ(count("SELECT count(DISTINCT machine) FROM pushes"), kMachines);
}

TEST_F(Pushes, AnotherServerContinuesWhatABrokenOneHasReceived) {
  add("a.db", 1);
  const auto [hash, bytes] = exported("a.db");
  const auto size = static_cast<std::int64_t>(bytes.size());
  const auto half = size / 2;
  {
    PushReceiver receiver(team_, keys_, {});
    EXPECT_EQ(status_of(receiver.look("node1", hash)).have, 0);
    EXPECT_EQ(status_of(receiver.take("node1", hash, 0, size, bytes.substr(0, static_cast<std::size_t>(half)))).have,
              half);
  }
  PushReceiver receiver(team_, keys_, {});
  EXPECT_EQ(status_of(receiver.look("node1", hash)).have, half);
  // A part that was sent twice, because its answer got lost, is not taken twice.
  EXPECT_EQ(status_of(receiver.take("node1", hash, 0, size, bytes.substr(0, static_cast<std::size_t>(half)))).have,
            half);
  receiver.take("node1", hash, half, size, bytes.substr(static_cast<std::size_t>(half)));
  EXPECT_EQ(decided(receiver, "node1", hash).added, 1);
}

TEST_F(Pushes, ACompleteFileOfAStoppedServerIsTakenByTheNextOne) {
  add("a.db", 1);
  const auto [hash, bytes] = exported("a.db");
  fs::create_directories(team_.string() + ".incoming");
  write_text(team_.string() + ".incoming/" + hash + "." + std::to_string(bytes.size()) + ".node1", bytes);
  PushReceiver receiver(team_, keys_, {});
  EXPECT_EQ(decided(receiver, "node1", hash).state, PushState::stored);
}

TEST_F(Pushes, AFileThatIsNoExportIsRefusedWithoutThePathsOfTheServer) {
  PushReceiver receiver(team_, keys_, {});
  const std::string bytes = "this is no export";
  const auto size = static_cast<std::int64_t>(bytes.size());
  receiver.take("node1", sha256_hex(bytes), 0, size, bytes);
  const auto refused = decided(receiver, "node1", sha256_hex(bytes));
  EXPECT_EQ(refused.state, PushState::refused);
  EXPECT_THAT(refused.reason, testing::AllOf(HasSubstr("the export"), Not(HasSubstr(team_.parent_path().string()))));
  const std::string other(64, 'a');
  receiver.take("node1", other, 0, size, bytes);
  EXPECT_THAT(decided(receiver, "node1", other).reason, HasSubstr("do not have the hash of their name"));
  EXPECT_EQ(count("SELECT count(*) FROM pushes"), 0);
}

TEST_F(Pushes, ARefusedFileKeepsNoOtherFromBeingSent) {
  add("a.db", 1);
  add("a.db", 2);
  add("a.db", 3);
  auto limited = options();
  {
    auto store = open_database(scratch_ / "a.db");
    store.execute("UPDATE attempts SET started_utc = 'no time' WHERE attempt = 2");
  }
  const RunningServer server(limited);
  const auto report = push_runs(request(server, "a.db"), no_cancel_.fd());
  EXPECT_EQ(report.added, 2);
  EXPECT_EQ(report.refused.size() + report.left_out.size(), 1U);

  limited.push.most_bytes = 100;
  const RunningServer small(limited);
  const auto too_large = push_runs(request(small, "a.db"), no_cancel_.fd());
  EXPECT_EQ(too_large.known, 2) << "it has them already";
  add("a.db", 4);
  add("a.db", 5);
  EXPECT_THAT(push_runs(request(small, "a.db"), no_cancel_.fd()).refused,
              testing::IsSupersetOf({HasSubstr("takes at most 100"), HasSubstr("takes at most 100")}));
}

TEST_F(Pushes, TagsOfTwoMachinesDoNotMeet) {
  add("a.db", 1);
  add("b.db", 2);
  const RunningServer server(options());
  for (const std::size_t i : {0U, 1U}) {
    const auto db = i == 0 ? "a.db" : "b.db";
    auto store = open_database(scratch_ / db);
    record_tag(store, {.name = "best",
                       .run_id = read_attempt(scratch_ / (std::string(db) + ".runs" + std::to_string(i + 1)))->run_id,
                       .attempt_key = {},
                       .author = db,
                       .created_utc = "2026-01-01T00:00:00Z"});
    const auto report = push_runs(request(server, db, i), no_cancel_.fd());
    EXPECT_EQ(report.added, 1);
    EXPECT_THAT(report.refused, IsEmpty());
  }
  EXPECT_EQ(count("SELECT count(*) FROM tags"), 0);
  // Nor does the server take them from a file that has them.
  PushReceiver receiver(team_, keys_, {});
  const auto [hash, bytes] = exported("a.db");
  receiver.take("node1", hash, 0, static_cast<std::int64_t>(bytes.size()), bytes);
  EXPECT_THAT(decided(receiver, "node1", hash).reason, HasSubstr("may have runs and comparisons only"));
}

TEST_F(Pushes, AFileMayComeAgainAfterItsRefusal) {
  add("a.db", 1);
  const auto [hash, bytes] = exported("a.db");
  const auto size = static_cast<std::int64_t>(bytes.size());
  PushReceiver receiver(team_, keys_, {});
  const auto other = std::string(bytes.size(), 'x');
  receiver.take("node1", hash, 0, size, other);
  EXPECT_EQ(decided(receiver, "node1", hash).state, PushState::refused);
  receiver.take("node1", hash, 0, size, bytes);
  EXPECT_EQ(decided(receiver, "node1", hash).state, PushState::stored);
}

TEST_F(Pushes, AFaultOfTheServersDatabaseRefusesNoFile) {
  add("a.db", 1);
  const auto [hash, bytes] = exported("a.db");
  const auto size = static_cast<std::int64_t>(bytes.size());
  PushReceiver receiver(team_, keys_, {.again = std::chrono::milliseconds(1)});
  receiver.take("node1", hash, 0, size, bytes.substr(0, bytes.size() - 1));
  fs::rename(team_, scratch_ / "away.db");
  receiver.take("node1", hash, size - 1, size, bytes.substr(bytes.size() - 1));
  PushStatus status;
  while (status.reason.empty()) status = status_of(receiver.look("node1", hash));
  EXPECT_EQ(status.state, PushState::waiting);
  EXPECT_THAT(status.reason, testing::AllOf(HasSubstr("team.db"), Not(HasSubstr(team_.parent_path().string()))));
  fs::rename(scratch_ / "away.db", team_);
  EXPECT_EQ(decided(receiver, "node1", hash).state, PushState::stored);
}

TEST_F(Pushes, SizesAreLimited) {
  PushReceiver receiver(team_, keys_, {.most_bytes = 100, .most_waiting_bytes = 100});
  const std::string a(64, 'a');
  const std::string b(64, 'b');
  EXPECT_EQ(receiver.take("node1", a, 0, 101, "x").status, 413);
  EXPECT_EQ(receiver.take("node1", a, 0, 100, "x").status, 200);
  const auto full = receiver.take("node1", b, 0, 100, "x");
  EXPECT_EQ(full.status, 429);
  EXPECT_GT(full.retry_after_s, 0);
  EXPECT_EQ(receiver.take("node2", b, 0, 100, "x").status, 200) << "each machine has its own share";
  for (const auto& [offset, size] : {std::pair{-1, 10}, {0, 0}, {10, 10}}) {
    EXPECT_EQ(receiver.take("node1", a, offset, size, "x").status, 400);
  }
  EXPECT_EQ(receiver.take("node1", a, 1, 99, "x").status, 400) << "another size of the same file";
}

TEST_F(Pushes, PartsOfAnInterruptedPushDoNotUseUpTheShareOfAMachine) {
  PushReceiver receiver(team_, keys_, {.most_waiting_bytes = 100, .idle_part_age = std::chrono::minutes(0)});
  receiver.take("node1", std::string(64, 'a'), 0, 100, "x");
  receiver.take("node2", std::string(64, 'a'), 0, 100, "x");
  EXPECT_EQ(receiver.take("node1", std::string(64, 'b'), 0, 100, "x").status, 200);
  EXPECT_EQ(status_of(receiver.look("node1", std::string(64, 'a'))).have, 0);
  EXPECT_EQ(status_of(receiver.look("node2", std::string(64, 'a'))).have, 1) << "it may still be sent";
}

TEST_F(Pushes, OldPartsAreDeleted) {
  {
    PushReceiver receiver(team_, keys_, {});
    receiver.take("node1", std::string(64, 'a'), 0, 100, "x");
  }
  PushReceiver receiver(team_, keys_, {.part_age = std::chrono::hours(0)});
  EXPECT_EQ(status_of(receiver.look("node1", std::string(64, 'a'))).have, 0);
  EXPECT_TRUE(fs::is_empty(team_.string() + ".incoming"));
}

TEST_F(Pushes, OnlyASignatureOfAKnownMachineAndOfNowIsAccepted) {
  const PushReceiver receiver(team_, keys_, {});
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  const auto head = [&](const MachineKey& key, std::int64_t time_s) {
    const SignedParts parts{.method = "POST", .target = "/push/1", .time_s = time_s, .body = "body"};
    return PushRequestHead{.method = "POST",
                           .target = "/push/1",
                           .machine = key.machine,
                           .time = std::to_string(time_s),
                           .signature = request_signature(key, parts)};
  };
  EXPECT_EQ(receiver.why_not_signed(head(keys_[0], now), "body"), "");
  EXPECT_THAT(receiver.why_not_signed(head(keys_[0], now), "body2"), HasSubstr("no key of that machine"));
  auto other = head(keys_[0], now);
  other.target = "/push/2";
  EXPECT_THAT(receiver.why_not_signed(other, "body"), Not(IsEmpty()));
  other = head(keys_[0], now);
  other.machine = "node2";
  EXPECT_THAT(receiver.why_not_signed(other, "body"), Not(IsEmpty()));
  other.machine = "stranger";
  other.signature = "";
  EXPECT_THAT(receiver.why_not_signed(other, "body"), Not(IsEmpty())) << "no key is no signature of any";
  EXPECT_THAT(receiver.why_not_signed(head(keys_[0], now - 2 * kSignatureSeconds), "body"), HasSubstr("clock differs"));
  EXPECT_THAT(receiver.why_not_signed({}, "body"), HasSubstr("not signed"));
}

TEST_F(Pushes, AMachineThatTheServerDoesNotKnowIsToldSo) {
  add("a.db", 1);
  const RunningServer server(options());
  auto stranger = request(server, "a.db");
  stranger.key.key = std::string(64, '0');
  EXPECT_THAT([&] { push_runs(stranger, no_cancel_.fd()); },
              testing::ThrowsMessage<InputError>(HasSubstr("status 403: this server has no key of that machine")));
  const auto read_only = RunningServer({.db = team_, .port = 0});
  EXPECT_THAT([&] { push_runs(request(read_only, "a.db"), no_cancel_.fd()); }, testing::Throws<InputError>());
}

TEST_F(Pushes, AServerThatIsNotThereIsWaitedForOnlySoLong) {
  add("a.db", 1);
  PushRuns nobody{
      .url = "http://127.0.0.1:1", .db = scratch_ / "a.db", .key = keys_[0], .patience = std::chrono::seconds(0)};
  EXPECT_THAT([&] { push_runs(nobody, no_cancel_.fd()); },
              testing::ThrowsMessage<InputError>(HasSubstr("has made no progress for 0 s: Couldn't connect")));
  nobody.patience = std::chrono::hours(1);
  Event cancel;
  cancel.add();
  EXPECT_TRUE(push_runs(nobody, cancel.fd()).cancelled);
  nobody.url = "ftp://x";
  EXPECT_THAT([&] { push_runs(nobody, no_cancel_.fd()); },
              testing::ThrowsMessage<InputError>(HasSubstr("not an address")));
}

TEST_F(Pushes, PrunedRunsTakeTheirSenderAlong) {
  add("a.db", 1);
  const auto [hash, bytes] = exported("a.db");
  auto db = open_database(team_);
  import_push(team_, scratch_ / "a.db.export",
              {.sha256 = hash, .machine = "node1", .received_utc = "2026-01-01T00:00:00Z"});
  prune(db, {.rule = {.keep_days = 1}, .act = PruneDo::remove, .now_utc = "2027-01-01T00:00:00Z"});
  EXPECT_EQ(count("SELECT count(*) FROM attempts"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM pushed_attempts"), 0);
}

TEST_F(Pushes, KeysThatOthersMayReadOrThatAreBrokenAreRefused) {
  const auto complaint = [&](const std::string& text) -> std::string {
    write_keys(text);
    try {
      read_machine_keys(scratch_ / "keys");
    } catch (const InputError& e) {
      return e.what();
    }
    return "no complaint";
  };
  const auto key = lines_.substr(6, 64);
  EXPECT_EQ(complaint("# comment\n\n" + lines_), "no complaint");
  EXPECT_THAT(complaint("node1 " + key + "\nnode1 " + key), HasSubstr("keys:2: 'node1' already has a key"));
  for (const auto& text : {"node1", "node1 123", "node1 123 4"}) {
    EXPECT_THAT(complaint(text), HasSubstr("keys:1: after the machine there must be one key of 64 hex digits"));
  }
  EXPECT_THAT(complaint("../x " + key),
              testing::AllOf(HasSubstr("keys:1: the line does not begin with the name"), Not(HasSubstr(key))));
  EXPECT_THAT(complaint("# nothing"), HasSubstr("has no key"));
  write_keys(lines_);
  fs::permissions(scratch_ / "keys", fs::perms::group_read, fs::perm_options::add);
  EXPECT_THAT([&] { read_machine_keys(scratch_ / "keys"); },
              testing::ThrowsMessage<InputError>(HasSubstr("other users may read or change the keys")));
  EXPECT_THAT([] { new_machine_key_line("a b"); },
              testing::ThrowsMessage<InputError>(HasSubstr("cannot name a machine")));
}

}  // namespace
}  // namespace perfbench::harness
