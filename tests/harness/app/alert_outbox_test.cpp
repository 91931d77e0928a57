#include "harness/store/ledgers/alert_outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/app/night/alert_delivery.h"
#include "harness/store/database.h"
#include "tests/harness/example_run.h"
#include "tests/harness/http_server.h"

namespace perfbench::harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using namespace std::chrono_literals;

const DeliveryResult kBusy{.outcome = DeliveryOutcome::try_again, .error = "HTTP status 503"};

// A store with a queue, a clock that advances only when something waits, and a receiver with scripted answers.
struct Queue {
  ScratchFolder scratch;
  Connection db = open_database(scratch / "a.db");
  std::string now = "2026-01-10T05:00:00Z";
  std::vector<std::chrono::seconds> waits;
  std::vector<DeliveryResult> script;  // the last one is repeated
  std::vector<std::string> sent;       // ids
  std::function<void()> while_sending = [] {};

  void queue(const std::string& id) { queue_message(db, id, "{\"text\":\"" + id + "\"}", now); }
  OutboxReport deliver(const RetryPolicy& policy = {}) {
    const Deliver receiver = [&](const std::string&, const std::string& id) {
      sent.push_back(id);
      while_sending();
      const auto result = script.front();
      if (script.size() > 1) script.erase(script.begin());
      return result;
    };
    const OutboxClock clock{.now_utc = [&] { return now; },
                            .wait = [&](std::chrono::seconds time) { waits.push_back(time); }};
    return deliver_outbox(db, receiver, clock, policy);
  }
};

TEST(Outbox, SendsEachMessageOnceInItsOrder) {
  Queue q;
  q.script = {{}};
  q.queue("a");
  q.queue("b");
  EXPECT_EQ(q.deliver().delivered, 2);
  EXPECT_EQ(q.deliver().delivered, 0);
  EXPECT_THAT(q.sent, ElementsAre("a", "b"));
  const auto delivered = load_outbox(q.db, MessageState::delivered);
  ASSERT_THAT(delivered, SizeIs(2));
  EXPECT_EQ(delivered[0].ended_utc, q.now);
  EXPECT_EQ(delivered[0].tries, 1);
}

TEST(Outbox, KnowsAMessageByItsIdEvenAfterDelivery) {
  Queue q;
  q.script = {{}};
  EXPECT_TRUE(queue_message(q.db, "a", "{}", q.now));
  EXPECT_FALSE(queue_message(q.db, "a", "{}", q.now));
  q.deliver();
  EXPECT_FALSE(queue_message(q.db, "a", "{}", q.now));
}

TEST(Outbox, WaitsTwiceAsLongEachTime) {
  Queue q;
  q.script = {kBusy, kBusy, kBusy, {}};
  q.queue("a");
  EXPECT_EQ(q.deliver({.tries_a_call = 5, .first_wait = 2s}).delivered, 1);
  EXPECT_THAT(q.waits, ElementsAre(2s, 4s, 8s));
}

TEST(Outbox, WaitsAsTheReceiverAsksUpToTheLongest) {
  Queue q;
  auto patient = kBusy;
  patient.retry_after = 7s;
  auto greedy = kBusy;
  greedy.retry_after = 3600s;
  q.script = {patient, greedy, kBusy, {}};
  q.queue("a");
  q.deliver({.tries_a_call = 5, .first_wait = 1s, .longest_wait = 30s});
  EXPECT_THAT(q.waits, ElementsAre(7s, 30s, 4s));
}

TEST(Outbox, SurvivesBeingOfflineUntilTheNextCall) {
  Queue q;
  q.script = {kBusy};
  q.queue("a");
  q.queue("b");
  const auto first = q.deliver();
  EXPECT_THAT(q.sent, ElementsAre("a", "a", "a"));  // b would get the same answer
  EXPECT_THAT(first.waiting, SizeIs(2));
  EXPECT_EQ(first.waiting[0].last_error, "HTTP status 503");
  q.script = {{}};
  EXPECT_EQ(q.deliver().delivered, 2);
}

