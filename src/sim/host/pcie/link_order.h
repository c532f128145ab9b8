// SPDX-License-Identifier: Apache-2.0
// What the two flows on one device's link owe each other: answers stay behind posted writes that travel the
// same way before them [PCIe Base 5.0 2.4.1, rule D2a]. Apart from the machines at both ends, the root
// complex of the device's requests and the way of the cores' stores and loads, which know nothing else of
// each other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "engine/ordering/rlsq_port.h"

namespace wharf::sim {

/// Who holds an answer back until writes before it have arrived.
class LinkOrderWaiter {
 public:
  virtual ~LinkOrderWaiter() = default;
  /// More writes have arrived.
  virtual void writes_arrived(TimePs now) = 0;
};

/// One link. Down, stores of cores and answers to the device: a store is before an answer when the root
/// complex had taken it for the link before the answer was made. Up, posted writes of the device and answers
/// to loads of cores: they arrive when they are performed, for a core that had the answer earlier could find
/// the old bytes.
class LinkOrder {
 public:
  void connect_answers(LinkOrderWaiter& root_complex) { down_ = &root_complex; }
  void connect_loads(LinkOrderWaiter& path) { up_ = &path; }

  // Down. Stores are counted as they enter, and arrive in that order.
  void store_entered() { ++stores_; }
  void store_arrived(TimePs now) {
    ++stores_arrived_;
    if (down_ != nullptr) down_->writes_arrived(now);
  }
  std::uint64_t stores() const { return stores_; }
  bool have_stores_arrived(std::uint64_t count) const { return stores_arrived_ >= count; }

  // Up.
  void requested(const ordering::Request& request) {
    requests_.push_back(
        {request.domain, request.tag, request.line, request.label, request.is_posted(), sent_});
    ++sent_;
  }
  /// The label of an answered request, which is forgotten.
  ordering::Label answered(TimePs now, const ordering::Response& response) {
    const auto found = std::find_if(requests_.begin(), requests_.end(), [&](const Sent& each) {
      return each.domain == response.domain && each.tag == response.tag && each.line == response.line;
    });
    WHARF_CHECK(found != requests_.end());
    const Sent sent = *found;
    requests_.erase(found);
    if (sent.is_posted && up_ != nullptr) up_->writes_arrived(now);
    return sent.label;
  }
  std::uint64_t requests() const { return sent_; }
  /// Every posted write among the first `count` requests is performed.
  bool are_writes_performed(std::uint64_t count) const {
    return std::none_of(requests_.begin(), requests_.end(),
                        [count](const Sent& each) { return each.is_posted && each.number < count; });
  }

 private:
  struct Sent {
    ordering::Domain domain;
    std::uint32_t tag;
    LineNumber line;
    ordering::Label label;
    bool is_posted;
    std::uint64_t number;
  };

  LinkOrderWaiter* down_ = nullptr;
  LinkOrderWaiter* up_ = nullptr;
  std::uint64_t stores_ = 0;
  std::uint64_t stores_arrived_ = 0;
  std::uint64_t sent_ = 0;
  std::vector<Sent> requests_;  ///< Without an answer, in the order in which they were sent.
};

}  // namespace wharf::sim
