// Readers of files: rows with keys, whole documents, TensorBoard's event files.
#pragma once

#include <memory>

#include "harness/readers/row_reader.h"

namespace perfbench::readers {

// JSON lines and CSV, by the keys of declared metrics. `settings` must outlive the readers. They throw ReaderError.
std::unique_ptr<Reader> make_json_lines_reader(const Settings& settings, SampleSink sink);
std::unique_ptr<Reader> make_csv_reader(const Settings& settings, SampleSink sink);
// Lightning's metrics.csv, with the columns that Lightning writes.
std::unique_ptr<Reader> make_lightning_reader(const Settings& settings, SampleSink sink);
// Lines that a program appends itself: every number of an object except `step` is a metric in perfbench's unit.
std::unique_ptr<Reader> make_hook_reader(const Settings& settings, SampleSink sink);
// trainer_state.json of the Hugging Face Trainer.
std::unique_ptr<Reader> make_hf_state_reader(const Settings& settings, SampleSink sink);
// train_metrics.json of torchprime.
std::unique_ptr<Reader> make_torchprime_metrics_reader(const Settings& settings, SampleSink sink);
// The scalars of a TensorBoard event file, by the tags of declared metrics. Throws ReaderError.
std::unique_ptr<Reader> make_event_file_reader(const Settings& settings, SampleSink sink);

}  // namespace perfbench::readers