TEST(Outbox, ARefusalIsNotRepeatedAndDoesNotKeepTheOthers) {
  Queue q;
  q.script = {{.outcome = DeliveryOutcome::refused, .error = "HTTP status 400"}, {}};
  q.queue("a");
  q.queue("b");
  const auto report = q.deliver();
  EXPECT_THAT(q.sent, ElementsAre("a", "b"));
  EXPECT_EQ(report.delivered, 1);
  ASSERT_THAT(report.waiting, SizeIs(1));
  EXPECT_EQ(report.waiting[0].tries, 1);
}

TEST(Outbox, GivesUpAfterTheLastTryAndSaysWhy) {
  Queue q;
  q.script = {kBusy};
  q.queue("a");
  const RetryPolicy policy{.tries_a_call = 3, .most_tries = 5};
  EXPECT_THAT(q.deliver(policy).given_up, SizeIs(0));
  const auto last = q.deliver(policy);
  ASSERT_THAT(last.given_up, SizeIs(1));
  EXPECT_EQ(last.given_up[0].tries, 5);
  EXPECT_EQ(last.given_up[0].last_error, "HTTP status 503");
  EXPECT_THAT(q.sent, SizeIs(5));
  EXPECT_THAT(q.deliver(policy).given_up, SizeIs(0));  // reported once
  EXPECT_THAT(q.sent, SizeIs(5));
}

TEST(Outbox, AMessageInSendingIsNotSentByAnother) {
  Queue q;
  q.script = {{}};
  q.queue("a");
  auto other = open_database(q.scratch / "a.db");
  std::int64_t other_delivered = -1;
  q.while_sending = [&] {
    const Deliver receiver = [](const std::string&, const std::string&) { return DeliveryResult{}; };
    const OutboxClock clock{.now_utc = [&] { return q.now; }, .wait = [](std::chrono::seconds) {}};
    other_delivered = deliver_outbox(other, receiver, clock).delivered;
  };
  EXPECT_EQ(q.deliver().delivered, 1);
  EXPECT_EQ(other_delivered, 0);
}

TEST(Outbox, AMessageHeldByAKilledProcessIsSentLater) {
  Queue q;
  q.script = {{}};
  q.queue("a");
  q.while_sending = [] { throw std::runtime_error("killed"); };
  EXPECT_THROW(q.deliver(), std::runtime_error);
  q.while_sending = [] {};
  q.now = "2026-01-10T05:02:00Z";
  EXPECT_EQ(q.deliver().delivered, 0);
  q.now = "2026-01-10T05:03:01Z";
  EXPECT_EQ(q.deliver().delivered, 1);
}

TEST(Outbox, WithARealServerThatFailsTwice) {
  HttpServer server({.status = 500}, {{.status = 503}, {.status = 200}});
  Queue q;
  q.queue("a");
  const WebhookTarget target{.url = server.url(), .token = "xoxb-secret"};
  const Deliver deliver = [&](const std::string& body, const std::string& id) {
    return post_to_webhook(target, body, id);
  };
  const OutboxClock clock{.now_utc = [&] { return q.now; },
                          .wait = [&](std::chrono::seconds time) { q.waits.push_back(time); }};
  EXPECT_EQ(deliver_outbox(q.db, deliver, clock).delivered, 1);
  ASSERT_THAT(server.requests(), SizeIs(3));
  EXPECT_EQ(server.requests()[2].body, "{\"text\":\"a\"}");
  EXPECT_THAT(q.waits, ElementsAre(1s, 2s));
}

TEST(Outbox, StoresNeitherAddressNorToken) {
  HttpServer server({.status = 500});
  Queue q;
  q.queue("a");
  const Deliver deliver = [&](const std::string& body, const std::string& id) {
    return post_to_webhook({.url = server.url(), .token = "xoxb-secret"}, body, id);
  };
  const OutboxClock clock{.now_utc = [&] { return q.now; }, .wait = [](std::chrono::seconds) {}};
  deliver_outbox(q.db, deliver, clock);
  q.db.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  const auto bytes = read_text(q.scratch / "a.db");
  EXPECT_THAT(bytes, HasSubstr("HTTP status 500"));
  EXPECT_THAT(bytes, Not(HasSubstr("xoxb-secret")));
  EXPECT_THAT(bytes, Not(HasSubstr("secret-path")));
}

}  // namespace
}  // namespace perfbench::harness
