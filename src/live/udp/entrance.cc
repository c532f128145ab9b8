// SPDX-License-Identifier: Apache-2.0
#include "live/udp/entrance.h"

#include <utility>

#include "live/shm/shm_port.h"
#include "live/shm/shm_rendezvous.h"
#include "live/udp/udp_socket.h"

namespace wharf::live {
namespace {

class NetworkEntrance final : public ServerEntrance {
 public:
  explicit NetworkEntrance(ControlListener listener) : listener_(std::move(listener)) {}
  UdpEndpoint local() const override { return listener_.local(); }
  std::uint32_t path_bytes() const override { return interface_mtu(listener_.local().address); }
  std::optional<ControlChannel> accept() override { return listener_.accept(); }
  void left(const ControlChannel&) override {}

 private:
  ControlListener listener_;
};

/// Every connection gets a link at once: its descriptors come before any message.
class SharedEntrance final : public ServerEntrance {
 public:
  SharedEntrance(ShmListener listener, ShmPort& port) : listener_(std::move(listener)), port_(port) {}
  UdpEndpoint local() const override { return {kShmAddress, 0}; }
  std::uint32_t path_bytes() const override { return DatagramPort::kFrameBytes; }

  std::optional<ControlChannel> accept() override {
    auto connection = listener_.accept();
    if (!connection) return std::nullopt;
    const auto client_port = port_.free_port();
    if (!client_port || !give_link(*connection, *client_port))
      return std::nullopt;  // It finds itself closed.
    return ControlChannel::in_shared_memory(*std::move(connection), *client_port);
  }
  void left(const ControlChannel& channel) override { port_.remove(channel.given_port()); }

 private:
  bool give_link(const ShmConnection& to, std::uint16_t client_port) {
    SharedLink::OtherEnd end;
    auto link = SharedLink::create(end);
    if (!link || !port_.add(client_port, *std::move(link)).ok()) return false;
    if (hand_over(to, {client_port, port_.local().port}, end).ok()) return true;
    port_.remove(client_port);
    return false;
  }

  ShmListener listener_;
  ShmPort& port_;
};

/// The protocol's packets go to the port of the control connection if that is free.
Result<UdpSocket> open_beside(const UdpEndpoint& control, bool any_port, const SocketConfig& config) {
  auto socket = UdpSocket::open(control, config);
  if (!socket && any_port) return UdpSocket::open({control.address, 0}, config);
  return socket;
}

}  // namespace

Result<ServerDoor> open_door(const Place& place, const ProtocolDescription& protocol) {
  if (place.shared()) {
    auto listener = ShmListener::open(place.name);
    if (!listener) return listener.error();
    auto port = ShmPort::create(protocol.port, kShmFirstClientPort);
    if (!port) return port.error();
    ShmPort& shared = **port;
    return ServerDoor{std::make_unique<SharedEntrance>(*std::move(listener), shared), *std::move(port)};
  }
  auto listener = ControlListener::open(place.endpoint);
  if (!listener) return listener.error();
  auto socket = open_beside(listener->local(), place.endpoint.port == 0, protocol.socket);
  if (!socket) return socket.error();
  return ServerDoor{std::make_unique<NetworkEntrance>(*std::move(listener)),
                    std::make_unique<UdpSocket>(*std::move(socket))};
}

Result<ClientDoor> enter(const Place& server, const ProtocolDescription& protocol, TimePs patience) {
  if (server.shared()) {
    auto connection = connect_shm(server.name, patience);
    if (!connection) return connection.error();
    ShmPorts ports;
    auto link = take_over(*connection, ports, patience);
    if (!link) return link.error();
    auto port = ShmPort::create(ports.client, ports.server);
    if (!port) return port.error();
    WHARF_TRY((*port)->add(ports.server, *std::move(link)));
    return ClientDoor{ControlChannel::in_shared_memory(*std::move(connection), ports.client),
                      *std::move(port)};
  }
  auto channel = ControlChannel::connect(server.endpoint, patience);
  if (!channel) return channel.error();
  auto socket = UdpSocket::open({channel->local_address(), 0}, protocol.socket);
  if (!socket) return socket.error();
  return ClientDoor{*std::move(channel), std::make_unique<UdpSocket>(*std::move(socket))};
}

}  // namespace wharf::live
