// SPDX-License-Identifier: Apache-2.0
// Who waits for whom among the entries of a queue, at a constant cost per arrival and completion: nothing is
// ever searched, whatever the number of entries.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/flat_map.h"
#include "base/slot_pool.h"
#include "engine/ordering/order_needs.h"

namespace wharf::ordering {

/// The entries of one domain (or of all, in designs that know no domains) form a chain per order class, in
/// order of arrival. An entry that waits for a class stands in the waiting list of the youngest member that
/// arrived before it; when that one completes, its waiting list moves to its predecessor in the chain, or is
/// set free when there is none.
class OrderLists {
 public:
  using Index = std::uint16_t;
  static constexpr Index kNone = 0xFFFF;
  static constexpr std::uint32_t kEntriesMax = 0x7000;

  /// For entries 0 to `capacity` - 1.
  OrderLists(std::uint32_t capacity, bool knows_domains);

  /// Adds an entry as the youngest and returns the classes that it waits for, none when it is free at once.
  /// `same_line` is an entry of kSameLine that it waits for too, or kNone.
  OrderClasses add(Index entry, const OrderNeeds& needs, const Request& request, Index same_line);

  /// What the entry still waits for.
  OrderClasses waiting(Index entry) const { return nodes_[entry].waiting; }

  /// Removes an entry that waits for nothing, and calls `woken(other)` for each one that is free by that.
  template <typename Woken>
  void complete(Index entry, Woken&& woken);

  /// The entry in whose waiting list of `order_class` this one stands. Linear; for reports.
  Index blocker(Index entry, OrderClass order_class) const;
  /// What further lines of an unfinished request will wait for, as far as the entry's domain (or all, in
  /// designs that know none) goes: who has sent the last line, and whether this entry is it.
  struct Continuation {
    std::uint64_t domain_key;
    bool is_unfinished;
    bool is_this;
  };
  Continuation continuation(Index entry) const;

 private:
  struct Link {
    Index previous;
    Index next;
  };
  struct ClassLinks {
    Link chain;  ///< Neighbours; means nothing for the classes that have no chain.
    // Rings of those who wait: an entry's place in one, and the anchor of its own.
    Link place;
    Link anchor;
  };
  struct Node {
    OrderClasses waiting = 0;
    OrderClasses heads =
        0;  ///< Classes in which it has a waiting list: its chains, and the others when needed.
    std::uint32_t group = 0;
    std::uint32_t requester_group = 0;
    std::array<ClassLinks, kOrderClassCount> of;  ///< By class: one that is used is near the rest.
  };
  /// What shares chains: a domain, or a requester for kPostedOfRequester.
  struct Group {
    std::array<Index, kOrderChainCount> youngest;
    Index last = kNone;  ///< The entry added last, if it is still there.
    std::uint32_t entries = 0;
    std::uint64_t key = 0;
    // The last line's request.
    std::uint64_t last_number = 0;
    Domain last_domain;
    bool is_unfinished = false;
  };

  // A ring's element is an entry, or an entry's anchor, told apart by kAnchor.
  static constexpr Index kAnchor = 0x8000;
  static constexpr std::uint32_t kGroupOfAll = 0;  ///< In designs that know no domains.
  Link& ring(Index element, unsigned c) {
    return (element & kAnchor) != 0 ? nodes_[element - kAnchor].of[c].anchor : nodes_[element].of[c].place;
  }
  /// A waiting list of a class that has no chain is made when somebody comes to stand in it.
  void open_anchor(Index entry, OrderClass order_class);
  void insert_after(Index at, Index entry, unsigned c);
  void stand_behind(Index blocker, Index entry, unsigned c) {
    insert_after(nodes_[blocker].of[c].anchor.previous, entry, c);
  }
  std::uint32_t group_of(FlatMap& index, std::uint64_t key);
  void leave_group(FlatMap& index, std::uint32_t slot) {
    if (--groups_[slot].entries == 0) forget_group(index, slot);
  }
  void forget_group(FlatMap& index, std::uint32_t slot);
  OrderClasses wait_for_ascending(Index entry, const Group& group, bool continues_last);
  std::uint32_t anchor_group(const Node& node, unsigned c) const {
    return c == static_cast<unsigned>(OrderClass::kPostedOfRequester) ? node.requester_group : node.group;
  }

  std::vector<Node> nodes_;
  SlotPool<Group> groups_;
  FlatMap domains_;
  FlatMap requesters_;
  bool knows_domains_ = false;
};

template <typename Woken>
void OrderLists::complete(Index entry, Woken&& woken) {
  Node& node = nodes_[entry];
  for (OrderClasses left = node.heads; left != 0; left = static_cast<OrderClasses>(left & (left - 1))) {
    const auto c = static_cast<unsigned>(std::countr_zero(left));
    Index heir = kNone;
    if (c < kOrderChainCount) {
      const Link link = node.of[c].chain;
      heir = link.previous;
      if (link.previous != kNone) nodes_[link.previous].of[c].chain.next = link.next;
      if (link.next != kNone) {
        nodes_[link.next].of[c].chain.previous = link.previous;
      } else {
        groups_[anchor_group(node, c)].youngest[c] = link.previous;
      }
    }
    const Link waiters = node.of[c].anchor;
    if (waiters.next == (entry | kAnchor)) continue;
    if (heir != kNone && c == static_cast<unsigned>(OrderClass::kAcquire) &&
        (is_mutated(Mutation::kSharedAcquireFlag) || is_mutated(Mutation::kAcquireEndsEarly))) {
      heir = kNone;
    }
    if (heir != kNone) {
      // The whole ring goes behind the heir's own.
      const Index heir_anchor = static_cast<Index>(heir | kAnchor);
      const Index last = nodes_[heir].of[c].anchor.previous;
      ring(last, c).next = waiters.next;
      ring(waiters.next, c).previous = last;
      ring(waiters.previous, c).next = heir_anchor;
      nodes_[heir].of[c].anchor.previous = waiters.previous;
      continue;
    }
    for (Index at = waiters.next; (at & kAnchor) == 0;) {
      const Index next = nodes_[at].of[c].place.next;
      nodes_[at].waiting = static_cast<OrderClasses>(nodes_[at].waiting & ~(1U << c));
      if (nodes_[at].waiting == 0) woken(at);
      at = next;
    }
  }
  if (groups_[node.group].last == entry) groups_[node.group].last = kNone;
  leave_group(domains_, node.group);
  if (node.requester_group != kNoSlot) leave_group(requesters_, node.requester_group);
}

}  // namespace wharf::ordering
