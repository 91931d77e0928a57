#include "harness/app/push.h"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "harness/app/http_client.h"
#include "harness/app/push_protocol.h"
#include "harness/store/archive/transfer.h"
#include "harness/store/database.h"
#include "harness/system/files.h"
#include "harness/system/input_error.h"
#include "harness/system/sha256.h"
#include "workloads/build_info/build_info.h"
#include "workloads/spec/fields_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kFirstPause{200};
constexpr milliseconds kLongestPause{30'000};

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// The conversation with the server.
class Server {
 public:
  Server(const PushRuns& request, int cancel_fd) : request_(request), cancel_fd_(cancel_fd) {
    const auto address = parse_http_address(request.url);
    if (!address || (address->scheme != "http" && address->scheme != "https")) {
      throw InputError("[push] '" + request.url + "' is not an address that begins with https:// or http://");
    }
    if (request.url.find('@') != std::string::npos) {
      throw InputError("[push] the address has a user: machines are known by their keys, so leave it out");
    }
    while (base_.ends_with('/')) base_.pop_back();
  }

  // Patience begins again: the server has done something with the file.
  void note_progress() { last_progress_ = Clock::now(); }

  // Throws InputError if nothing was done for longer than the user's patience.
  void require_progress(const std::string& why) const {
    if (Clock::now() - last_progress_ <= request_.patience) return;
    throw InputError(fmt::format("[push] {} has made no progress for {} s: {}; the next push continues", request_.url,
                                 request_.patience.count(), why));
  }

  // A file that the server does not take has the state `refused`. nullopt if it was cancelled.
  std::optional<PushStatus> ask(const std::string& target, const std::optional<std::string>& body) {
    auto wait = kFirstPause;
    while (true) {
      const auto answer = send_http(signed_request(target, body));
      if (answer.status == 200 && answer.error.empty()) return status_of(answer);
      if (answer.status == 400 || answer.status == 413) {
        return PushStatus{.state = PushState::refused, .reason = first_line(answer.body)};
      }
      if (answer.is_misconfigured) {
        throw InputError(fmt::format("[push] {}: {}; SSL_CERT_FILE can name the certificate of its authority",
                                     request_.url, answer.error));
      }
      if (answer.error.empty() && !is_worth_another_try(answer)) {
        throw InputError(
            fmt::format("[push] {} answers with status {}: {}", request_.url, answer.status, first_line(answer.body)));
      }
      const auto why = answer.error.empty() ? first_line(answer.body) : answer.error;
      require_progress(why);
      say(fmt::format("{}: {}; trying again", request_.url, why));
      if (!pause(answer.retry_after.value_or(std::chrono::seconds(0)) + wait)) return std::nullopt;
      wait = std::min(2 * wait, kLongestPause);
    }
  }

  // Each text once in a row.
  void say(const std::string& text) {
    if (request_.say && text != said_) request_.say(text);
    said_ = text;
  }

  // Returns false if it was cancelled.
  bool pause(milliseconds time) const {
    pollfd watched{.fd = cancel_fd_, .events = POLLIN, .revents = 0};
    return ::poll(&watched, 1, static_cast<int>(time.count())) <= 0;
  }

 private:
  HttpRequest signed_request(const std::string& target, const std::optional<std::string>& body) const {
    const auto now = signature_time();
    const SignedParts parts{
        .method = body ? "POST" : "GET", .target = target, .time_s = now, .body = body ? *body : std::string_view()};
    return {.url = base_ + target,
            .headers = {fmt::format("{}: {}", kMachineHeader, request_.key.machine),
                        fmt::format("{}: {}", kTimeHeader, now),
                        fmt::format("{}: {}", kSignatureHeader, request_signature(request_.key, parts)),
                        "Content-Type: application/octet-stream"},
            .body = body};
  }

  PushStatus status_of(const HttpAnswer& answer) const {
    try {
      return spec::fields_from_json<PushStatus>(spec::parse_json(answer.body), spec::Missing::is_error);
    } catch (const spec::SpecError&) {
      throw InputError("[push] " + request_.url + " is not a server of perfbench serve --accept");
    }
  }

  const PushRuns& request_;
  const int cancel_fd_;
  std::string base_ = request_.url;
  std::string said_;
  Clock::time_point last_progress_ = Clock::now();
};

std::string bytes_from(const fs::path& file, std::int64_t offset) {
  std::ifstream in(file, std::ios::binary);
  in.seekg(offset);
  std::string out(static_cast<std::size_t>(kPushPartBytes), '\0');
  in.read(out.data(), kPushPartBytes);
  out.resize(static_cast<std::size_t>(in.gcount()));
  return out;
}

bool is_decided(const PushStatus& status) {
  return status.state == PushState::stored || status.state == PushState::refused;
}

// Sends one file, and waits until the server has taken it in or refused it. nullopt if it was cancelled.
std::optional<PushStatus> send_file(Server& server, const fs::path& file, const std::string& sha256,
                                    PushReport& report) {
  const auto size = static_cast<std::int64_t>(fs::file_size(file));
  const auto target = "/push/" + sha256;
  server.note_progress();
  auto status = server.ask(target, std::nullopt);
  if (status && status->state == PushState::stored) {
    ++report.known;
    return status;
  }
  // An earlier refusal may have had a reason that has gone.
  if (status && status->state == PushState::refused) status = PushStatus{};
  ++report.files;
  auto wait = kFirstPause;
  while (status && !is_decided(*status)) {
    const auto before = *status;
    if (status->state == PushState::receiving) {
      status =
          server.ask(fmt::format("{}?offset={}&size={}", target, before.have, size), bytes_from(file, before.have));
    } else {
      server.require_progress(before.reason.empty() ? "the file waits for its database" : before.reason);
      if (!before.reason.empty()) server.say("the server keeps the file until it can take it in: " + before.reason);
      if (!server.pause(wait)) return std::nullopt;
      wait = std::min(2 * wait, kLongestPause);
      std::error_code ignored;
      fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);  // it is still in use (TemporaryFile)
      status = server.ask(target, std::nullopt);
    }
    if (status && (status->state != before.state || status->have != before.have)) {
      server.note_progress();
    } else if (status && before.state == PushState::receiving) {
      server.require_progress("it does not keep the file's bytes");
      if (!server.pause(wait)) return std::nullopt;
    }
  }
  if (status && status->state == PushState::stored) {
    report.added += status->added;
    report.present += status->present;
  }
  return status;
}

