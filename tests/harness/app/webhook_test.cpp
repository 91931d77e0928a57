#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "harness/app/night/alert_delivery.h"
#include "harness/system/input_error.h"
#include "tests/harness/http_server.h"

namespace perfbench::harness {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using namespace std::chrono_literals;

constexpr const char* kToken = "xoxb-top-secret";

DeliveryResult post(const HttpServer& server, const WebhookLimits& limits = {}) {
  return post_to_webhook({.url = server.url(), .token = kToken}, R"({"text":"a"})", "id-1", limits);
}

TEST(Webhook, PostsTheBodyOnceWithTokenAndId) {
  HttpServer server({.status = 204});
  EXPECT_EQ(post(server).outcome, DeliveryOutcome::acknowledged);
  const auto requests = server.requests();
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_THAT(requests[0].head, HasSubstr("POST /hook/secret-path HTTP/1.1\r\n"));
  EXPECT_THAT(requests[0].head, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_THAT(requests[0].head, HasSubstr("Authorization: Bearer xoxb-top-secret\r\n"));
  EXPECT_THAT(requests[0].head, HasSubstr("Idempotency-Key: id-1\r\n"));
  EXPECT_EQ(requests[0].body, R"({"text":"a"})");
}

TEST(Webhook, WithoutATokenSendsNoAuthorization) {
  HttpServer server(HttpServer::Answer{});
  post_to_webhook({.url = server.url(), .token = ""}, "{}", "id-1");
  EXPECT_THAT(server.requests().at(0).head, Not(HasSubstr("Authorization")));
}

// 5xx, 408 and 429 are worth another try; other refusals need a person.
TEST(Webhook, SaysWhichFailuresAreWorthAnotherTry) {
  for (const int status : {500, 502, 503, 408, 429}) {
    HttpServer server({.status = status});
    const auto result = post(server);
    EXPECT_EQ(result.outcome, DeliveryOutcome::try_again) << status;
    EXPECT_EQ(result.error, "HTTP status " + std::to_string(status));
  }
  for (const int status : {400, 401, 403, 404, 410}) {
    HttpServer server({.status = status});
    EXPECT_EQ(post(server).outcome, DeliveryOutcome::refused) << status;
  }
}

TEST(Webhook, PassesOnTheRetryDelayOfTheReceiver) {
  HttpServer server({.status = 429, .headers = "Retry-After: 7\r\n"});
  EXPECT_EQ(post(server).retry_after, 7s);
}

TEST(Webhook, FollowsNoRedirectToAnotherHost) {
  HttpServer other(HttpServer::Answer{});
  for (const int status : {301, 302, 307, 308}) {
    const auto location = "Location: http://localhost:" + std::to_string(other.port()) + "/\r\n";
    HttpServer server({.status = status, .headers = location});
    const auto result = post(server);
    EXPECT_EQ(result.outcome, DeliveryOutcome::refused) << status;
    EXPECT_THAT(result.error, HasSubstr("a redirect, which is not followed"));
  }
  EXPECT_THAT(other.requests(), SizeIs(0));
}

TEST(Webhook, ARefusedConnectionIsWorthAnotherTryAndNamesNoAddress) {
  std::string url;
  {
    HttpServer gone(HttpServer::Answer{});
    url = gone.url();
  }
  const auto result = post_to_webhook({.url = url, .token = kToken}, "{}", "id-1");
  EXPECT_EQ(result.outcome, DeliveryOutcome::try_again);
  EXPECT_THAT(result.error, AllOf(Not(testing::IsEmpty()), Not(HasSubstr("127.0.0.1")), Not(HasSubstr("secret"))));
}

TEST(Webhook, AServerThatNeverAnswersIsLeftAfterTheLimit) {
  HttpServer server({.status = 0});
  const auto result = post(server, {.connect = 5s, .total = 200ms});
  EXPECT_EQ(result.outcome, DeliveryOutcome::try_again);
  EXPECT_THAT(result.error, HasSubstr("Timeout"));
}

// The head of the answer decides: a receiver that answered 2xx has the message and must not get it again.
TEST(Webhook, AnAcknowledgementWhoseBodyStallsIsDelivered) {
  HttpServer server({.body = HttpServer::Body::stalls});
  EXPECT_EQ(post(server, {.connect = 5s, .total = 2s}).outcome, DeliveryOutcome::acknowledged);
  EXPECT_THAT(server.requests(), SizeIs(1));
}

TEST(Webhook, AnAcknowledgementWhoseBodyNeverEndsIsDeliveredAndNotReadOn) {
  HttpServer server({.body = HttpServer::Body::endless});
  EXPECT_EQ(post(server).outcome, DeliveryOutcome::acknowledged);
}

TEST(Webhook, ARefusalWhoseBodyStallsIsARefusal) {
  HttpServer server({.status = 403, .body = HttpServer::Body::stalls});
  const auto result = post(server, {.connect = 5s, .total = 2s});
  EXPECT_EQ(result.outcome, DeliveryOutcome::refused);
  EXPECT_EQ(result.error, "HTTP status 403");
}

// Sets variables and restores the old values afterwards.
class ProxyEnvironment : public testing::Test {
 protected:
  void set(const std::string& name, const std::string& value) {
    const char* old = ::getenv(name.c_str());
    before_.emplace_back(name, old == nullptr ? std::nullopt : std::optional<std::string>(old));
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  void TearDown() override {
    for (const auto& [name, value] : before_) {
      value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
    }
  }

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

TEST_F(ProxyEnvironment, AProxyNeverSeesRequestsToThisMachine) {
  HttpServer proxy(HttpServer::Answer{});
  HttpServer server(HttpServer::Answer{});
  const auto address = "http://127.0.0.1:" + std::to_string(proxy.port());
  for (const auto* name : {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}) set(name, address);
  set("no_proxy", "");
  set("NO_PROXY", "");
  const auto port = ":" + std::to_string(server.port()) + "/";
  for (const auto* host : {"127.0.0.1", "localhost", "127.8.9.10", "LOCALHOST"}) {
    post_to_webhook({.url = std::string("http://") + host + port, .token = kToken}, "{}", "id-1");
    EXPECT_THAT(proxy.requests(), SizeIs(0)) << host;
  }
  EXPECT_THAT(server.requests(), testing::Not(testing::IsEmpty()));
  post_to_webhook({.url = "http://[::1]" + port, .token = kToken}, "{}", "id-1", {.connect = 1s, .total = 2s});
  EXPECT_THAT(proxy.requests(), SizeIs(0));
  post_to_webhook({.url = "http://hooks.example/", .token = ""}, "{}", "id-1");
  EXPECT_THAT(proxy.requests(), SizeIs(1)) << "the proxy was not in use";
}

class WebhookEnvironment : public testing::Test {
 protected:
  void TearDown() override {
    ::unsetenv(kWebhookUrlVariable);
    ::unsetenv(kWebhookTokenVariable);
  }
  std::string error_of(const std::string& url, const std::string& token) {
    ::setenv(kWebhookUrlVariable, url.c_str(), 1);
    ::setenv(kWebhookTokenVariable, token.c_str(), 1);
    try {
      webhook_from_environment();
    } catch (const InputError& e) {
      return e.what();
    }
    return "taken";
  }
};

TEST_F(WebhookEnvironment, GivesTheTargetOrNothing) {
  EXPECT_FALSE(webhook_from_environment().has_value());
  EXPECT_EQ(error_of("https://hooks.example/T0/B0", "t"), "taken");
  EXPECT_EQ(webhook_from_environment()->token, "t");
}

TEST_F(WebhookEnvironment, RefusesTargetsThatWouldLeakAndRepeatsNoSecret) {
  struct Case {
    const char* url;
    const char* token;
    const char* part;
  };
  for (const auto& [url, token, part] :
       {Case{"ftp://files.example/SECRET", "", "https://"}, Case{"file:///etc/SECRET", "", "https://"},
        Case{"SECRET", "", "https://"}, Case{"https://a.example/SECRET", "SECRET\r\nX: y", "line break"},
        Case{"http://a.example/SECRET", "SECRET", "unprotected"}}) {
    const auto error = error_of(url, token);
    EXPECT_THAT(error, HasSubstr(part)) << url;
    EXPECT_THAT(error, Not(HasSubstr("SECRET"))) << url;
  }
  for (const auto* here :
       {"http://127.0.0.1:8080/x", "http://127.1.2.3/x", "http://localhost/x", "http://[::1]:80/x"}) {
    EXPECT_EQ(error_of(here, "t"), "taken") << here;
  }
  EXPECT_THAT(error_of("http://127.0.0.1.example/x", "SECRET"), HasSubstr("unprotected"));
  EXPECT_EQ(error_of("http://a.example/x", ""), "taken");
}

}  // namespace
}  // namespace perfbench::harness
