#include "engine/train/pipeline.h"

namespace perfbench::engine {

Pipeline::Pipeline(Context& context, const spec::RunSpec& run, Decoder& decoder, Passes passes)
    : context_(context),
      decoder_(decoder),
      shape_(pipeline_of(run)),
      actions_(pipeline_actions(shape_, stage_of_rank(context.collectives.mesh()), passes)) {}

Pipeline::Place Pipeline::place(const PipelineAction& action) const {
  return {static_cast<std::size_t>(action.chunk / shape_.stages), action.microbatch};
}

void Pipeline::run(const std::function<Decoder::Microbatch(std::int64_t)>& microbatch) {
  for (const auto& action : actions_) execute(action, microbatch(action.microbatch));
  settle(Heading::onward);
  settle(Heading::back);
}

void Pipeline::execute(const PipelineAction& action, const Decoder::Microbatch& batch) {
  using Kind = PipelineAction::Kind;
  const Place at = place(action);
  const auto begin = [&](std::map<Place, Message>& received, Heading heading, Tensor values) {
    Message message{.values = std::move(values), .pending = {}};
    message.pending = context_.collectives.receive(Axis::pp, heading, message.values);
    received.emplace(at, std::move(message));
  };
  switch (action.kind) {
    case Kind::begin_receive_input:
      begin(inputs_, Heading::onward, decoder_.new_input(at.first));
      break;
    case Kind::begin_receive_gradient:
      begin(output_gradients_, Heading::back, decoder_.new_output_gradient(at.first));
      break;
    case Kind::forward: {
      auto& state = states_.emplace(at, decoder_.new_state(at.first)).first->second;
      computed_ = decoder_.forward(at.first, batch, take(inputs_, at), state);
      if (batch.scored()) states_.erase(at);
      break;
    }
    case Kind::backward: {
      auto state = states_.extract(at);
      computed_ = decoder_.backward(at.first, batch, take(output_gradients_, at), state.mapped());
      break;
    }
    case Kind::send_output:
      send(Heading::onward);
      break;
    case Kind::send_gradient:
      send(Heading::back);
      break;
  }
}

// Empty if there is nothing to receive, because the chunk is at an end of the model.
Tensor Pipeline::take(std::map<Place, Message>& received, const Place& place) {
  const auto found = received.find(place);
  if (found == received.end()) return {};
  {
    PhaseClock::Scope scope(context_.clock, Phase::bubble);
    found->second.pending.wait();
  }
  Tensor values = std::move(found->second.values);
  received.erase(found);
  return values;
}

void Pipeline::send(Heading heading) {
  settle(heading);
  auto& sent = sent_[static_cast<std::size_t>(heading)];
  sent.values = std::move(computed_);
  sent.pending = context_.collectives.send(Axis::pp, heading, sent.values);
}

void Pipeline::settle(Heading heading) {
  auto& sent = sent_[static_cast<std::size_t>(heading)];
  if (!sent.values.defined()) return;
  PhaseClock::Scope scope(context_.clock, Phase::exposed_comm);
  sent.pending.wait();
  sent.values.reset();
}

}  // namespace perfbench::engine
