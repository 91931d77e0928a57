// The views of a database over HTTP, for browsers on this machine.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "harness/app/installation.h"

namespace perfbench::harness {

struct ServerOptions {
  std::filesystem::path db;
  std::string address = "127.0.0.1";
  int port = 8123;          // 0: one that is free
  bool write = false;       // alerts may be acknowledged and closed, by who has the token
  std::string author = {};  // of what is done so; empty: author_or_current()
  int request_ms = 5000;    // in which a whole request must arrive, and its answer be taken (deadline_server.h)
  int patience_ms = 150;  // how long who asks for a page waits, and then gets the one before it, or word that it comes
};

// Serves until `stop_fd` can be read. Calls `ready` once it listens, with the address to open: that of a server that
// writes ends in its token, behind a "#", which browsers keep to themselves. The database is opened read-only, and is
// written to by actions alone. Answers only requests whose Host is an address of this machine by number, "localhost" or
// its own name, so that no other site's name leads here; takes actions only with the token, and from its own pages
// (Origin). Throws InputError where it cannot listen, for a database that is none, and for a server that writes where
// nobody knows who its author is.
void serve(const ServerOptions& options, const Installation& installation, int stop_fd,
           const std::function<void(const std::string& url)>& ready);

}  // namespace perfbench::harness
