// SPDX-License-Identifier: Apache-2.0
// What an atomic leaves in memory. Apart from the memories that perform it (simulated, live), which differ in
// how they make it one step.
#pragma once

#include "base/check.h"
#include "verbs/verb.h"

namespace wharf::verbs {

/// The value after `verb` on a word that held `old`; arithmetic wraps at the width of Word.
/// [UB-Base 2.0.1 7.4; IBTA vol 1 9.4.5] Verbs that are no atomics are our own bug.
template <typename Word>
Word atomic_value(Verb verb, Word old, Word operand, Word compare) {
  switch (verb) {
    case Verb::kCompareSwap:
      return old == compare ? operand : old;
    case Verb::kSwap:
    case Verb::kAtomicStore:
      return operand;
    case Verb::kAtomicLoad:
      return old;
    case Verb::kFetchAdd:
      return static_cast<Word>(old + operand);
    case Verb::kFetchSub:
      return static_cast<Word>(old - operand);
    case Verb::kFetchAnd:
      return static_cast<Word>(old & operand);
    case Verb::kFetchOr:
      return static_cast<Word>(old | operand);
    case Verb::kFetchXor:
      return static_cast<Word>(old ^ operand);
    case Verb::kLoad:
    case Verb::kStore:
    case Verb::kRead:
    case Verb::kWrite:
    case Verb::kWriteImm:
    case Verb::kWriteNotify:
    case Verb::kSend:
    case Verb::kSendImm:
    case Verb::kSendInvalidate:
      break;
  }
  WHARF_UNREACHABLE();
}

}  // namespace wharf::verbs
