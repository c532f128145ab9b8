// SPDX-License-Identifier: Apache-2.0
// Servers, sessions and signals for tests of apertures.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "live/aperture/aperture.h"
#include "live/udp/live_server_test_support.h"

/// Why a test of faults cannot run here, if it cannot.
#define SKIP_WITHOUT(wanted)                                                            \
  if (const ApertureSupport here = aperture_support(); here.mode > (wanted)) {          \
    GTEST_SKIP() << "the kernel does not give what this test needs: " << here.sentence; \
  }

namespace wharf::live {

/// How a session reaches its server.
struct Way {
  wire::Protocol protocol = wire::Protocol::kUb;
  bool shared = false;
};

inline std::vector<Way> every_way() {
  std::vector<Way> ways;
  for (const wire::Protocol protocol : every_protocol()) {
    ways.push_back({protocol, false});
    ways.push_back({protocol, true});
  }
  return ways;
}

inline std::string way_name(const Way& way) {
  return fmt::format("{}_{}", name(way.protocol), way.shared ? "shm" : "udp");
}

inline ServerConfig aperture_server(const Way& way, std::uint64_t bytes = 512 * 1024,
                                    std::uint32_t clients = 2) {
  ServerConfig config;
  config.protocol = way.protocol;
  if (way.shared) config.listen = Place::in_shared_memory(fmt::format("aperture-{}", ::getpid()));
  config.memory_bytes = bytes;
  config.clients_max = clients;
  config.idle = {.spins = 20, .yields = 20};
  return config;
}

inline std::unique_ptr<ApertureSession> open_session(const Place& server, wire::Protocol protocol,
                                                     std::uint64_t slice_key = 0, bool writable = true) {
  ApertureOutcome outcome;
  auto session = ApertureSession::open({.server = format_place(server),
                                        .protocol = std::string(name(protocol)),
                                        .writable = writable,
                                        .slice_key = slice_key,
                                        .patience_ms = 60'000},
                                       outcome);
  EXPECT_TRUE(outcome) << outcome.message;
  return session;
}

inline std::unique_ptr<Aperture> map_all(ApertureSession& session, const ApertureOptions& options = {}) {
  ApertureOutcome outcome;
  auto aperture = Aperture::map(session, {0, session.bytes()}, options, outcome);
  EXPECT_TRUE(outcome) << outcome.message;
  return aperture;
}

namespace signal_detail {
inline thread_local sigjmp_buf way_back;
inline void go_back(int number) { siglongjmp(way_back, number); }
}  // namespace signal_detail

/// The signal that `action` gets, 0 if none. It keeps nothing that a destructor would free.
template <typename Action>
int signal_of(Action action) {
  struct sigaction handler {};
  handler.sa_handler = signal_detail::go_back;
  handler.sa_flags = SA_NODEFER;
  struct sigaction segv {};
  struct sigaction bus {};
  ::sigaction(SIGSEGV, &handler, &segv);
  ::sigaction(SIGBUS, &handler, &bus);
  const int number = sigsetjmp(signal_detail::way_back, 1);
  if (number == 0) action();
  ::sigaction(SIGSEGV, &segv, nullptr);
  ::sigaction(SIGBUS, &bus, nullptr);
  return number;
}

/// Loads and stores that no compiler leaves out.
inline std::byte load(const std::byte* at) { return *const_cast<const volatile std::byte*>(at); }
inline void store(std::byte* at, std::byte value) { *const_cast<volatile std::byte*>(at) = value; }

/// Tests that need one server, whatever the protocol.
class OfOneServer : public testing::Test {
 protected:
  OfOneServer() : way_{live_protocols().front().protocol, false}, server_(aperture_server(way_)) {}
  std::unique_ptr<ApertureSession> session(std::uint64_t slice_key = 0, bool writable = true) {
    return open_session(server_.place(), way_.protocol, slice_key, writable);
  }
  Way way_;
  TestServer server_;
};

}  // namespace wharf::live
