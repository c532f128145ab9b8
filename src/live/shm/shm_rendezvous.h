// SPDX-License-Identifier: Apache-2.0
// How processes of one host find each other to share memory: a Unix socket with a name that belongs to the
// user, in the abstract namespace, where nothing is left when its process ends. Either side asks the system
// who the other is, and goes on with its own user alone. The server then hands the link's descriptors over;
// the socket remains as control connection, and its end tells that the other process is gone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"
#include "base/time.h"
#include "live/shm/shared_link.h"

namespace wharf::live {

/// Whether `text` is meant as an address in shared memory: "shm:" and something.
bool names_shared_memory(std::string_view text);
/// NAME of "shm:NAME": 1 to 64 letters, digits, '.', '_' or '-'.
Result<std::string> parse_shm_name(std::string_view text);

/// What a server says when it hands a link over.
struct ShmPorts {
  std::uint16_t client = 0;
  std::uint16_t server = 0;
  bool operator==(const ShmPorts&) const = default;
};

/// A connection to another process of the same user.
struct ShmConnection {
  Descriptor control;
  pid_t process = 0;
};

class ShmListener {
 public:
  /// A name that is taken is an environment error.
  static Result<ShmListener> open(const std::string& name);
  /// A connection that has arrived, or nothing. Strangers are closed without a word. Never waits.
  std::optional<ShmConnection> accept() const;
  /// Readable when one has arrived.
  int descriptor() const { return socket_.number(); }

 private:
  explicit ShmListener(Descriptor socket) : socket_(std::move(socket)) {}
  Descriptor socket_;
};

/// Server: one message with the two descriptors. Never waits; an error when the client cannot take it.
Result<void> hand_over(const ShmConnection& to, const ShmPorts& ports, const SharedLink::OtherEnd& end);

/// Client: connects, trying again until `patience` is over, then an environment error; an input error when
/// another user listens there.
Result<ShmConnection> connect_shm(const std::string& name, TimePs patience);
/// Client: what the server handed over. Whatever a hostile one sends is refused, and its descriptors closed.
/// Nothing while it has not come yet.
std::optional<Result<SharedLink>> take_over(const ShmConnection& from, ShmPorts& ports);
/// The same, waiting for it.
Result<SharedLink> take_over(const ShmConnection& from, ShmPorts& ports, TimePs patience);

}  // namespace wharf::live
