// SPDX-License-Identifier: Apache-2.0
// One UCX context and worker of a process: endpoints that notice a dead peer, active messages, progress.
// Shared by the RDMO worker, targets and initiators. Written for UCX 1.13, which has no copied headers: a
// header lives here until its message has left.
#pragma once

#include <ucp/api/ucp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "engine/rdmo/ports.h"

namespace wharf::live {

/// What went wrong in UCX, as an environment error: "WHAT: UCX says ...".
Error ucx_error(const char* what, ucs_status_t status);

/// Takes active messages. `reply` is the endpoint to answer on, null if the sender gave none.
class MessageTaker {
 public:
  virtual ~MessageTaker() = default;
  virtual rdmo::Taken take(ucp_ep_h reply, std::uint32_t id, std::span<const std::byte> header,
                           const rdmo::Payload& payload) = 0;
};

class UcxPort {
 public:
  /// `transports` as in UCX_TLS: "tcp,posix,sysv,self", .... Endpoints notice dead peers only with tcp in the
  /// list.
  static Result<std::unique_ptr<UcxPort>> create(const std::string& transports, MessageTaker& taker);
  /// Closes its endpoints first: each operation that is under way ends, and is told, before this does.
  ~UcxPort();
  UcxPort(const UcxPort&) = delete;
  UcxPort& operator=(const UcxPort&) = delete;

  const std::vector<std::byte>& address() const { return address_; }
  /// An endpoint to whoever has that address; one that exists already may be given again.
  Result<ucp_ep_h> connect(std::span<const std::byte> address);
  /// The same for whoever listens at a network address, "HOST" in numbers.
  Result<ucp_ep_h> connect(const std::string& host, std::uint16_t port);
  /// Lets others connect by a network address. Gives the port, which is chosen when it is 0. No other thread
  /// of the process may have a port then: UCX 1.13 ends it when their connections follow each other in one
  /// descriptor (its pull request 9942).
  Result<std::uint16_t> listen(const std::string& host, std::uint16_t port);
  /// More wait for take_connected() at no time: they are rejected.
  static constexpr std::size_t kConnectingMost = 64;
  /// The endpoint of one that has connected so.
  bool take_connected(ucp_ep_h& endpoint);
  /// Waits until what was sent on it is there, so until it is wired up.
  Result<void> flush(ucp_ep_h endpoint, TimePs patience);
  /// Begins to close it without asking the peer. What is under way there fails, or has just ended: progress()
  /// tells each operation's end as ever, and until then UCX may use its buffer.
  void close(ucp_ep_h endpoint);
  /// Copies the header; UCX reads the payload until take_sent() gives `tag`, also when the endpoint is closed
  /// or dead. kNoTag: nobody is told.
  static constexpr std::uint64_t kNoTag = ~std::uint64_t{0};
  void send(ucp_ep_h endpoint, std::uint32_t id, std::span<const std::byte> header,
            std::span<const std::byte> payload, unsigned flags, std::uint64_t tag);
  bool take_sent(std::uint64_t& tag);
  /// Endpoints whose peer was found dead, or that refuse to send.
  bool take_failed(ucp_ep_h& endpoint);
  /// Gives a payload back that was held.
  void release(std::uint64_t handle);
  /// Starts to bring a payload that its sender still has to `buffer`. The handle is void then.
  ucs_status_ptr_t fetch(std::uint64_t handle, void* buffer, std::size_t length,
                         const ucp_request_param_t& param);

  /// Whether anything happened.
  bool progress() { return ucp_worker_progress(worker_) != 0; }
  ucp_context_h context() const { return context_; }
  ucp_worker_h worker() const { return worker_; }

 private:
  struct Header {
    UcxPort* port = nullptr;
    ucp_ep_h endpoint = nullptr;
    std::uint64_t tag = kNoTag;
    std::array<std::byte, 64> bytes{};
  };
  explicit UcxPort(MessageTaker& taker) : taker_(taker) {}
  Result<void> open(const std::string& transports);
  Result<void> handle(std::uint32_t id);
  Result<ucp_ep_h> create_endpoint(ucp_ep_params_t& params);
  ucs_status_t arrived(std::uint32_t id, std::span<const std::byte> header, void* data, std::size_t length,
                       const ucp_am_recv_param_t& param);
  void sent(Header* header, ucs_status_t status);
  void make_room();

  struct Handler {
    UcxPort* port = nullptr;
    std::uint32_t id = 0;
  };
  MessageTaker& taker_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  std::vector<std::byte> address_;
  ucp_listener_h listener_ = nullptr;
  std::vector<ucp_conn_request_h> connecting_;
  std::array<Handler, 2> handlers_{};
  std::deque<Header> headers_;
  std::vector<Header*> free_headers_;
  std::vector<std::uint64_t> sent_;
  std::size_t sent_taken_ = 0;
  std::vector<ucp_ep_h> open_;
  std::size_t closing_ = 0;
  std::vector<ucp_ep_h> failed_;
  std::unordered_set<std::uint64_t> fetched_;  ///< Handles that UCX has taken back.
};

}  // namespace wharf::live
