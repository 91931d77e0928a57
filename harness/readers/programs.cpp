// The records that each program prints. The named groups of a pattern, and the right sides of a table of keys, are
// figures (figure.h). The comments say how each program measures its times, because a step time is meaningless without
// that.
#include "harness/readers/programs.h"

#include <array>

namespace perfbench::readers {
namespace {

using Kind = spec::SampleKind;

constexpr Pairs kBars{'|', ':'};    // a: 1 | b: 2
constexpr Pairs kCommas{',', '='};  // a=1, b=2
constexpr Pairs kSpaces{' ', ':'};  // a:1 b:2
constexpr Pairs kPython{',', ':'};  // {'a': 1, 'b': '2'}

// Host time between two dispatches. In a loop that does not wait for the device, the times of the first steps mean
// nothing. The time of an evaluation after step n is in the time of step n + 1.
constexpr std::array kMaxText{
    Form{.literal = "completed step:",
         .pattern = R"(completed step: (?P<step>\d+), seconds: (?P<step_time_s>[\d.]+)(?:, live slice count: \d+)?)"
                    R"((?:, TFLOP/s/device: (?P<tflops_dev>[\d.]+), Tokens/s/device: (?P<tok_s_dev>[\d.]+))?)"
                    R"(, total_weights: (?P<real_tokens>[\d.]+), loss: (?P<loss>[-\d.naif]+))"},
    Form{.literal = "completed step:",  // older versions, without Tokens/s and total_weights
         .pattern = R"(completed step: (?P<step>\d+), seconds: (?P<step_time_s>[\d.]+))"
                    R"((?:, TFLOP/s(?:/device)?: (?P<tflops_dev>[\d.]+))?(?:.*?, loss: (?P<loss>[-\d.naif]+))?)"},
    Form{.literal = "eval metrics after step:", .pattern = "eval metrics after step: ", .effect = Effect::evaluation}};

constexpr std::array kMaxTextJson{Form{.literal = "perf/step_time_seconds", .is_json = true}};
constexpr std::array kMaxTextKeys{
    Key{"step", "step"},
    Key{"perf/step_time_seconds", "step_time_s"},
    Key{"perf/per_device_tokens_per_sec", "tok_s_dev"},
    Key{"perf/per_device_tflops_per_sec", "tflops_dev"},
    Key{"learning/loss", "loss"},
    Key{"learning/grad_norm", "grad_norm"},
    Key{"learning/total_weights", "real_tokens"},
};

// The window begins at the previous record, or for step 1 before the first step. tps is the number of tokens of one
// device over the time, so the step time is the number of declared tokens over tps. A validation resets the clock.
constexpr std::array kTorchtitan{
    Form{.literal = "validate", .pattern = R"(validate +step:)", .effect = Effect::skip},
    Form{.literal = "step:",
         .pattern =
             R"(step: +(?P<step>\d+) +loss: +(?P<loss>[-\d.naif]+) +(?:grad_norm: +(?P<grad_norm>[-\d.naif]+) +)?)"
             R"(memory: +(?P<memory_gib>[\d.]+)GiB\([\d.]+%\) +tps: (?P<tok_s_dev>[\d,]+))"
             R"((?: +tflops: (?P<tflops_dev>[\d,.]+))?(?: +mfu: (?P<mfu_percent>[\d.]+%|N/A))?)",
         .time_kind = Kind::window_mean}};

// A mean over the interval, with a barrier. It includes data loading and excludes evaluation and saves. A loss that is
// NaN has no key. Iteration 1 is printed but resets nothing, so that the next record includes it.
constexpr std::array kMegatron{Form{.literal = "iteration",
                                    .pattern = R"( iteration +(?P<step>\d+)/ *\d+ \|)",
                                    .time_kind = Kind::window_mean,
                                    .pairs = kBars}};
constexpr std::array kMegatronKeys{
    Key{"elapsed time per iteration (ms)", "step_time_ms"},
    Key{"throughput per GPU (TFLOP/s/GPU)", "tflops_dev"},
    Key{"energy per GPU (J/iter/GPU)", "energy_j"},
    Key{"power per GPU (W/GPU)", "power_w"},
    Key{"learning rate", "learning_rate"},
    Key{"lm loss", "loss"},
    Key{"loss", "loss"},
    Key{"grad norm", "grad_norm"},
    Key{"number of nan iterations", "nan_count"},
};

// Megatron-Bridge prints a line of rank 0 before the line of the last rank. That line has no step and a resolution of
// 10 ms, and its unit is TFLOP/s although it says utilization.
constexpr std::array kBridge{
    Form{.literal = "Step Time",
         .pattern =
             R"(Step Time : (?P<step_time_s>[\d.]+)s GPU utilization: (?P<tflops_dev>[\d.]+)(?:MODEL_)?TFLOP/s/GPU)",
         .time_kind = Kind::window_mean},
    kMegatron[0]};

// A mean over the interval between batch hooks, which excludes the loader. The bar prints the same step many times.
constexpr std::array kNemo{Form{.literal = "Training epoch",
                                .pattern = R"(Training epoch \d+, iteration (?P<step>\d+)/\d+ \|)",
                                .time_kind = Kind::window_mean,
                                .pairs = kBars},
                           Form{.literal = "train_step_timing in s=",
                                .pattern = R"(Epoch \d+: .*?\[[^\[,]*, )",
                                .time_kind = Kind::window_mean,
                                .pairs = kCommas}};
constexpr std::array kNemoKeys{
    Key{"global_step", "step"},        Key{"train_step_timing in s", "step_time_s"},
    Key{"reduced_train_loss", "loss"}, Key{"grad_norm", "grad_norm"},
    Key{"lr", "learning_rate"},
};

// A mean over 100 steps that includes data loading, evaluation and saves; the first one includes compilation.
constexpr std::array kAxlearn{
    Form{.literal = "Average step time:",
         .pattern = R"(process +(?P<rank>\d+) step +(?P<step>\d+)\] Average step time: (?P<step_time_s>\S+) seconds)",
         .time_kind = Kind::window_mean},
    Form{.literal = "loss=",
         .pattern = R"(process +(?P<rank>\d+) step +(?P<step>\d+)\] loss=(?P<loss>[-+\d.eEnaif]+))"}};

// train_gpt2.cu, train_gpt2.py, train_gpt2_fp32.cu and train_gpt2.c. Measured with CUDA events; excludes validation and
// sampling.
constexpr std::array kLlmc{
    Form{.literal = "bf16 MFU",
         .pattern =
             R"(step +(?P<step>\d+)/\d+ \| loss (?P<loss>[-+\d.naif]+) \([^)]*z\)\| norm (?P<grad_norm>[-+\d.naif]+) )"
             R"(\([^)]*z\)\| lr (?P<learning_rate>\S+) \| (?P<step_time_ms>[\d.]+) ms \| (?P<mfu_percent>-?[\d.]+)% )"
             R"(bf16 MFU \| (?P<tok_s>\d+) tok/s)",
         .claim_kind = Kind::ema},
    Form{
        .literal = " ms | ",
        .pattern =
            R"(step +(?P<step>\d+)/\d+ \|.*?loss (?P<loss>[-+\d.naif]+).*\((?P<step_time_ms>[\d.]+) ms \| (?P<tok_s>[\d.]+) tok/s\))"},
    Form{
        .literal = " tok/s)",
        .pattern =
            R"(step +(?P<step>\d+)/\d+: train loss (?P<loss>[-+\d.naif]+) \((?P<step_time_ms>[\d.]+) ms, (?P<tok_s>[\d.]+) tok/s\))"},
    Form{.literal = "(took ",
         .pattern = R"(step (?P<step>\d+): train loss (?P<loss>[-+\d.naif]+) \(took (?P<step_time_ms>[\d.]+) ms\))"},
    Form{.literal = "total average iteration time:",
         .pattern = R"(total average iteration time: (?P<step_time_ms>[\d.]+) ms)",
         .time_kind = Kind::since_start_mean}};

// One object a line, in an array that stays open while the program runs. More precise than its standard output, whose
// units change at 100 s.
constexpr std::array kLlmq{Form{.literal = "\"log\"", .pattern = R"("log": ?"step")", .is_json = true}};
constexpr std::array kLlmqKeys{Key{"step", "step"}, Key{"duration_ms", "step_time_ms"}, Key{"loss", "loss"},
                               Key{"norm", "grad_norm"}, Key{"lr", "learning_rate"}};

// The time of one iteration, whatever the interval. The iteration after an evaluation includes it. mfu is a running
// average, and -100 % until there is a value.
constexpr std::array kNanoGpt{
    Form{.literal = ": train loss", .pattern = R"(step \d+: train loss [^,]+, val loss)", .effect = Effect::evaluation},
    Form{
        .literal = "iter ",
        .pattern =
            R"(iter (?P<step>\d+): loss (?P<loss>[-\d.naif]+), time (?P<step_time_ms>[\d.]+)ms(?:, mfu (?P<mfu_percent>-?[\d.]+)%)?)",
        .claim_kind = Kind::ema}};

// Records do not have a step: it comes from a progress bar, or records are counted. train_runtime is the time since the
// start, including evaluations and saves. Numbers are quoted since version 5.0.
constexpr std::array kHfTrainer{
    Form{.literal = "%|", .pattern = R"(\| *(?P<position>\d+)/(?P<position_end>\d+) \[)", .effect = Effect::progress},
    Form{.literal = "{'eval_", .pattern = R"(\{'eval_)", .effect = Effect::evaluation},
    Form{.literal = "{'loss'",
         .pattern = R"(\{'loss': '?(?P<loss>[-+\d.eEnaif]+)'?)",
         .claim_kind = Kind::since_start_mean,
         .pairs = kPython},
    Form{.literal = "'train_steps_per_second'",
         .pattern = R"('train_steps_per_second': '?(?P<steps_per_s>[-+\d.eE]+)'?)",
         .time_kind = Kind::since_start_mean}};
constexpr std::array kHfTrainerKeys{Key{"grad_norm", "grad_norm"}, Key{"learning_rate", "learning_rate"},
                                    Key{"train_runtime", "elapsed_s"}, Key{"train_tokens_per_second", "tok_s"}};

// One record for each micro-batch; the one with "(step)" includes the optimizer.
constexpr std::array kLitgpt{
    Form{.literal = "iter time:",
         .pattern = R"(Epoch \d+ \| iter \d+ step (?P<step>\d+) \| loss train: (?P<loss>[-\d.naif]+), val: .*? \| )"
                    R"(iter time: (?P<micro_ms>[\d.]+) ms(?P<micro_last> \(step\))?)"}};

// Curr is the step at the boundary, including all its micro-batches. RunningAvg is a mean since the start.
constexpr std::array kDeepSpeed{Form{
    .literal = "CurrSamplesPerSec=",
    .pattern =
        R"(global_step=(?P<step>\d+), RunningAvgSamplesPerSec=[-\d.einf]+, CurrSamplesPerSec=(?P<samples_s>[\d.]+), )"
        R"(MemAllocated=[\d.]+GB, MaxMemAllocated=(?P<memory_gib>[\d.]+)GB)"}};

// The duration excludes data loading and hooks: the step time is the sum of three figures.
constexpr std::array kLevanter{Form{.literal = "json_logger", .pattern = R"("event": ?"log")", .is_json = true}};
constexpr std::array kLevanterKeys{
    Key{"step", "step"},
    Key{"throughput/duration", "part_s"},
    Key{"throughput/loading_time", "part_s"},
    Key{"throughput/hook_time", "part_s"},
    Key{"throughput/loading_time", "loading_s"},
    Key{"throughput/hook_time", "hook_s"},
    Key{"throughput/tokens_per_second", "tok_s"},
    Key{"throughput/mfu", "mfu_percent"},
    Key{"train/loss", "loss"},
};

// The rate counts only tokens that contribute to the loss. Without padding, the step time can be computed from it if
// the tokens are declared.
constexpr std::array kTorchtune{Form{.literal = "Step ", .pattern = R"(Step (?P<step>\d+) \| )", .pairs = kSpaces},
                                Form{.literal = "tokens_per_second_per_gpu", .is_json = true}};
constexpr std::array kTorchtuneKeys{Key{"step", "step"},
                                    Key{"loss", "loss"},
                                    Key{"lr", "learning_rate"},
                                    Key{"grad_norm", "grad_norm"},
                                    Key{"tokens_per_second_per_gpu", "tok_s_dev"},
                                    Key{"peak_memory_active", "memory_gib"}};

// A step prints no time; a profile of two steps prints one, once.
constexpr std::array kSeqax{
    Form{.literal = "Step ", .pattern = R"(Step (?P<step>\d+): \{)", .pairs = kPython},
    Form{.literal = "Profile time:",
         .pattern = R"(Profile time: (?P<window_s>[\d.]+)s for (?P<window_steps>\d+) steps)",
         .time_kind = Kind::window_mean},
    Form{.literal = "MFU (projections only)", .pattern = R"(MFU \(projections only\): (?P<mfu_percent>[\d.]+)% MFU)"}};
constexpr std::array kSeqaxKeys{Key{"loss", "loss"}, Key{"grad_norm", "grad_norm"},
                                Key{"learning_rate", "learning_rate"}};

// "trace time" is the time of tracing and not of the step.
constexpr std::array kTorchprime{
    Form{.literal = "trace time:",
         .pattern = R"(step: (?P<step>\d+), loss: (?P<loss>[-\d.naif]+)(?:, grad_norm: (?P<grad_norm>[-\d.naif]+))?)"
                    R"((?:, lr: (?P<learning_rate>[-+\d.eE]+))?, trace time: (?P<trace_ms>[\d.]+) ms)"}};

constexpr std::array kPrograms{
    Program{{"maxtext", "MaxText: lines \"completed step\"", Source::log, 3}, kMaxText, {}, 0},
    Program{
        {"maxtext_jsonl", "MaxText: metrics_file, in full precision", Source::file, 3}, kMaxTextJson, kMaxTextKeys, 0},
    Program{{"torchtitan", "torchtitan: lines with tps; step times need tokens_per_device", Source::log, 5},
            kTorchtitan,
            {},
            1,
            Covers::since_last,
            TimeFrom::tokens_per_device},
    Program{{"megatron", "Megatron-LM: lines \"iteration n/ m\"", Source::log, 3},
            kMegatron,
            kMegatronKeys,
            1,
            Covers::since_last_reset},
    Program{{"megatron_bridge", "Megatron-Bridge: Megatron-LM's lines, and lines \"Step Time\"", Source::log, 3},
            kBridge,
            kMegatronKeys,
            1,
            Covers::since_last,
            TimeFrom::record,
            Unnumbered::next},
    Program{{"nemo", "NeMo 2: lines \"Training epoch\", and the bar of Lightning", Source::log, 3},
            kNemo,
            kNemoKeys,
            0,
            Covers::since_last},
    Program{{"axlearn", "AXLearn: lines \"Average step time\"", Source::log, 1}, kAxlearn, {}, 1, Covers::since_last},
    Program{{"llmc", "llm.c: train_gpt2.cu, .c, .py and the fp32 one", Source::log, 1}, kLlmc, {}, 1},
    Program{{"llmq", "llmq: its JSON log", Source::file, 1}, kLlmq, kLlmqKeys, 0},
    Program{{"nanogpt", "nanoGPT: lines \"iter n: loss\"", Source::log, 2}, kNanoGpt, {}, 0},
    Program{{"hf_trainer", "Hugging Face Trainer's standard output, 4.x and 5.x; hf_state is better", Source::log, 2},
            kHfTrainer,
            kHfTrainerKeys,
            1,
            Covers::since_last,
            TimeFrom::record,
            Unnumbered::counted},
    Program{{"litgpt", "litgpt: lines \"iter time\"", Source::log, 2}, kLitgpt, {}, 1},
    Program{{"deepspeed", "DeepSpeed: lines CurrSamplesPerSec; step times need samples", Source::log, 2},
            kDeepSpeed,
            {},
            1,
            Covers::one,
            TimeFrom::samples},
    Program{{"levanter", "Levanter: lines of its json_logger", Source::log, 2}, kLevanter, kLevanterKeys, 0},
    Program{{"torchtune", "torchtune: its log, text or JSON lines; step times need tokens_per_device", Source::file, 2},
            kTorchtune,
            kTorchtuneKeys,
            1,
            Covers::one,
            TimeFrom::tokens_per_device},
    Program{{"seqax", "seqax: lines \"Step n:\", and its profile", Source::log, 0}, kSeqax, kSeqaxKeys, 0},
    Program{
        {"torchprime", "torchprime: losses; torchprime_metrics has the step time", Source::log, 0}, kTorchprime, {}, 0},
};

}  // namespace

std::span<const Program> log_programs() {
  return kPrograms;
}

}  // namespace perfbench::readers
