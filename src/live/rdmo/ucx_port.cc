// SPDX-License-Identifier: Apache-2.0
#include "live/rdmo/ucx_port.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sched.h>
#include <ucs/config/global_opts.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "live/reactor/host_name.h"
#include "live/reactor/live_clock.h"

namespace wharf::live {
namespace {

/// Marks handles of payloads that were copied, because UCX lends them for the callback alone. Data is
/// aligned.
constexpr std::uint64_t kCopied = 1;
/// Closing is a matter of this process alone.
constexpr TimePs kCloseMost = seconds(5);

Result<sockaddr_in> network_address(const std::string& host, std::uint16_t port) {
  const auto found = find_host(host);
  if (!found) return found.error();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(*found);
  return address;
}

}  // namespace

Error ucx_error(const char* what, ucs_status_t status) {
  return {ErrorKind::kEnvironment, fmt::format("{}: UCX says \"{}\"", what, ucs_status_string(status))};
}

Result<std::unique_ptr<UcxPort>> UcxPort::create(const std::string& transports, MessageTaker& taker) {
  std::unique_ptr<UcxPort> port(new UcxPort(taker));
  WHARF_TRY(port->open(transports));
  return port;
}

Result<void> UcxPort::open(const std::string& transports) {
  // What fails is told once, by us; UCX would print pages about every peer that dies.
  if (std::getenv("UCX_LOG_LEVEL") == nullptr) ucs_global_opts_set_value("LOG_LEVEL", "fatal");
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) return ucx_error("reading UCX's configuration", status);
  status = ucp_config_modify(config, "TLS", transports.c_str());
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_AMO64;
  if (status == UCS_OK) status = ucp_init(&params, config, &context_);
  ucp_config_release(config);
  if (status != UCS_OK) return ucx_error(fmt::format("transports {}", transports).c_str(), status);

  ucp_worker_params_t worker{};
  worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;  // One thread at a time, whichever.
  status = ucp_worker_create(context_, &worker, &worker_);
  if (status != UCS_OK) return ucx_error("making a UCX worker", status);
  for (const std::uint32_t id : {0U, 1U}) WHARF_TRY(handle(id));

  ucp_address_t* address = nullptr;
  std::size_t length = 0;
  status = ucp_worker_get_address(worker_, &address, &length);
  if (status != UCS_OK) return ucx_error("asking UCX for its address", status);
  const auto* first = reinterpret_cast<const std::byte*>(address);
  address_.assign(first, first + length);
  ucp_worker_release_address(worker_, address);
  return {};
}

