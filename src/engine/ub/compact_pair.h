// SPDX-License-Identifier: Apache-2.0
// The transactions between two entities over the compact transport: which numbers are outstanding at the
// initiator, and which the target has seen. [UB-Base 2.0.1 6.1; ns-3-UB ub-ctp]
#pragma once

#include <array>
#include <cstdint>

#include "base/slot_pool.h"

namespace wharf::ub {

/// One TASSN order for all requests from one entity to another, whichever jetty they come from: CTPH has no
/// packet number. Answers are found by it, and the target tells by it what was lost, copied or overtaken.
class CompactPair {
 public:
  /// TASSNs outstanding at once. (ns-3-UB)
  static constexpr std::uint32_t kWindow = 2048;

  /// Whose request has a number. One who asks for it compares the generation: a transaction that has been
  /// given up does not say so here.
  struct Place {
    std::uint32_t transaction = kNoSlot;
    std::uint32_t generation = 0;
  };

  /// Both ends begin a life.
  void reset() { *this = CompactPair{}; }

  // Initiator.
  /// Whose number the next one would take the place of.
  const Place& next_place() const { return places_[next_ % kWindow]; }
  /// Gives the next number. Its place has to be free, or held by a transaction that has ended.
  std::uint16_t give(Place owner) {
    places_[next_ % kWindow] = owner;
    return next_++;
  }
  /// Who has that number outstanding, or had. The place is that of other numbers, too, which are none that a
  /// peer can have been asked under and not have answered.
  Place find(std::uint16_t tassn) const {
    const auto behind = static_cast<std::uint16_t>(next_ - 1U - tassn);
    return behind < kWindow ? places_[tassn % kWindow] : Place{};
  }
  /// It was answered.
  void take_back(std::uint16_t tassn) { places_[tassn % kWindow] = Place{}; }

  // Target.
  enum class Arrival : std::uint8_t {
    kNext,      ///< The one after the last.
    kAfterGap,  ///< What lies between, skipped() numbers, was lost on the way.
    kSeen,      ///< A copy, or overtaken by later ones: it must not be executed.
  };
  /// Choice: what was lost holds nothing back, because nobody sends it again. Whatever is not among the last
  /// kWindow numbers is new, so that both ends find together again after any number of losses.
  Arrival admit(std::uint16_t tassn) {
    const auto behind = static_cast<std::uint16_t>(expected_ - 1U - tassn);
    if (behind < kWindow) return Arrival::kSeen;
    skipped_ = static_cast<std::uint16_t>(tassn - expected_);
    expected_ = static_cast<std::uint16_t>(tassn + 1U);
    return skipped_ == 0 ? Arrival::kNext : Arrival::kAfterGap;
  }
  /// Before the number that was admitted last.
  std::uint16_t skipped() const { return skipped_; }

 private:
  std::array<Place, kWindow> places_{};
  std::uint16_t next_ = 0;
  std::uint16_t expected_ = 0;
  std::uint16_t skipped_ = 0;
};

}  // namespace wharf::ub
