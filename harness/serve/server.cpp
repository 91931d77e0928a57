#include "harness/serve/server.h"

#include <fmt/core.h>
#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "harness/app/author.h"
#include "harness/serve/deadline_server.h"
#include "harness/serve/guards.h"
#include "harness/serve/http_status.h"
#include "harness/serve/kept_answers.h"
#include "harness/serve/views.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "harness/system/input_error.h"
#include "harness/system/utc.h"
#include "reports/content/data_exports.h"
#include "reports/render/document/render.h"
#include "workloads/spec/fields_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace {

// The body of a request that changes an alert.
struct AlertAction {
  AlertState to = AlertState::open;
  std::string reason;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(spec::Field{"to", "the new state"}, self.to);
    f(spec::Field{"reason", "why"}, self.reason);
  }
};

constexpr const char* kMetrics = "/metrics";             // for Prometheus
constexpr std::size_t kLongestAction = 64 * 1024;        // bytes of a request's body
constexpr std::size_t kMakers = 2;                       // one slow page leaves a thread for the others
constexpr auto kLongestWait = std::chrono::seconds(10);  // for a request for the data of a page that is being made
constexpr std::size_t kThreads = 32;                     // for requests: waiting ones leave some threads for others

std::string own_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// The database in its present state.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& db) : path_(db), db_(open()) {}

  const Connection& db() const { return db_; }

  // Opens the database again if needed, and returns whether it did. Needed if another file is in its place. Also needed
  // if the file changed in a folder that this process may not write to: there a reader assumes that nobody changes the
  // file.
  bool follow_file() {
    std::error_code unknown;
    const auto written = std::filesystem::last_write_time(path_, unknown);
    if (unknown || written == written_) return false;
    db_ = open();
    return true;
  }

 private:
  Connection open() {
    std::error_code unknown;
    written_ = std::filesystem::last_write_time(path_, unknown);
    return open_database(path_, {.mode = OpenMode::read_only});
  }

  std::filesystem::path path_;
  std::filesystem::file_time_type written_;
  Connection db_;
};

Answer answer_of(int status, const reports::Document& document, const reports::Site& site) {
  auto page = reports::page_of(document, site);
  return {.status = status,
          .policy = std::move(page.policy),
          .page = std::move(page.html),
          .data = reports::page_data(document, site)};
}

// Makes pages on one thread.
class PageMaker {
 public:
  PageMaker(const ServerOptions& options, const Installation& installation)
      : installation_(installation), reader_(options.db), counts_({installation.engine}), site_(site()) {
    site_.writable = options.write;
  }

  Answer make(const ViewRequest& wanted) {
    reader_.follow_file();
    const auto& db = reader_.db();
    if (wanted.path == kMetrics) return metrics(db);
    int status = kOk;
    db.forget_left_out();
    reports::Document document;
    try {
      const Snapshot snapshot(db);
      document = view(db, wanted, installation_, counts_);
    } catch (const InputError& e) {
      status = kNotFound;
      document = {};
      document.add(reports::Heading{.level = 1, .text = "Not found"});
      document.add(reports::Paragraph{.text = with_name(e.what(), db.path(), db.path().filename()),
                                      .tone = reports::Tone::doubtful});
    }
    for (const auto& left_out : db.left_out()) document.add(reports::Note{left_out});
    return answer_of(status, document, site_);
  }

 private:
  static Answer metrics(const Connection& db) {
    const Snapshot snapshot(db);
    return {.policy = "default-src 'none'", .page = reports::open_metrics(db), .type = reports::kOpenMetricsType};
  }

  const Installation& installation_;
  Reader reader_;
  reports::MemoryCounts counts_;
  reports::Site site_;
};

class Pages {
 public:
  Pages(const ServerOptions& options, const Installation& installation)
      : options_(options),
        reader_(options.db),
        author_(options.write ? author_or_current(options.author) : ""),
        token_(options.write ? new_token() : ""),
        to_come_(page_to_come()),
        answers_(makers(options, installation), {.patience = std::chrono::milliseconds(options.patience_ms)}) {
    // The pages to which every page links, so that no request waits for them.
    for (const auto& place : site().places) answers_.prepare({.path = place.path}, state());
  }

  const std::string& token() const { return token_; }

