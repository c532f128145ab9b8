// SPDX-License-Identifier: Apache-2.0
// Items of one-sided key-value stores as four protocols lay them out: where versions and locks lie, in which
// steps a writer changes them, and what a reader may accept. Apart from the programs that move the bytes, so
// that remote writers, cores and tests share one account of each protocol.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/check.h"
#include "base/line.h"
#include "workload/choice.h"

namespace wharf::workload {

/// "Efficient Remote Memory Ordering for Non-Coherent Interconnects" (ASPLOS '26), 2.1 and 6.4.
enum class GetProtocol : std::uint8_t {
  kPessimistic,  ///< A lock word: readers are counted, a writer excludes them.
  kValidation,   ///< A version at the front, odd while a put is under way; read again after the item.
  kFarm,         ///< A version at the front of every line, checked against each other.
  kSingleRead,   ///< A version at the front and one at the back, written back to front.
};
inline constexpr std::array<Choice<GetProtocol>, 4> kGetProtocolChoices{
    {{"pessimistic", GetProtocol::kPessimistic},
     {"validation", GetProtocol::kValidation},
     {"farm", GetProtocol::kFarm},
     {"single_read", GetProtocol::kSingleRead}}};

/// Pessimistic: bit 60 of the lock word says that a writer has it, the low bits count readers.
inline constexpr std::uint64_t kExclusiveLock = std::uint64_t{1} << 60U;

/// One item. Its first word is the lock or the version; a writer has made it exclusive or odd before the
/// steps of its put, in every protocol (Choice: the papers leave the exclusion of FaRM's and Single Read's
/// writers open). Payload words are functions of version and place, so that a payload of two versions is told
/// from one of a single version.
class ItemLayout {
 public:
  static constexpr std::uint32_t kWord = 8;
  /// Of a line in FaRM's layout, the words that are payload.
  static constexpr std::uint32_t kFarmWords = kLineBytes / kWord - 1;

  /// `payload_bytes`: a multiple of 8, at least 8.
  constexpr ItemLayout(GetProtocol protocol, std::uint32_t payload_bytes)
      : protocol_(protocol), words_(payload_bytes / kWord) {
    WHARF_CHECK(payload_bytes >= kWord && payload_bytes % kWord == 0);
  }

  constexpr GetProtocol protocol() const { return protocol_; }
  constexpr std::uint32_t payload_bytes() const { return words_ * kWord; }
  /// What a get reads of the item, which begins at a line's start.
  constexpr std::uint32_t bytes() const {
    switch (protocol_) {
      case GetProtocol::kPessimistic:
      case GetProtocol::kValidation:
        return kWord + payload_bytes();
      case GetProtocol::kFarm:
        return lines() * kLineBytes;
      case GetProtocol::kSingleRead:
        return kWord + payload_bytes() + kWord;
    }
    return 0;
  }
  constexpr std::uint32_t lines() const {
    if (protocol_ == GetProtocol::kFarm) return (words_ + kFarmWords - 1) / kFarmWords;
    return (bytes() + kLineBytes - 1) / kLineBytes;
  }
  /// Where a word of the payload lies.
  constexpr std::uint32_t offset_of(std::uint32_t word) const {
    if (protocol_ == GetProtocol::kFarm)
      return word / kFarmWords * kLineBytes + kWord + word % kFarmWords * kWord;
    return kWord + word * kWord;
  }
  /// Single Read: where the version at the back lies.
  constexpr std::uint32_t footer() const { return kWord + payload_bytes(); }

  /// What a word of the payload holds in a version, which has 40 bits. The low 24 bits are a checksum.
  static constexpr std::uint64_t payload_word(std::uint64_t version, std::uint32_t word) {
    std::uint64_t bits = version * 0x9e37'79b9'7f4a'7c15ULL + word;
    bits = (bits ^ (bits >> 30U)) * 0xbf58'476d'1ce4'e5b9ULL;
    return version << 24U | bits >> 40U;
  }
  static constexpr std::uint64_t version_of(std::uint64_t payload_word) { return payload_word >> 24U; }

  /// Fills an item of `version` (even), unlocked.
  void fill(std::span<std::byte> item, std::uint64_t version) const {
    for (std::uint32_t word = 0; word < words_; ++word)
      store_le64(item.data() + offset_of(word), payload_word(version, word));
    for (std::uint32_t line = 0; protocol_ == GetProtocol::kFarm && line < lines(); ++line)
      store_le64(item.data() + line * kLineBytes, version);
    store_le64(item.data(), protocol_ == GetProtocol::kPessimistic ? 0 : version);
    if (protocol_ == GetProtocol::kSingleRead) store_le64(item.data() + footer(), version);
  }

