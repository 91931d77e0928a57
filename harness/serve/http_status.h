// The status codes of the server's answers (RFC 9110, RFC 6585 and RFC 4918).
#pragma once

namespace perfbench::harness {

enum HttpStatus {
  kOk = 200,
  kAccepted = 202,
  kNotModified = 304,
  kBad = 400,
  kForbidden = 403,
  kNotFound = 404,
  kTooLarge = 413,
  kTooMany = 429,
  kFailed = 500,
  kNoRoom = 507
};

}  // namespace perfbench::harness
