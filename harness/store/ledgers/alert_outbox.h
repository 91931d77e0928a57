// Messages that wait for their receiver (table alert_outbox). If a message cannot be delivered now, the next call tries
// again, perhaps on another night. A message that was acknowledged is never sent again. Only one process at a time may
// send a message. After a kill during sending, it may be sent twice with the same id.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/store/sqlite.h"
#include "workloads/spec/enum_names.h"

namespace perfbench::harness {

enum class MessageState { waiting, delivered, given_up };

struct OutboxMessage {
  std::string message_id;
  std::string body;  // JSON
  std::string created_utc;
  MessageState state = MessageState::waiting;
  std::int64_t tries = 0;
  std::string last_error;
  std::string ended_utc;  // empty while it waits
};

enum class DeliveryOutcome {
  acknowledged,
  try_again,  // the receiver is off, slow or busy: worth another try soon
  refused,    // by this receiver in its present configuration: useless until somebody repairs it
};
struct DeliveryResult {
  DeliveryOutcome outcome = DeliveryOutcome::acknowledged;
  std::string error;                                     // contains neither the address nor the token
  std::optional<std::chrono::seconds> retry_after = {};  // as the receiver requested
};
using Deliver = std::function<DeliveryResult(const std::string& body, const std::string& message_id)>;

struct OutboxClock {
  std::function<std::string()> now_utc;
  std::function<void(std::chrono::seconds)> wait;
};
OutboxClock system_outbox_clock();

// Waits between the tries of one call: first_wait, then twice as long each time. A wait that the receiver requests
// counts up to longest_wait.
struct RetryPolicy {
  std::int64_t tries_a_call = 3;
  std::int64_t most_tries =
      30;  // over all calls: enough for ten nights with a receiver that is off; then the message is given up
  std::chrono::seconds first_wait{1};
  std::chrono::seconds longest_wait{30};
};

// Returns false if a message with that id is known: it is not queued again.
bool queue_message(Connection& db, const std::string& message_id, const std::string& body, const std::string& now_utc);

struct OutboxReport {
  std::int64_t delivered = 0;
  std::vector<OutboxMessage> waiting;   // after the call
  std::vector<OutboxMessage> given_up;  // by this call
};
// Sends waiting messages, oldest first. If a receiver still wants another try after all tries, the call ends, because
// the other messages would have the same problem.
OutboxReport deliver_outbox(Connection& db, const Deliver& deliver, const OutboxClock& clock,
                            const RetryPolicy& policy = {});

// Oldest first.
std::vector<OutboxMessage> load_outbox(const Connection& db, MessageState state);

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::MessageState> {
  using S = perfbench::harness::MessageState;
  static constexpr std::array kNames{std::pair{S::waiting, "waiting"}, std::pair{S::delivered, "delivered"},
                                     std::pair{S::given_up, "given_up"}};
};