  // A put by a core: stores of words, each visible before the next.
  struct Step {
    std::uint32_t offset = 0;
    std::uint64_t value = 0;
  };
  constexpr std::uint32_t put_steps() const {
    switch (protocol_) {
      case GetProtocol::kPessimistic:
        return words_;
      case GetProtocol::kValidation:
        return words_ + 1;
      case GetProtocol::kFarm:
        return words_ + 2 * (lines() - 1) + 1;
      case GetProtocol::kSingleRead:
        return words_ + 2;
    }
    return 0;
  }
  /// The `number`-th step of the put of `version` (even, 2 above the one before). The last one also gives the
  /// item back, but for Pessimistic, whose lock is given back by another step.
  constexpr Step put_step(std::uint32_t number, std::uint64_t version) const {
    const Step last{0, version};
    switch (protocol_) {
      case GetProtocol::kPessimistic:
        break;
      case GetProtocol::kValidation:
        if (number == words_) return last;
        break;
      case GetProtocol::kFarm:
        return number + 1 == put_steps() ? last : farm_step(number, version);
      case GetProtocol::kSingleRead:
        // Back to front: a reader that goes front to back meets a change, if there is one, at the back first.
        if (number == 0) return {footer(), version};
        if (number == words_ + 1) return last;
        return payload_step(words_ - number, version);
    }
    return payload_step(number, version);
  }

  /// A put by remote writes: parts of the item, each visible before the next; a part's lines become visible
  /// at once.
  struct Part {
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
  };
  constexpr std::uint32_t put_parts() const {
    if (protocol_ == GetProtocol::kFarm) return lines() > 1 ? 2 : 1;
    return protocol_ == GetProtocol::kPessimistic ? 1 : protocol_ == GetProtocol::kValidation ? 2 : 3;
  }
  constexpr Part put_part(std::uint32_t number) const {
    if (protocol_ == GetProtocol::kFarm) {
      // Lines name their version themselves; the one with the lock comes last.
      if (number + 1 == put_parts()) return {0, kLineBytes};
      return {kLineBytes, bytes() - kLineBytes};
    }
    if (protocol_ == GetProtocol::kSingleRead && number == 0) return {footer(), kWord};
    const std::uint32_t payload = protocol_ == GetProtocol::kSingleRead ? 1 : 0;
    return number == payload ? Part{kWord, payload_bytes()} : Part{0, kWord};
  }

  /// What a reader makes of the bytes it got.
  struct Judgement {
    bool accepted = false;      ///< The protocol's own check passes.
    std::uint64_t version = 0;  ///< Accepted: what it takes for the version; Pessimistic: of the first word.
    bool torn = false;          ///< Accepted, but the payload is not all of that version.
    std::uint64_t other = 0;    ///< Torn: the version of the first word that is not of `version`.
  };
  /// `item`: bytes() of them. `second`: Validation, the version as read again. Pessimistic accepts whatever
  /// it read under its lock.
  Judgement judge(std::span<const std::byte> item, std::uint64_t second) const {
    Judgement judgement;
    const std::uint64_t first = load_le64(item.data());
    judgement.version = first;
    judgement.accepted = first % 2 == 0;
    switch (protocol_) {
      case GetProtocol::kPessimistic:
        judgement.accepted = true;
        judgement.version = version_of(load_le64(item.data() + offset_of(0)));
        break;
      case GetProtocol::kValidation:
        judgement.accepted &= first == second;
        break;
      case GetProtocol::kFarm:
        for (std::uint32_t line = 1; line < lines(); ++line)
          judgement.accepted &= load_le64(item.data() + line * kLineBytes) == first;
        break;
      case GetProtocol::kSingleRead:
        judgement.accepted &= first == load_le64(item.data() + footer());
        break;
    }
    for (std::uint32_t word = 0; judgement.accepted && !judgement.torn && word < words_; ++word) {
      const std::uint64_t found = load_le64(item.data() + offset_of(word));
      judgement.torn = found != payload_word(judgement.version, word);
      if (judgement.torn) judgement.other = version_of(found);
    }
    return judgement;
  }

 private:
  constexpr Step payload_step(std::uint32_t word, std::uint64_t version) const {
    return {offset_of(word), payload_word(version, word)};
  }
  /// Stores of eight bytes make no line at once: while a line behind the first is changed, its own version is
  /// odd. The first line, whose version is odd all the time, comes last.
  constexpr Step farm_step(std::uint32_t number, std::uint64_t version) const {
    std::uint32_t line = 1;
    std::uint32_t begin = number;
    for (; line < lines(); ++line) {
      const std::uint32_t in_line = line + 1 < lines() ? kFarmWords : words_ - line * kFarmWords;
      if (begin == 0) return {line * kLineBytes, version - 1};
      if (begin <= in_line) return payload_step(line * kFarmWords + begin - 1, version);
      if (begin == in_line + 1) return {line * kLineBytes, version};
      begin -= in_line + 2;
    }
    return payload_step(begin, version);
  }

  GetProtocol protocol_;
  std::uint32_t words_;
};

}  // namespace wharf::workload
