// SPDX-License-Identifier: Apache-2.0
// Processes that nobody asked for: what they can make this one keep, and that others go on beside them.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "engine/ub/ub_engine.h"
#include "live/urma/identity.h"
#include "live/urma/objects.h"
#include "live/urma/peer_message.h"
#include "live/urma/urma_test_support.h"

namespace wharf::live::urma {
namespace {

/// A socket that speaks to one interface as a library would. The interface is served by the calls here.
class Stranger {
 public:
  Stranger(Interface& interface, std::uint32_t address) : interface_(interface) {
    descriptor_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in own = name_of({address, 0});
    socklen_t length = sizeof own;
    EXPECT_EQ(::bind(descriptor_, reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
    EXPECT_EQ(::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&own), &length), 0);
    uasid_ = 0x770000U | ntohs(own.sin_port);
    const timeval limit{10, 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  ~Stranger() { ::close(descriptor_); }

  bool greet() {
    send({.kind = PeerMessageKind::kHello, .own_number = 5});
    const auto proof = hear(PeerMessageKind::kProve);
    if (!proof) return false;
    send({.kind = PeerMessageKind::kHello, .cookie = proof->cookie, .own_number = 5});
    const auto welcome = hear(PeerMessageKind::kWelcome);
    if (welcome) number_ = welcome->own_number;
    return welcome.has_value();
  }
  void leave() { send({.kind = PeerMessageKind::kBye, .own_number = 5, .peer_number = number_}); }
  void ask_binding(std::uint32_t jetty, std::uint32_t nonce) {
    send({.kind = PeerMessageKind::kBind,
          .service = static_cast<std::uint8_t>(engine::ServiceMode::kOrderedByTarget),
          .own_number = 5,
          .peer_number = number_,
          .jetty = jetty,
          .target = ub::kFirstJettyId,
          .nonce = nonce});
  }
  void confirm_binding(std::uint32_t nonce) {
    send({.kind = PeerMessageKind::kBound, .own_number = 5, .peer_number = number_, .nonce = nonce});
  }
  /// A jetty that it could have.
  urma_rjetty_t jetty(std::uint32_t address) const {
    urma_rjetty_t out{};
    out.jetty_id = {eid_of(address), uasid_, ub::kFirstJettyId};
    out.trans_mode = URMA_TM_RC;
    out.type = URMA_JETTY;
    return out;
  }
  /// Whether a packet of the engine has come, with all that came before it taken.
  bool has_packet() {
    std::byte bytes[8192];
    for (;;) {
      const ssize_t got = ::recv(descriptor_, bytes, sizeof bytes, MSG_DONTWAIT);
      if (got < 0) return false;
      if (!is_peer_message({bytes, static_cast<std::size_t>(got)})) return true;
    }
  }
  /// The next message of that kind; nothing after ten seconds, or at once if nothing `must` come.
  std::optional<PeerMessage> hear(PeerMessageKind kind, bool must = true) {
    std::byte bytes[256];
    for (;;) {
      const ssize_t got = ::recv(descriptor_, bytes, sizeof bytes, must ? 0 : MSG_DONTWAIT);
      if (got < 0) return std::nullopt;
      const auto message = decode_peer_message({bytes, static_cast<std::size_t>(got)});
      if (message && message->kind == kind) return message;
    }
  }

 private:
  static sockaddr_in name_of(const UdpEndpoint& endpoint) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = htons(endpoint.port);
    out.sin_addr.s_addr = htonl(endpoint.address);
    return out;
  }
  void send(PeerMessage message) {
    message.uasid = uasid_;
    message.instance = uasid_;
    message.mtu = 1024;
    std::array<std::byte, kPeerMessageBytes> bytes{};
    encode(message, bytes);
    const sockaddr_in to = name_of(interface_.endpoint());
    EXPECT_EQ(::sendto(descriptor_, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&to),
                       sizeof to),
              static_cast<ssize_t>(bytes.size()));
    const Interface::Section section(interface_);
    while (interface_.step()) {
    }
  }

