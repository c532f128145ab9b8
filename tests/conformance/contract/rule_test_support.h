// SPDX-License-Identifier: Apache-2.0
// What the rules of the contract share: the form of a test, and a pair of hosts.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <tuple>

#include "contract_world.h"

namespace wharf::contract {
namespace {

using engine::AccessKind;
using engine::AsyncEventKind;
using engine::PostStatus;
using engine::QueueId;
using engine::QueueState;
using verbs::CompletionKind;
using verbs::CompletionStatus;
using verbs::Verb;

// WHARF_CONTRACT_SUITE and WHARF_CONTRACT_ENGINE name the engine that this is compiled for.
#define WHARF_CONTRACT_TEST(name)                                             \
  template <typename E>                                                       \
  void check_##name();                                                        \
  TEST(WHARF_CONTRACT_SUITE, name) { check_##name<WHARF_CONTRACT_ENGINE>(); } \
  template <typename E>                                                       \
  void check_##name()

/// Two hosts with a queue each that report into a completion queue each.
template <typename E>
struct Pair : World<E> {
  explicit Pair(std::uint32_t depth = 64) {
    for (std::uint32_t host = 0; host < 2; ++host) {
      cq[host] = this->engine(host).create_completion_queue(this->now, {.depth = depth}).value();
      queue[host] = this->create_queue(host, this->into(cq[host]));
    }
    std::tie(peer[0], peer[1]) = this->connect(0, queue[0], 1, queue[1]);
    this->settle();
  }
  PostStatus post(std::uint64_t id, Verb verb, std::uint32_t length = 64) {
    return World<E>::post(0, queue[0], this->request(id, verb, peer[0], 1, length));
  }
  QueueId cq[2];
  QueueId queue[2];
  verbs::PeerId peer[2];
};

}  // namespace
}  // namespace wharf::contract
