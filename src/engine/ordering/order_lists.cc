// SPDX-License-Identifier: Apache-2.0
#include "engine/ordering/order_lists.h"

#include "engine/ordering/filled_pool.h"

namespace wharf::ordering {

OrderLists::OrderLists(std::uint32_t capacity, bool knows_domains)
    : nodes_(capacity),
      groups_(filled_pool<Group>(capacity * 2 + 1)),
      domains_(capacity),
      requesters_(capacity),
      knows_domains_(knows_domains) {
  WHARF_CHECK(capacity <= kEntriesMax);
  // The group of all stays.
  if (!knows_domains) groups_[group_of(domains_, 0)].entries = 1;
}

std::uint32_t OrderLists::group_of(FlatMap& index, std::uint64_t key) {
  if (const std::uint32_t* found = index.find(key)) return *found;
  const std::uint32_t slot = groups_.acquire();
  WHARF_CHECK(slot != kNoSlot);
  Group& group = groups_[slot];
  group = Group{};
  group.youngest.fill(kNone);
  group.key = key;
  index.insert(key, slot);
  return slot;
}

void OrderLists::forget_group(FlatMap& index, std::uint32_t slot) {
  index.erase(groups_[slot].key);
  groups_.release(slot);
}

void OrderLists::insert_after(Index at, Index entry, unsigned c) {
  const Index next = ring(at, c).next;
  nodes_[entry].of[c].place = Link{at, next};
  ring(at, c).next = entry;
  ring(next, c).previous = entry;
}

void OrderLists::open_anchor(Index entry, OrderClass order_class) {
  Node& node = nodes_[entry];
  if ((node.heads & class_bit(order_class)) != 0) return;
  node.heads = static_cast<OrderClasses>(node.heads | class_bit(order_class));
  const auto own_anchor = static_cast<Index>(entry | kAnchor);
  node.of[static_cast<unsigned>(order_class)].anchor = Link{own_anchor, own_anchor};
}

OrderClasses OrderLists::wait_for_ascending(Index entry, const Group& group, bool continues_last) {
  // Within an unbroken request one line waits for the one below, whatever other ascending requests there are.
  const OrderClass order_class = continues_last ? OrderClass::kPreviousLine : OrderClass::kAscending;
  const auto c = static_cast<unsigned>(order_class);
  const Index before = continues_last ? group.last : group.youngest[c];
  if (before == kNone) return 0;
  if (continues_last) open_anchor(before, order_class);
  stand_behind(before, entry, c);
  return class_bit(order_class);
}

OrderClasses OrderLists::add(Index entry, const OrderNeeds& needs, const Request& request, Index same_line) {
  const bool shares_flag = is_mutated(Mutation::kSharedAcquireFlag);
  Node& node = nodes_[entry];
  node.group = knows_domains_ ? group_of(domains_, shares_flag ? 0 : request.domain.key()) : kGroupOfAll;
  node.requester_group = kNoSlot;
  if (((needs.members | needs.waits) & class_bit(OrderClass::kPostedOfRequester)) != 0) {
    node.requester_group = group_of(requesters_, request.domain.requester);
    ++groups_[node.requester_group].entries;
  }
  Group& group = groups_[node.group];
  ++group.entries;
  const bool continues_last = !request.is_first && group.is_unfinished &&
                              group.last_number == request.number && group.last_domain == request.domain;

  OrderClasses waiting = 0;
  for (OrderClasses left = needs.waits; left != 0; left = static_cast<OrderClasses>(left & (left - 1))) {
    const auto c = static_cast<unsigned>(std::countr_zero(left));
    if (needs.exempts_own_request && continues_last) {
      // It waits for just what the line below waits for, if that is not over.
      if (group.last == kNone || (nodes_[group.last].waiting & (1U << c)) == 0) continue;
      insert_after(group.last, entry, c);
    } else {
      const Index before = groups_[anchor_group(node, c)].youngest[c];
      if (before == kNone) continue;
      stand_behind(before, entry, c);
    }
    waiting = static_cast<OrderClasses>(waiting | (1U << c));
  }
  if (needs.is_ascending && !request.is_first) {
    waiting = static_cast<OrderClasses>(waiting | wait_for_ascending(entry, group, continues_last));
  }
  if (same_line != kNone) {
    open_anchor(same_line, OrderClass::kSameLine);
    stand_behind(same_line, entry, static_cast<unsigned>(OrderClass::kSameLine));
    waiting = static_cast<OrderClasses>(waiting | class_bit(OrderClass::kSameLine));
  }
  node.waiting = waiting;

  node.heads = needs.members;
  const auto own_anchor = static_cast<Index>(entry | kAnchor);
  for (OrderClasses left = needs.members; left != 0; left = static_cast<OrderClasses>(left & (left - 1))) {
    const auto c = static_cast<unsigned>(std::countr_zero(left));
    node.of[c].anchor = Link{own_anchor, own_anchor};
    Index& youngest = groups_[anchor_group(node, c)].youngest[c];
    node.of[c].chain = Link{youngest, kNone};
    if (youngest != kNone) nodes_[youngest].of[c].chain.next = entry;
    youngest = entry;
  }
  group.last = entry;
  group.last_number = request.number;
  group.last_domain = request.domain;
  group.is_unfinished = !request.is_last;
  return waiting;
}

OrderLists::Index OrderLists::blocker(Index entry, OrderClass order_class) const {
  const auto c = static_cast<unsigned>(order_class);
  Index at = nodes_[entry].of[c].place.next;
  while ((at & kAnchor) == 0) at = nodes_[at].of[c].place.next;
  return static_cast<Index>(at - kAnchor);
}

OrderLists::Continuation OrderLists::continuation(Index entry) const {
  const Group& group = groups_[nodes_[entry].group];
  return Continuation{group.is_unfinished ? group.last_domain.key() : 0, group.is_unfinished,
                      group.last == entry};
}

}  // namespace wharf::ordering