Result<void> UcxPort::handle(std::uint32_t id) {
  handlers_[id] = {this, id};
  ucp_am_handler_param_t param{};
  param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                     UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  param.id = id;
  param.flags = UCP_AM_FLAG_PERSISTENT_DATA;
  param.arg = &handlers_[id];
  param.cb = [](void* argument, const void* header, std::size_t header_length, void* data, std::size_t length,
                const ucp_am_recv_param_t* received) {
    const auto* handler = static_cast<Handler*>(argument);
    UcxPort& port = *handler->port;
    try {
      return port.arrived(handler->id, {static_cast<const std::byte*>(header), header_length}, data, length,
                          *received);
    } catch (...) {
      // No memory to take it with. UCX is C, so nothing may pass it; and a connection that has lost a message
      // ends, or its next flush would lie.
      const bool replies = (received->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0;
      if (replies && port.failed_.size() < port.failed_.capacity())
        port.failed_.push_back(received->reply_ep);
      return UCS_OK;
    }
  };
  const ucs_status_t status = ucp_worker_set_am_recv_handler(worker_, &param);
  if (status != UCS_OK) return ucx_error("listening to active messages", status);
  return {};
}

ucs_status_t UcxPort::arrived(std::uint32_t id, std::span<const std::byte> header, void* data,
                              std::size_t length, const ucp_am_recv_param_t& param) {
  const bool replies = (param.recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0;
  const bool announced = (param.recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  const bool stays = (param.recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0;
  rdmo::Payload payload;
  payload.length = static_cast<std::uint32_t>(std::min<std::size_t>(length, 0xffff'ffffU));
  payload.data = announced ? nullptr : static_cast<const std::byte*>(data);
  payload.handle = reinterpret_cast<std::uint64_t>(data);
  std::unique_ptr<void, decltype(&std::free)> copy(nullptr, &std::free);
  if (!announced && !stays && length > 0) {
    copy.reset(std::malloc(length));
    if (copy == nullptr) throw std::bad_alloc();
    std::memcpy(copy.get(), data, length);
    payload.data = static_cast<const std::byte*>(copy.get());
    payload.handle = reinterpret_cast<std::uint64_t>(copy.get()) | kCopied;
  }
  const rdmo::Taken taken = taker_.take(replies ? param.reply_ep : nullptr, id, header, payload);
  if (taken == rdmo::Taken::kHeld) {
    static_cast<void>(copy.release());  // Until release().
    return announced || stays ? UCS_INPROGRESS : UCS_OK;
  }
  return UCS_OK;  // What was announced and is not wanted: UCX drops it, and the sender's send ends.
}

void UcxPort::release(std::uint64_t handle) {
  if ((handle & kCopied) != 0) {
    std::free(reinterpret_cast<void*>(handle & ~kCopied));
  } else if (fetched_.erase(handle) == 0) {
    ucp_am_data_release(worker_, reinterpret_cast<void*>(handle));
  }
}

ucs_status_ptr_t UcxPort::fetch(std::uint64_t handle, void* buffer, std::size_t length,
                                const ucp_request_param_t& param) {
  fetched_.insert(handle);
  return ucp_am_recv_data_nbx(worker_, reinterpret_cast<void*>(handle), buffer, length, &param);
}

Result<ucp_ep_h> UcxPort::connect(std::span<const std::byte> address) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  return create_endpoint(params);
}

Result<ucp_ep_h> UcxPort::create_endpoint(ucp_ep_params_t& params) {
  params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.arg = this;
  params.err_handler.cb = [](void* argument, ucp_ep_h endpoint, ucs_status_t) {
    static_cast<UcxPort*>(argument)->failed_.push_back(endpoint);
  };
  make_room();
  open_.reserve(open_.size() + 1);
  ucp_ep_h endpoint = nullptr;
  const ucs_status_t status = ucp_ep_create(worker_, &params, &endpoint);
  if (status != UCS_OK) return ucx_error("connecting", status);
  if (std::find(open_.begin(), open_.end(), endpoint) == open_.end()) open_.push_back(endpoint);
  return endpoint;
}

Result<ucp_ep_h> UcxPort::connect(const std::string& host, std::uint16_t port) {
  const auto address = network_address(host, port);
  if (!address) return address.error();
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR;
  params.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
  params.sockaddr = {reinterpret_cast<const sockaddr*>(&*address), sizeof *address};
  return create_endpoint(params);
}

Result<std::uint16_t> UcxPort::listen(const std::string& host, std::uint16_t port) {
  const auto address = network_address(host, port);
  if (!address) return address.error();
  connecting_.reserve(kConnectingMost);  // So that the callback takes no memory.
  ucp_listener_params_t params{};
  params.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
  params.sockaddr = {reinterpret_cast<const sockaddr*>(&*address), sizeof *address};
  params.conn_handler.arg = this;
  params.conn_handler.cb = [](ucp_conn_request_h request, void* argument) {
    auto* self = static_cast<UcxPort*>(argument);
    if (self->connecting_.size() < kConnectingMost) {
      self->connecting_.push_back(request);
    } else {
      ucp_listener_reject(self->listener_, request);
    }
  };
  const std::string what = fmt::format("listening on {}:{}", host, port);
  ucs_status_t status = ucp_listener_create(worker_, &params, &listener_);
  if (status != UCS_OK) return ucx_error(what.c_str(), status);
  ucp_listener_attr_t attributes{};
  attributes.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR;
  status = ucp_listener_query(listener_, &attributes);
  if (status != UCS_OK) return ucx_error(what.c_str(), status);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&attributes.sockaddr)->sin_port);
}

bool UcxPort::take_connected(ucp_ep_h& endpoint) {
  while (!connecting_.empty()) {
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST;
    params.conn_request = connecting_.back();
    connecting_.pop_back();
    const auto made = create_endpoint(params);
    if (!made) continue;  // It has gone meanwhile.
    endpoint = *made;
    return true;
  }
  return false;
}

Result<void> UcxPort::flush(ucp_ep_h endpoint, TimePs patience) {
  const LiveClock clock;
  const ucp_request_param_t param{};
  ucs_status_ptr_t request = ucp_ep_flush_nbx(endpoint, &param);
  if (UCS_PTR_IS_ERR(request)) return ucx_error("connecting", UCS_PTR_STATUS(request));
  if (request == nullptr) return {};
  ucs_status_t status = UCS_INPROGRESS;
  while (status == UCS_INPROGRESS && clock.now() < patience) {
    if (!progress()) ::sched_yield();
    status = ucp_request_check_status(request);
  }
  ucp_request_free(request);
  if (status == UCS_INPROGRESS) return Error{ErrorKind::kStalled, "connecting: no answer in time"};
  if (status != UCS_OK) return ucx_error("connecting", status);
  return {};
}

void UcxPort::close(ucp_ep_h endpoint) {
  // The next endpoint may have the same handle: neither what failed nor what still fails is its own.
  std::erase(failed_, endpoint);
  for (Header& each : headers_) {
    if (each.endpoint == endpoint) each.endpoint = nullptr;
  }
  std::erase(open_, endpoint);
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  param.user_data = this;
  param.cb.send = [](void* request, ucs_status_t, void* user) {
    --static_cast<UcxPort*>(user)->closing_;
    ucp_request_free(request);
  };
  if (UCS_PTR_IS_PTR(ucp_ep_close_nbx(endpoint, &param))) ++closing_;
}

// UCX's callbacks take no memory: each send can say one tag, and each endpoint, the next one among them,
// fails by its handler once, and once for each send.
void UcxPort::make_room() {
  const std::size_t sends = headers_.size();
  free_headers_.reserve(sends);
  if (sent_.capacity() < sent_.size() + sends + 1) sent_.reserve(2 * (sent_.size() + sends + 1));
  const std::size_t failures = failed_.size() + 2 * sends + open_.size() + closing_ + 2;
  if (failed_.capacity() < failures) failed_.reserve(2 * failures);
}

void UcxPort::sent(Header* header, ucs_status_t status) {
  // What we cancelled ourselves says nothing about the peer.
  if (status != UCS_OK && status != UCS_ERR_CANCELED && header->endpoint != nullptr)
    failed_.push_back(header->endpoint);
  if (header->tag != kNoTag) sent_.push_back(header->tag);
  free_headers_.push_back(header);
}

void UcxPort::send(ucp_ep_h endpoint, std::uint32_t id, std::span<const std::byte> header,
                   std::span<const std::byte> payload, unsigned flags, std::uint64_t tag) {
  Header* kept = nullptr;
  if (free_headers_.empty()) {
    headers_.emplace_back();
    make_room();
    kept = &headers_.back();
  } else {
    make_room();
    kept = free_headers_.back();
    free_headers_.pop_back();
  }
  kept->port = this;
  kept->endpoint = endpoint;
  kept->tag = tag;
  std::memcpy(kept->bytes.data(), header.data(), header.size());
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = flags;
  param.user_data = kept;
  param.cb.send = [](void* request, ucs_status_t status, void* user) {
    auto* done = static_cast<Header*>(user);
    done->port->sent(done, status);
    ucp_request_free(request);
  };
  ucs_status_ptr_t request = ucp_am_send_nbx(endpoint, id, kept->bytes.data(), header.size(), payload.data(),
                                             payload.size(), &param);
  if (!UCS_PTR_IS_PTR(request)) sent(kept, UCS_PTR_STATUS(request));
}

bool UcxPort::take_sent(std::uint64_t& tag) {
  if (sent_taken_ == sent_.size()) {
    sent_.clear();
    sent_taken_ = 0;
    return false;
  }
  tag = sent_[sent_taken_++];
  return true;
}

bool UcxPort::take_failed(ucp_ep_h& endpoint) {
  if (failed_.empty()) return false;
  endpoint = failed_.back();
  failed_.pop_back();
  return true;
}

// A worker of UCX that is destroyed over a fetch stops the process.
UcxPort::~UcxPort() {
  for (const ucp_conn_request_h each : connecting_) ucp_listener_reject(listener_, each);
  while (!open_.empty()) close(open_.back());
  const LiveClock clock;
  while (closing_ > 0 && clock.now() < kCloseMost) progress();
  if (listener_ != nullptr) ucp_listener_destroy(listener_);
  if (closing_ > 0) return;  // Better a leak.
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

}  // namespace wharf::live
