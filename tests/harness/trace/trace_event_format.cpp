#include "tests/harness/trace/trace_event_format.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

namespace perfbench::harness {
namespace {

using nlohmann::json;
using Thread = std::pair<std::int64_t, std::int64_t>;  // pid, tid

struct Slice {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

class Reader {
 public:
  std::vector<std::string> read(const std::string& text) {
    const auto trace = json::parse(text, nullptr, false);
    if (!trace.is_object() || !trace.contains("traceEvents") || !trace["traceEvents"].is_array()) {
      return {"no object with an array traceEvents"};
    }
    const auto unit = trace.value("displayTimeUnit", "ms");
    if (unit != "ms" && unit != "ns") faults_.push_back("displayTimeUnit " + unit);
    std::vector<std::pair<std::int64_t, std::size_t>> order;  // by time, then in the order of the file
    for (const auto& event : trace["traceEvents"]) {
      number_ = order.size();
      order.emplace_back(is_sound(event) && event["ph"] != "M" ? ns(event["ts"]) : -1, number_);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [at, number] : order) {
      number_ = number;
      if (at >= 0) take(trace["traceEvents"][number], at);
    }
    for (const auto& [flow, ended] : flows_) {
      if (!ended) faults_.push_back("the arrow " + std::get<0>(flow) + " never ends");
    }
    return faults_;
  }

 private:
  static std::int64_t ns(const json& us) { return static_cast<std::int64_t>(us.get<double>() * 1000); }

  bool fault(const std::string& what) {
    faults_.push_back("event " + std::to_string(number_) + ": " + what);
    return false;
  }

  bool is_sound(const json& event) {
    const auto is_id = [&](const char* key) {
      return event.contains(key) && event[key].is_number_integer() && event[key] >= 0 &&
             event[key] <= std::numeric_limits<std::uint32_t>::max();
    };
    const auto is_time = [&](const char* key) {
      return event.contains(key) && event[key].is_number() && event[key] >= 0.0;
    };
    const auto is_text = [&](const char* key) {
      return event.contains(key) && event[key].is_string() && !event[key].get<std::string>().empty();
    };
    if (!event.is_object() || !is_text("ph")) return fault("no ph");
    const std::string ph = event["ph"];
    if (!is_id("pid")) return fault("pid is not an integer");
    if (!is_text("name")) return fault("no name");
    if (ph == "M") {
      const bool known = event["name"] == "process_name" || event["name"] == "thread_name";
      if (!known) return fault("metadata that nobody reads");
      if (event["name"] == "thread_name" && !is_id("tid")) return fault("a thread's name without a thread");
      if (!event.contains("args") || !event["args"].contains("name") || !event["args"]["name"].is_string()) {
        return fault("metadata without args.name");
      }
      return true;
    }
    if (ph != "X" && ph != "s" && ph != "f") return fault("ph " + ph);
    if (!is_id("tid") || !is_time("ts") || !is_text("cat")) return fault("no tid, ts or cat");
    if (ph == "X") return is_time("dur") || fault("a span without dur");
    if (!event.contains("id")) return fault("an arrow without id");
    const auto& id = event["id"];
    const bool whole = id.is_number_integer() && id >= 0;
    const bool hexadecimal = id.is_string() && !id.get<std::string>().empty() &&
                             id.get<std::string>().find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
    return whole || hexadecimal || fault("an arrow's id is " + id.dump());
  }

  void take(const json& event, std::int64_t at) {
    auto& open = open_[{event["pid"], event["tid"]}];
    while (!open.empty() && open.back().end <= at && !(open.back().begin == at && event["ph"] != "X")) open.pop_back();
    if (event["ph"] == "X") {
      const Slice slice{at, at + ns(event["dur"])};
      if (!open.empty() && slice.end > open.back().end) fault("overlaps the span that is open");
      open.push_back(slice);
      return;
    }
    if (open.empty()) fault("an arrow without a span around it");
    const std::tuple<std::string, std::string, std::string> flow{event["id"].dump(), event["cat"], event["name"]};
    if (event["ph"] == "s" && !flows_.emplace(flow, false).second) fault("an arrow that begins twice");
    if (event["ph"] == "s") return;
    const auto begun = flows_.find(flow);
    if (begun == flows_.end()) {
      fault("an arrow that ends and never began");
    } else {
      begun->second = true;
    }
  }

  std::size_t number_ = 0;
  std::map<Thread, std::vector<Slice>> open_;
  std::map<std::tuple<std::string, std::string, std::string>, bool> flows_;  // whether it has ended
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> trace_event_faults(const std::string& text) {
  return Reader().read(text);
}

}  // namespace perfbench::harness