  void get(const httplib::Request& request, httplib::Response& response) {
    auto wanted = view_request(request.target);
    const bool data_alone = wanted.parameters.erase("data") > 0;
    // How a reader sorts and filters a table concerns the browser alone (controls.js).
    std::erase_if(wanted.parameters, [](const auto& parameter) { return parameter.first.starts_with("view."); });
    // Requests for data can wait, because the page shows something meanwhile. A monitoring system can, too.
    const std::chrono::milliseconds patience(options_.patience_ms);
    const auto longest =
        data_alone || wanted.path == kMetrics ? std::max<std::chrono::milliseconds>(kLongestWait, patience) : patience;
    const auto [answer, state_of_answer] = answers_.get(wanted, state(), longest);
    if (answer == nullptr) {
      response.status = kAccepted;
      response.set_header("Cache-Control", "no-store");
      return send(to_come_, data_alone, response);
    }
    const auto tag = '"' + state_of_answer + '"';
    if (request.get_header_value("If-None-Match") == tag) {
      response.status = kNotModified;
      return;
    }
    response.status = answer->status;
    response.set_header("ETag", tag);
    response.set_header("Cache-Control", "no-cache");
    send(*answer, data_alone, response);
  }

  // {"to": an allowed next state, "reason": ...} for /alerts/ID.
  void act(const httplib::Request& request, httplib::Response& response) {
    const auto refuse = [&](int status, const std::string& why) {
      response.status = status;
      response.set_content(why + "\n", "text/plain; charset=utf-8");
    };
    if (!options_.write) return refuse(kForbidden, "this server is read-only; perfbench serve --write takes actions");
    if (!is_own_origin(request.get_header_value("Origin"), request.get_header_value("Host"))) {
      return refuse(kForbidden, "actions are taken from this server's own pages");
    }
    if (!same_token(request.get_header_value("X-Perfbench-Token"), token_)) {
      return refuse(kForbidden, "the token is not this server's; open the address that it printed");
    }
    try {
      const auto action = spec::fields_from_json<AlertAction>(spec::parse_json(request.body), spec::Missing::is_error);
      if (action.reason.empty()) return refuse(kBad, "the action has no reason");
      const std::lock_guard lock(writing_);
      auto writer = open_database(options_.db);
      change_alert(writer, request.path.substr(request.path.rfind('/') + 1), action.to, author_, action.reason,
                   utc_now());
    } catch (const spec::SpecError& e) {
      refuse(kBad, e.what());
    } catch (const InputError& e) {
      refuse(kBad, e.what());
    }
  }

 private:
  static std::vector<KeptAnswers::Maker> makers(const ServerOptions& options, const Installation& installation) {
    std::vector<KeptAnswers::Maker> out;
    for (std::size_t i = 0; i < kMakers; ++i) {
      out.emplace_back([maker = std::make_shared<PageMaker>(options, installation)](const ViewRequest& wanted) {
        return maker->make(wanted);
      });
    }
    return out;
  }

  static Answer page_to_come() {
    reports::Document out{.to_come = true};
    out.add(reports::Paragraph{.text = "This page takes long to make; it appears here when it is ready.",
                               .tone = reports::Tone::doubtful});
    return answer_of(kAccepted, out, site());
  }

  static void send(const Answer& answer, bool data_alone, httplib::Response& response) {
    response.set_header("Content-Security-Policy", answer.policy + "; frame-ancestors 'none'");
    response.set_content(data_alone ? answer.data : answer.page, data_alone ? "application/json" : answer.type);
  }

  // Identifies the content of the database: changes whenever another process writes to it.
  std::string state() {
    const std::lock_guard lock(looking_);
    if (reader_.follow_file()) started_ = new_token();
    return fmt::format("{}-{}", started_, data_version(reader_.db()));
  }

  const ServerOptions& options_;
  std::mutex writing_;
  std::mutex looking_;
  Reader reader_;
  std::string started_ = new_token();  // makes tags of another server invalid
  std::string author_;
  std::string token_;
  const Answer to_come_;
  KeptAnswers answers_;
};

// The requests of `perfbench push` (harness/app/push_protocol.h).
class Pushes {
 public:
  explicit Pushes(const ServerOptions& options)
      : receiver_(options.db, read_machine_keys(options.accept), options.push) {}

  void look(const httplib::Request& request, httplib::Response& response) {
    if (const auto machine = sender(request, response)) send(receiver_.look(*machine, hash_of(request)), response);
  }
  void take(const httplib::Request& request, httplib::Response& response) {
    const auto machine = sender(request, response);
    if (!machine) return;
    send(receiver_.take(*machine, hash_of(request), number(request, "offset"), number(request, "size"), request.body),
         response);
  }

