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

std::int64_t unix_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

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
    while (base_.ends_with('/')) base_.pop_back();
  }

  // nullopt if it was cancelled.
  std::optional<PushStatus> ask(const std::string& target, const std::optional<std::string>& body) {
    auto wait = kFirstPause;
    while (true) {
      const auto answer = send_http(signed_request(target, body));
      if (answer.status == 200) {
        last_answer_ = Clock::now();
        return status_of(answer);
      }
      if (!is_worth_another_try(answer)) {
        throw InputError(
            fmt::format("[push] {} answers with status {}: {}", request_.url, answer.status, first_line(answer.body)));
      }
      if (answer.is_misconfigured) {
        throw InputError(fmt::format("[push] {}: {}; SSL_CERT_FILE can name the certificate of its authority",
                                     request_.url, answer.error));
      }
      // A server that is busy, and says so, is there.
      if (answer.status == 429) last_answer_ = Clock::now();
      if (Clock::now() - last_answer_ > request_.patience) {
        throw InputError(fmt::format("[push] {} has not answered for {} s: {}; the next push continues", request_.url,
                                     request_.patience.count(),
                                     answer.status == 0 ? answer.error : first_line(answer.body)));
      }
      if (!pause(answer.retry_after.value_or(std::chrono::seconds(0)) + wait)) return std::nullopt;
      wait = std::min(2 * wait, kLongestPause);
    }
  }

  // Returns false if it was cancelled.
  bool pause(milliseconds time) {
    pollfd watched{.fd = cancel_fd_, .events = POLLIN, .revents = 0};
    cancelled_ = cancelled_ || ::poll(&watched, 1, static_cast<int>(time.count())) > 0;
    return !cancelled_;
  }

 private:
  HttpRequest signed_request(const std::string& target, const std::optional<std::string>& body) const {
    const auto now = unix_now();
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
  Clock::time_point last_answer_ = Clock::now();
  bool cancelled_ = false;
};

std::string bytes_from(const fs::path& file, std::int64_t offset) {
  std::ifstream in(file, std::ios::binary);
  in.seekg(offset);
  std::string out(static_cast<std::size_t>(kPushPartBytes), '\0');
  in.read(out.data(), kPushPartBytes);
  out.resize(static_cast<std::size_t>(in.gcount()));
  return out;
}

std::string whole_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Sends one file, and waits until the server has taken it. nullopt if it was cancelled.
std::optional<PushStatus> send_file(Server& server, const fs::path& file, const std::string& sha256,
                                    PushReport& report) {
  const auto size = static_cast<std::int64_t>(fs::file_size(file));
  const auto target = "/push/" + sha256;
  auto status = server.ask(target, std::nullopt);
  if (status && status->state == PushState::stored) {
    ++report.known;
    return status;
  }
  ++report.files;
  auto wait = kFirstPause;
  while (status && (status->state == PushState::receiving || status->state == PushState::waiting)) {
    if (status->state == PushState::receiving) {
      status =
          server.ask(fmt::format("{}?offset={}&size={}", target, status->have, size), bytes_from(file, status->have));
      continue;
    }
    if (!server.pause(wait)) return std::nullopt;
    wait = std::min(2 * wait, kLongestPause);
    status = server.ask(target, std::nullopt);
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
    const TemporaryFile file(request.db, "push");
    const auto exported = export_runs({.db = request.db,
                                       .selection = parts[i],
                                       .file = file.path(),
                                       .perfbench_version = std::string(build_info::current().version)});
    const auto status = send_file(server, file.path(), sha256_hex(whole_file(file.path())), report);
    if (!status) {
      report.cancelled = true;
      return report;
    }
    const auto name = parts[i].id.empty() ? "runs" : parts[i].id;
    if (status->state == PushState::refused) report.refused.push_back(name + ": " + status->reason);
    if (request.say) {
      request.say(fmt::format("{}/{} {}: {}, {} attempts", i + 1, parts.size(), name, spec::enum_name(status->state),
                              exported.attempts));
    }
  }
  return report;
}

}  // namespace perfbench::harness
