// SPDX-License-Identifier: Apache-2.0
// Peers that came by a hello of theirs and that nothing here names. Anybody can be one, so there are so many
// at most, of one address and in all, and this says which of them makes room for the next: first those that
// have sent no packet, in the order in which they came; then those that were not heard of for long, as far as
// one bit tells (second chance).
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>

#include "live/urma/peer.h"

namespace wharf::live::urma {

class GreetedPeers {
 public:
  static constexpr std::size_t kMost = 16384;
  static constexpr std::size_t kMostOfAddress = 1024;

  /// Who has to go before one of `address` is added; null when there is room.
  Peer* in_the_way(std::uint32_t address);
  /// Who has to go when there is too much of what they all hold; null when there is nobody.
  Peer* first() { return first_of(all_); }

  void add(Peer& peer);
  void remove(Peer& peer);  ///< If it is there.
  /// A packet of it has come.
  void heard(Peer& peer) {
    peer.greeting.heard = true;
    if (!peer.greeting.spoke) spoke(peer);
  }
  std::size_t size() const { return all_.size(); }

 private:
  struct Scope {
    std::list<Peer*> silent;
    std::list<Peer*> spoken;
    std::size_t size() const { return silent.size() + spoken.size(); }
    std::list<Peer*>& of(const Peer& peer) { return peer.greeting.spoke ? spoken : silent; }
  };
  static Peer* first_of(Scope& scope);
  void spoke(Peer& peer);

  Scope all_;
  std::unordered_map<std::uint32_t, Scope> of_address_;
};

}  // namespace wharf::live::urma