std::vector<Selection> selections(const PushRuns& request) {
  if (request.selection.kind != SelectionKind::all) return {request.selection};
  return parts_of_all(open_database(request.db, {.mode = OpenMode::read_only}));
}

}  // namespace

PushReport push_runs(const PushRuns& request, int cancel_fd) {
  PushReport report;
  Server server(request, cancel_fd);
  const auto parts = selections(request);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto name = parts[i].id.empty() ? "runs" : parts[i].id;
    const TemporaryFile file(request.db, "push");
    ExportReport exported;
    try {
      exported = export_runs({.db = request.db,
                              .selection = parts[i],
                              .file = file.path(),
                              .perfbench_version = std::string(build_info::current().version),
                              .records = ArchivedRecords::measured});
      report.left_out.insert(exported.left_out.begin(), exported.left_out.end());
    } catch (const InputError& e) {
      report.refused.push_back(name + ": " + e.what());
      continue;
    }
    if (exported.attempts == 0) continue;  // none of them can be read
    const auto sha256 = sha256_of_file(file.path());
    if (!sha256) throw std::runtime_error("[push] " + file.path().string() + " cannot be read");
    const auto status = send_file(server, file.path(), *sha256, report);
    if (!status) {
      report.cancelled = true;
      return report;
    }
    if (status->state == PushState::refused) report.refused.push_back(name + ": " + status->reason);
    server.say(fmt::format("{}/{} {}: {}, {} attempts", i + 1, parts.size(), name, spec::enum_name(status->state),
                           exported.attempts));
  }
  return report;
}

}  // namespace perfbench::harness
