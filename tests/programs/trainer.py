#!/usr/bin/env python3
"""A training program for tests: prints the records of other programs, and misbehaves as it is told to.

It needs Python's standard library alone. Without --made-up every step computes for about --step-time seconds; with it no step
takes any time, and the times that are printed are those of a clock that only steps turn.
"""
import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time


ITERATIONS_PER_S = 20_000_000  # about what Python does


class Times:
    """The time of each step, by work or by a clock that is made up."""

    def __init__(self, options):
        self.options = options
        self.elapsed_s = 0.0
        # The same work in every process: work that is fitted to a time would differ from run to run, as times do.
        self.iterations = int(options.step_time * ITERATIONS_PER_S)

    @staticmethod
    def work(iterations):
        total = 0
        for i in range(iterations):
            total += i * i
        return total

    def take(self, step):
        """Does the step and returns its seconds."""
        factor = 1 + self.options.slow
        if self.options.slow_step == step:
            factor *= self.options.slow_step_factor
        if self.options.made_up:
            seconds = self.options.step_time * factor * (1 + 0.01 * (step % 3))
        else:
            begin = time.perf_counter()
            self.work(int(self.iterations * factor))
            seconds = time.perf_counter() - begin
        self.elapsed_s += seconds
        return seconds


def megatron(r):
    value = "number of nan iterations: 1" if r.loss == "nan" else f"lm loss: {float(r.loss):.6E}"
    return (f" [2026-04-06 02:59:36] iteration {r.step + 1:8}/{r.steps:8} | consumed samples: {64 * (r.step + 1):12} | "
            f"elapsed time per iteration (ms): {1e3 * r.seconds:.1f} | throughput per GPU (TFLOP/s/GPU): 239.8 | "
            f"learning rate: 8.600000E-06 | global batch size: 64 | {value} | grad norm: 1.500 |")


def levanter(r):
    record = {"tracker": "json_logger", "event": "log", "step": r.step, "throughput/duration": r.seconds,
              "throughput/loading_time": 0.0, "throughput/hook_time": 0.0, "train/loss": float(r.loss)}
    return "2026-01-01T00:00:00 - 0 - levanter.tracker - INFO :: " + json.dumps(record)


DIALECTS = {
    "maxtext": lambda r: f"completed step: {r.step}, seconds: {r.seconds:.3f}, TFLOP/s/device: 1.500, "
                         f"Tokens/s/device: {4096 / r.seconds:.3f}, total_weights: 4096, loss: {r.loss}",
    "torchtitan": lambda r: f"[titan] 2026-06-26 18:23:14,486 - root - INFO - step: {r.step + 1:2}  loss: {r.loss:>7}  "
                            f"grad_norm:  1.5000  memory:  2.66GiB(2.80%)  tps: {4096 / r.seconds:,.0f}  tflops: 12.14  "
                            "mfu: 1.23%",
    "megatron": megatron,
    "megatron_bridge": lambda r: f"Step Time : {r.seconds:.2f}s GPU utilization: 412.5MODEL_TFLOP/s/GPU\n" + megatron(r),
    "nemo": lambda r: f"Training epoch 0, iteration {r.step}/{r.steps - 1} | lr: 1e-05 | global_batch_size: 64 | "
                      f"global_step: {r.step} | reduced_train_loss: {r.loss} | train_step_timing in s: {r.seconds:.4g} | "
                      f"consumed_samples: {64 * (r.step + 1)}",
    "axlearn": lambda r: f"process   0 step {r.step + 1:8}] loss={r.loss}\n"
                         f"process   0 step {r.step + 1:8}] Average step time: {r.seconds:.6g} seconds",
    "llmc": lambda r: f"step {r.step + 1:4}/{r.steps} | loss {r.loss} (+nanz)| norm 1.4800 (+nanz)| lr 3.00e-04 | "
                      f"{1e3 * r.seconds:.2f} ms | -100.0% bf16 MFU | {4096 / r.seconds:.0f} tok/s",
    "nanogpt": lambda r: f"iter {r.step}: loss {r.loss}, time {1e3 * r.seconds:.2f}ms, mfu -100.00%",
    "hf4": lambda r: f"{{'loss': {r.loss}, 'grad_norm': 1.5, 'learning_rate': 2.5e-06, 'epoch': 0.4}}",
    "hf_trainer": lambda r: f"{{'loss': '{r.loss}', 'grad_norm': '1.5', 'learning_rate': '2.5e-06', 'epoch': '0.4', "
                            f"'train_runtime': '{r.elapsed_s:.4f}', 'train_tokens_per_second': '2.538e+04'}}",
    "litgpt": lambda r: f"Epoch 1 | iter {r.step + 1} step {r.step + 1} | loss train: {r.loss}, val: n/a | "
                        f"iter time: {1e3 * r.seconds:.2f} ms (step) remaining time: 0:01:00",
    "deepspeed": lambda r: f"[INFO] [timer.py:260:stop] epoch=0/micro_step={r.step + 1}/global_step={r.step + 1}, "
                           f"RunningAvgSamplesPerSec=64.0, CurrSamplesPerSec={64 / r.seconds:.6f}, MemAllocated=1.5GB, "
                           "MaxMemAllocated=3.5GB",
    "levanter": levanter,
    "seqax": lambda r: f"[2024-05-01 00:00:00] Step {r.step}: {{'loss': {r.loss}, 'grad_norm': 1.5}}",
    "torchprime": lambda r: f"Epoch: 0.1000, step: {r.step}, loss: {r.loss}, grad_norm: 1.5000, lr: 2.00e-05, "
                            "trace time: 8.50 ms",
    "plain": lambda r: f"step {r.step} took {1e3 * r.seconds:.3f} ms",
    "silent": lambda r: "",
}


