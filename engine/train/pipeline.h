// Executes the list of actions of a pipeline stage on the decoder's chunks. Values between two chunks go to the
// neighbour as messages: outputs onward, gradients back. Without a pipeline there are no messages.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "engine/model/decoder.h"
#include "engine/train/pipeline_schedule.h"

namespace perfbench::engine {

class Pipeline {
 public:
  Pipeline(Context& context, const spec::RunSpec& run, Decoder& decoder, Passes passes = Passes::both);

  // Runs every microbatch forward and, if asked for, backward. All messages have been received when it returns.
  void run(const std::function<Decoder::Microbatch(std::int64_t)>& microbatch);

 private:
  // Waits before its memory is freed.
  struct Message {
    Tensor values;
    Pending pending;
  };
  // A chunk of this rank, and a microbatch.
  using Place = std::pair<std::size_t, std::int64_t>;

  void execute(const PipelineAction& action, const Decoder::Microbatch& batch);
  Place place(const PipelineAction& action) const;
  Tensor take(std::map<Place, Message>& received, const Place& place);
  // At most one message is under way to each neighbour: memory for more would lie idle.
  void send(Heading heading);
  void settle(Heading heading);

  Context& context_;
  Decoder& decoder_;
  PipelineShape shape_;
  std::vector<PipelineAction> actions_;
  std::map<Place, Decoder::State> states_;
  std::map<Place, Message> inputs_;
  std::map<Place, Message> output_gradients_;
  Tensor computed_;              // to be sent
  std::array<Message, 2> sent_;  // by direction
};

}  // namespace perfbench::engine
