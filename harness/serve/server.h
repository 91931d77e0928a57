// The views of a database over HTTP, for browsers on this machine.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "harness/app/installation.h"
#include "harness/serve/push_receiver.h"

namespace perfbench::harness {

struct ServerOptions {
  std::filesystem::path db;
  std::string address = "127.0.0.1";
  int port = 8123;          // 0: any free port
  bool write = false;       // clients with the token may acknowledge and close alerts
  std::string author = {};  // of such changes; empty: author_or_current()
  std::filesystem::path accept =
      {};  // keys of machines that may push runs (harness/system/machine_keys.h); empty: none
  PushLimits push = {};
  int request_ms = 5000;  // time in which a whole request must arrive, and its answer be received (deadline_server.h)
  int patience_ms =
      120;  // how long a request waits for a page before it gets the previous version, or a page that announces it
};

// Serves until `stop_fd` can be read. Calls `ready` once it listens, with the address to open. For a server that
// accepts changes, the address ends in its token behind a "#", which browsers do not send. The database is opened
// read-only; only actions and pushed runs are written to it. Only requests whose Host is a numeric address of this
// machine, "localhost" or its own name are answered, so that no name of another site leads here. Actions need the token
// and must come from the server's own pages (Origin). Throws InputError if it cannot listen, if the database is not
// valid, and if a server that accepts changes has no author.
void serve(const ServerOptions& options, const Installation& installation, int stop_fd,
           const std::function<void(const std::string& url)>& ready);

}  // namespace perfbench::harness