 private:
  // The machine that signed the request; otherwise the response is a refusal.
  std::optional<std::string> sender(const httplib::Request& request, httplib::Response& response) const {
    const PushRequestHead head{.method = request.method,
                               .target = request.target,
                               .machine = request.get_header_value(kMachineHeader),
                               .time = request.get_header_value(kTimeHeader),
                               .signature = request.get_header_value(kSignatureHeader)};
    const auto why = receiver_.why_not_signed(head, request.body);
    if (why.empty()) return head.machine;
    send({.status = kForbidden, .text = why + "\n"}, response);
    return std::nullopt;
  }

  static std::string hash_of(const httplib::Request& request) {
    return request.path.substr(request.path.rfind('/') + 1);
  }
  static std::int64_t number(const httplib::Request& request, const char* name) {
    const auto text = request.get_param_value(name);
    std::int64_t out = -1;
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
  }
  static void send(const PushReceiver::Reply& reply, httplib::Response& response) {
    response.status = reply.status;
    if (reply.retry_after_s > 0) response.set_header("Retry-After", std::to_string(reply.retry_after_s));
    response.set_header("Cache-Control", "no-store");
    response.set_content(reply.text, reply.status == kOk ? "application/json" : "text/plain; charset=utf-8");
  }

  PushReceiver receiver_;
};

void guard(httplib::Server& server) {
  server.set_socket_options([](int socket) {
    // Not SO_REUSEPORT, with which a second server could take half of the requests.
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server.set_payload_max_length(std::max<std::size_t>(kLongestAction, kPushPartBytes));
  server.set_default_headers({{"X-Content-Type-Options", "nosniff"},
                              {"Referrer-Policy", "no-referrer"},
                              {"Cross-Origin-Resource-Policy", "same-origin"}});
  server.set_pre_routing_handler([name = own_name()](const httplib::Request& request, httplib::Response& response) {
    const auto hosts = request.get_header_value_count("Host");
    if (hosts == 1 && is_own_host(request.get_header_value("Host"), name)) {
      return httplib::Server::HandlerResponse::Unhandled;
    }
    response.status = hosts > 1 ? kBad : kForbidden;
    response.set_content(hosts > 1 ? "a request has one Host header, and this one has several\n"
                                   : "unexpected Host header; use the address that perfbench serve printed\n",
                         "text/plain; charset=utf-8");
    return httplib::Server::HandlerResponse::Handled;
  });
  server.set_exception_handler([](const httplib::Request&, httplib::Response& response, std::exception_ptr failure) {
    response.status = kFailed;
    try {
      std::rethrow_exception(std::move(failure));
    } catch (const std::exception& e) {
      response.set_content(std::string(e.what()) + "\n", "text/plain; charset=utf-8");
    }
  });
}

}  // namespace

void serve(const ServerOptions& options, const Installation& installation, int stop_fd,
           const std::function<void(const std::string& url)>& ready) {
  std::optional<Pushes> pushes;
  if (!options.accept.empty()) pushes.emplace(options);  // makes the database
  Pages pages(options, installation);
  DeadlineServer server{std::chrono::milliseconds(options.request_ms)};
  guard(server);
  if (pushes) {
    server.Get("/push/[0-9a-f]{64}",
               [&](const httplib::Request& request, httplib::Response& response) { pushes->look(request, response); });
    server.Post("/push/[0-9a-f]{64}",
                [&](const httplib::Request& request, httplib::Response& response) { pushes->take(request, response); });
  }
  server.Get(".*", [&](const httplib::Request& request, httplib::Response& response) { pages.get(request, response); });
  server.Post("/alerts/[0-9a-f]+",
              [&](const httplib::Request& request, httplib::Response& response) { pages.act(request, response); });
  int port = options.port;
  if (port == 0) port = server.bind_to_any_port(options.address);
  if (port <= 0 || (options.port != 0 && !server.bind_to_port(options.address, port))) {
    throw InputError(
        fmt::format("[serve] cannot listen at {}:{}; another program may use it, or it is not an address of this "
                    "machine: choose another --port or --address",
                    options.address, options.port));
  }
  // The listening thread handles requests; this one waits for the end.
  std::atomic<bool> ended{false};
  std::thread listener([&] {
    server.listen_after_bind();
    ended = true;
  });
  // A stop before the server runs would have no effect.
  while (!server.is_running() && !ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const bool needs_brackets = options.address.find(':') != std::string::npos;
  const auto host = needs_brackets ? "[" + options.address + "]" : options.address;
  ready(fmt::format("http://{}:{}/{}", host, port, options.write ? "#token=" + pages.token() : ""));
  pollfd stop{.fd = stop_fd, .events = POLLIN, .revents = 0};
  while (::poll(&stop, 1, -1) < 0 && errno == EINTR) {
  }
  server.stop();
  listener.join();
}

}  // namespace perfbench::harness
