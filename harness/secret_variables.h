// Environment variables that hold secrets of the harness. No command that the harness starts inherits them: engines of
// any revision, compilers and git have no use for them (harness/launch/process.h).
#pragma once

#include <array>
#include <string_view>

namespace perfbench::harness {

inline constexpr const char* kWebhookUrlVariable = "PERFBENCH_WEBHOOK_URL";
inline constexpr const char* kWebhookTokenVariable = "PERFBENCH_WEBHOOK_TOKEN";

inline constexpr std::array<std::string_view, 2> kSecretVariables{kWebhookUrlVariable, kWebhookTokenVariable};

}  // namespace perfbench::harness