  Interface& interface_;
  int descriptor_ = -1;
  std::uint32_t uasid_ = 0;
  std::uint32_t number_ = 0;
};

class Strangers : public UrmaTest {
 protected:
  static constexpr std::uint32_t kLeft = 0x7f000001;
  static constexpr std::uint32_t kElsewhere = 0x7f000009;

  static Interface& interface_of(const End& end) { return *tables().contexts.find(end.context)->interface; }
  static std::size_t peers_of(const End& end) {
    const Interface::Section section(interface_of(end));
    return interface_of(end).peers();
  }
  static void flood(End& end, std::uint32_t address, std::size_t count) {
    for (std::size_t at = 0; at < count; ++at) {
      Stranger each(interface_of(end), address);
      ASSERT_TRUE(each.greet()) << at;
    }
  }
  static void write(End& end) {
    ASSERT_EQ(end.post(URMA_OPC_WRITE, end.local(0, 64), end.far(0, 64)), URMA_SUCCESS);
    EXPECT_EQ(next_record(end.send_jfc).status, URMA_CR_SUCCESS);
  }
};

TEST_F(Strangers, OfOneAddressHaveSoManyPlaces) {
  End right({.device = "right"});
  flood(right, kElsewhere, GreetedPeers::kMostOfAddress + 100);
  EXPECT_EQ(peers_of(right), GreetedPeers::kMostOfAddress);
  End left;
  left.reach(right);
  write(left);
  right.reach(left);
  write(right);
  flood(right, kElsewhere, 100);
  EXPECT_EQ(peers_of(right), GreetedPeers::kMostOfAddress + 1);
  write(left);
  write(right);
}

// Numbers of bindings are small and follow each other: another one may guess them.
TEST_F(Strangers, DoNotConfirmABindingOfAnother) {
  End left({.mode = URMA_TM_RC});
  Stranger asked(interface_of(left), kElsewhere);
  Stranger other(interface_of(left), kElsewhere);
  ASSERT_TRUE(asked.greet());
  ASSERT_TRUE(other.greet());
  urma_rjetty_t target = asked.jetty(kElsewhere);
  urma_token_t none{0};
  left.target = urma_import_jetty(left.context, &target, &none);
  ASSERT_NE(left.target, nullptr);
  ASSERT_EQ(urma_bind_jetty(left.jetty, left.target), URMA_SUCCESS);
  const auto binding = asked.hear(PeerMessageKind::kBind);
  ASSERT_TRUE(binding.has_value());
  ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}), URMA_SUCCESS);
  other.confirm_binding(binding->nonce);
  EXPECT_FALSE(asked.has_packet());
  asked.confirm_binding(binding->nonce);
  EXPECT_TRUE(asked.has_packet());
}

TEST_F(Strangers, OfTheSameAddressGoBeforeAPeerThatWorks) {
  End right({.device = "right"});
  End left;
  left.reach(right);
  write(left);
  std::uint64_t met = 0;
  {
    const Interface::Section section(interface_of(left));
    met = tables().targets.find(left.target)->remote.peer->life;
  }
  flood(right, kLeft, GreetedPeers::kMostOfAddress + 100);
  EXPECT_EQ(peers_of(right), GreetedPeers::kMostOfAddress);
  write(left);
  const Interface::Section section(interface_of(left));
  EXPECT_EQ(tables().targets.find(left.target)->remote.peer->life, met) << "its channel has stayed";
}

