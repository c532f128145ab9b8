// SPDX-License-Identifier: Apache-2.0
// The whole of a shared log in one process, in C++: a worker in a thread, a target, and an initiator that
// appends, scatters and flushes. Prints what the log shows.
#include <atomic>
#include <iostream>
#include <string>
#include <thread>
#include <wharf/rdmo.hpp>

namespace rdmo = wharf::rdmo_client;

namespace {

/// Waits for one outcome, which must be good.
wharf_rdmo_outcome done(rdmo::Initiator& initiator) {
  const auto outcome = initiator.wait();
  if (!outcome) throw std::runtime_error("nothing was under way");
  if (outcome->status != WHARF_RDMO_DONE) throw std::runtime_error(wharf_rdmo_status_name(outcome->status));
  return *outcome;
}

int run() {
  wharf_rdmo_worker_config worker_config = WHARF_RDMO_WORKER_CONFIG;
  worker_config.listen = "127.0.0.1:0";
  rdmo::Worker worker(worker_config);
  std::thread serving([&] { worker.run(); });

  const std::string worker_address = "127.0.0.1:" + std::to_string(worker.port());
  wharf_rdmo_target_config target_config = WHARF_RDMO_TARGET_CONFIG;
  target_config.worker = worker_address.c_str();
  target_config.listen = "127.0.0.1:0";
  int result = 0;
  try {
    rdmo::Target target(target_config);
    const std::string target_address = "127.0.0.1:" + std::to_string(target.port());
    std::atomic<bool> over{false};
    std::string complaint;
    std::thread client([&] {
      try {
        wharf_rdmo_initiator_config config = WHARF_RDMO_INITIATOR_CONFIG;
        config.target = target_address.c_str();
        rdmo::Initiator initiator(config);
        initiator.append("one ");
        const std::uint64_t first = done(initiator).place;
        initiator.append("two ", 0, WHARF_RDMO_EXPECT, first + 4);
        done(initiator);
        initiator.scatter({{first, "ONE", 3}});
        done(initiator);
        initiator.flush();
        done(initiator);
        // Somebody else's tail: refused, and nothing is written.
        initiator.append("three ", 0, WHARF_RDMO_EXPECT, first);
        if (initiator.wait()->status != WHARF_RDMO_TAIL_MOVED)
          throw std::runtime_error("the tail did not move");
      } catch (const std::exception& error) {
        complaint = error.what();
      }
      over = true;
    });
    std::string trouble;
    while (!over) {
      try {
        target.progress();
      } catch (
          const rdmo::Error& error) {  // An initiator that went wrong, or the worker: the client will say.
        trouble = error.what();
      }
      std::this_thread::yield();
    }
    client.join();
    if (!complaint.empty() && !trouble.empty()) complaint += "; " + trouble;
    if (!complaint.empty()) throw std::runtime_error(complaint);
    std::cout << target.text() << '\n';
  } catch (const std::exception& error) {
    std::cerr << "rdmo_log: " << error.what() << '\n';
    result = 1;
  }
  worker.stop();
  serving.join();
  return result;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::cerr << "rdmo_log: " << error.what() << '\n';
    return 1;
  }
}
