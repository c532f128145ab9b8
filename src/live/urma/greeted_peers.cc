// SPDX-License-Identifier: Apache-2.0
#include "live/urma/greeted_peers.h"

#include <iterator>
#include <utility>

namespace wharf::live::urma {

Peer* GreetedPeers::first_of(Scope& scope) {
  if (!scope.silent.empty()) return scope.silent.front();
  if (scope.spoken.empty()) return nullptr;
  while (std::exchange(scope.spoken.front()->greeting.heard, false)) {
    scope.spoken.splice(scope.spoken.end(), scope.spoken, scope.spoken.begin());
  }
  return scope.spoken.front();
}

Peer* GreetedPeers::in_the_way(std::uint32_t address) {
  const auto found = of_address_.find(address);
  if (found != of_address_.end() && found->second.size() >= kMostOfAddress) return first_of(found->second);
  return all_.size() >= kMost ? first_of(all_) : nullptr;
}

void GreetedPeers::add(Peer& peer) {
  // Whatever needs memory first, so that it is in both lists or in none.
  std::list<Peer*> for_all{&peer};
  std::list<Peer*> for_address{&peer};
  Scope& near = of_address_[peer.endpoint.address];
  Peer::Greeting& greeting = peer.greeting;
  const auto append = [&](Scope& scope, std::list<Peer*>& one) {
    std::list<Peer*>& list = scope.of(peer);
    list.splice(list.end(), one);
    return std::prev(list.end());
  };
  greeting.of_all = append(all_, for_all);
  greeting.of_address = append(near, for_address);
  greeting.listed = true;
}

void GreetedPeers::remove(Peer& peer) {
  Peer::Greeting& greeting = peer.greeting;
  if (!std::exchange(greeting.listed, false)) return;
  all_.of(peer).erase(greeting.of_all);
  const auto found = of_address_.find(peer.endpoint.address);
  found->second.of(peer).erase(greeting.of_address);
  if (found->second.size() == 0) of_address_.erase(found);
}

void GreetedPeers::spoke(Peer& peer) {
  Peer::Greeting& greeting = peer.greeting;
  greeting.spoke = true;
  if (!greeting.listed) return;
  const auto move = [](Scope& scope, std::list<Peer*>::iterator at) {
    scope.spoken.splice(scope.spoken.end(), scope.silent, at);
  };
  move(all_, greeting.of_all);
  move(of_address_.find(peer.endpoint.address)->second, greeting.of_address);
}

}  // namespace wharf::live::urma