def maxtext_row(r):
    return {"step": float(r.step), "perf/step_time_seconds": r.seconds, "learning/loss": float(r.loss)}


def hf_row(r):
    return {"step": r.step + 1, "loss": float(r.loss), "train_runtime": round(r.elapsed_s, 4)}


def torchtune_line(r):
    return f"Step {r.step + 1} | loss:{r.loss} lr:2e-05 tokens_per_second_per_gpu:{4096 / r.seconds} "


class MetricFile:
    """What --file FORMAT=PATH asks for."""

    def __init__(self, argument):
        self.format, _, self.path = argument.partition("=")
        self.rows = []
        os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)
        if self.format == "lightning_csv":
            self.append("epoch,step,train/time,train_loss")

    def append(self, line):
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(line + "\n")

    def add(self, r):
        if self.format == "maxtext_jsonl":
            self.append(json.dumps(maxtext_row(r)))
        elif self.format == "jsonl":
            self.append(json.dumps({"step": r.step, "time": {"ms": 1e3 * r.seconds}}))
        elif self.format == "torchtune":
            self.append(torchtune_line(r))
        elif self.format == "lightning_csv":
            self.append(f"0,{r.step},{r.elapsed_s},")
            self.append(f"0,{r.step},,{r.loss}")
        elif self.format == "hf_state":
            self.rows.append(hf_row(r))
            with open(self.path, "w", encoding="utf-8") as file:
                json.dump({"log_history": self.rows}, file)
        else:
            sys.exit(f"trainer.py: --file knows no format '{self.format}'")


class Record:
    def __init__(self, step, steps, seconds, elapsed_s, loss):
        self.step, self.steps, self.seconds, self.elapsed_s, self.loss = step, steps, seconds, elapsed_s, loss


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--dialect", choices=sorted(DIALECTS), default="nanogpt")
    add("--steps", type=int, default=10)
    add("--step-time", type=float, default=0.01, help="seconds of a step")
    add("--made-up", action="store_true", help="print made-up times, and take none")
    add("--slow", type=float, default=0.0, help="fraction that every step takes longer")
    add("--slow-step", type=int, default=-1)
    add("--slow-step-factor", type=float, default=5.0)
    add("--log-interval", type=int, default=1)
    add("--file", action="append", default=[], metavar="FORMAT=PATH")
    add("--hang-after", type=int, default=-1)
    add("--deaf", action="store_true", help="ignore SIGTERM")
    add("--crash-after", type=int, default=-1)
    add("--exit-code", type=int, default=1, help="of --crash-after")
    add("--signal-after", type=int, default=-1, help="end by signal 11 after so many steps")
    add("--stop-after", type=int, default=-1, help="end with 0 after so many steps")
    add("--nan-at", type=int, default=-1)
    add("--restart-at", type=int, default=-1, help="begin again once, three steps earlier")
    add("--children", type=int, default=0, help="processes that are left behind")
    add("--flood", type=int, default=0, help="bytes that are printed after the last step")
    add("--memory", type=int, default=0, help="bytes to hold")
    add("--needs", metavar="VARIABLE")
    add("--ask", action="store_true", help="ask for input")
    add("--say", default="", help="a line before the first step")
    add("--done", default="", help="a line after the last step")
    add("--hook", metavar="FILE", help="perfbench_hook.py: append samples by it, and take turns")
    return parser.parse_args()


def prepare(options):
    """What happens before the first step; returns what has to be held."""
    if options.deaf:
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if options.needs:
        print("found", os.environ[options.needs])
    if options.ask:
        input("Continue? ")
    if options.say:
        print(options.say)
    for _ in range(options.children):
        subprocess.Popen(["sleep", "600"])
    return bytearray(b"x") * options.memory


def misbehave(options, done):
    """After so many steps."""
    if done == options.hang_after:
        time.sleep(600)
    if done == options.crash_after:
        print("Traceback: something went wrong", file=sys.stderr)
        sys.exit(options.exit_code)
    if done == options.signal_after:
        os.kill(os.getpid(), 11)
    if done == options.stop_after:
        sys.exit(0)


def load_hook(path):
    spec = importlib.util.spec_from_file_location("perfbench_hook", path)
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    return hook


def main():
    options = parse_options()
    held = prepare(options)
    hook = load_hook(options.hook) if options.hook else None
    files = [MetricFile(argument) for argument in options.file]
    times = Times(options)
    step = 0
    restarted = False
    while step < options.steps:
        misbehave(options, step)
        if step == options.restart_at and not restarted:
            restarted = True
            step -= 3
        if hook:
            hook.turn()
        seconds = times.take(step)
        loss = "nan" if options.nan_at == step else f"{5 - 0.01 * step - 0.001 * restarted:.4f}"
        record = Record(step, options.steps, seconds, times.elapsed_s, loss)
        if step % options.log_interval == 0 or step + 1 == options.steps:
            line = DIALECTS[options.dialect](record)
            if line:
                print(line)
            for file in files:
                file.add(record)
        if hook:
            hook.sample(record.step, step_time_s=record.seconds, loss=float(record.loss))
        step += 1
    if hook:
        hook.turn()
    misbehave(options, step)
    for _ in range(options.flood // 1000):
        print("x" * 999)
    if options.done:
        print(options.done)
    del held


if __name__ == "__main__":
    main()