// One that has sent nothing yet is told, and so begins anew.
TEST_F(Strangers, PushOutWhoHasSentNothingWhichComesBack) {
  End right({.device = "right"});
  End left;
  left.reach(right);
  flood(right, kLeft, GreetedPeers::kMostOfAddress + 100);
  // What leaves before the bye is there ends with an error.
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto has_channel = [&] {
    const Interface::Section section(interface_of(left));
    while (interface_of(left).step()) {
    }
    return tables().targets.find(left.target)->remote.peer->state == Peer::State::kUp;
  };
  while (has_channel() && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  write(left);
}

TEST_F(Strangers, ThatSayByeLeaveNothing) {
  End right({.device = "right"});
  for (int at = 0; at < 20; ++at) {
    Stranger each(interface_of(right), kElsewhere);
    ASSERT_TRUE(each.greet());
    EXPECT_EQ(peers_of(right), 1U);
    each.leave();
    EXPECT_EQ(peers_of(right), 0U);
  }
}

TEST_F(Strangers, ThatNeverAnswerAreForgottenWithTheirImport) {
  End left;
  urma_rjetty_t nobody{};
  nobody.jetty_id = {eid_of(kElsewhere), 0x770000U | 40000U, ub::kFirstJettyId};
  nobody.trans_mode = URMA_TM_RM;
  nobody.type = URMA_JETTY;
  urma_token_t none{0};
  urma_target_jetty_t* const first = urma_import_jetty(left.context, &nobody, &none);
  urma_target_jetty_t* const second = urma_import_jetty(left.context, &nobody, &none);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(peers_of(left), 1U);
  EXPECT_EQ(urma_unimport_jetty(first), URMA_SUCCESS);
  EXPECT_EQ(peers_of(left), 1U);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto asks = [&] {
    const Interface::Section section(interface_of(left));
    return tables().targets.find(second)->remote.peer->state == Peer::State::kAsking;
  };
  while (asks() && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(peers_of(left), 1U) << "the second import names it";
  EXPECT_EQ(urma_unimport_jetty(second), URMA_SUCCESS);
  EXPECT_EQ(peers_of(left), 0U);
}

TEST_F(Strangers, HaveTheOrderOfSoManyJettysKept) {
  End right({.device = "right"});
  Stranger one(interface_of(right), kElsewhere);
  ASSERT_TRUE(one.greet());
  std::size_t kept = 0;
  for (std::uint32_t at = 0; at < Interface::kBindingsOfPeer + 100; ++at) {
    one.ask_binding(ub::kFirstJettyId + at, at + 1);
    const bool must = at < Interface::kBindingsOfPeer;
    if (const auto bound = one.hear(PeerMessageKind::kBound, must)) {
      EXPECT_EQ(bound->nonce, at + 1);
      ++kept;
    }
  }
  EXPECT_EQ(kept, Interface::kBindingsOfPeer);
  one.ask_binding(ub::kFirstJettyId, 9999);
  EXPECT_TRUE(one.hear(PeerMessageKind::kBound)) << "one that is kept may begin anew";
  Stranger other(interface_of(right), kElsewhere);
  ASSERT_TRUE(other.greet());
  other.ask_binding(ub::kFirstJettyId + 5000, 1);
  EXPECT_TRUE(other.hear(PeerMessageKind::kBound));
}

// Repeated, and overtaken by the one for the next numbering: the order that is kept by now is not begun anew.
TEST_F(Strangers, DoNotTakeANumberingBackWithWhatComesLate) {
  End right({.device = "right"});
  Stranger one(interface_of(right), kElsewhere);
  ASSERT_TRUE(one.greet());
  for (const std::uint32_t nonce : {5U, 6U}) {
    one.ask_binding(ub::kFirstJettyId, nonce);
    const auto bound = one.hear(PeerMessageKind::kBound);
    ASSERT_TRUE(bound);
    EXPECT_EQ(bound->nonce, nonce);
  }
  one.ask_binding(ub::kFirstJettyId, 5);
  EXPECT_FALSE(one.hear(PeerMessageKind::kBound, false));
  one.ask_binding(ub::kFirstJettyId, 6);
  EXPECT_TRUE(one.hear(PeerMessageKind::kBound));
}

}  // namespace
}  // namespace wharf::live::urma
