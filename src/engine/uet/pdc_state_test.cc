// SPDX-License-Identifier: Apache-2.0
#include "engine/uet/pdc_state.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "engine/uet/pdc.h"
#include "tests/support/generated_block.h"
#include "tests/support/state_matrix.h"
#include "wire/uet_names.h"

namespace wharf::uet {
namespace {

/// One row per state: the next state of each event, "." where the event means nothing.
std::string matrix() {
  std::string text;
  for (int state = 0; state < kPdcStateCount; ++state) {
    text += std::string(name(static_cast<PdcState>(state))) + ":";
    for (int event = 0; event < kPdcEventCount; ++event) {
      const auto next = next_state(static_cast<PdcState>(state), static_cast<PdcEvent>(event));
      text += next ? " " + std::string(name(*next)) : " .";
    }
    text += "\n";
  }
  return text;
}

TEST(PdcState, Uet_3_5_8_StateByEventMatrix) {
  EXPECT_EQ(matrix(),
            "CLOSED: CREATING ESTABLISHED . . . . . . .\n"
            "CREATING: . . ESTABLISHED . . . . . ERROR\n"
            "ESTABLISHED: . . . QUIESCE . . CLOSING CLOSED ERROR\n"
            "QUIESCE: . . . . CLOSE_ACK_WAIT . . . ERROR\n"
            "CLOSE_ACK_WAIT: . . . . . CLOSED . . ERROR\n"
            "CLOSING: . . . . . . . CLOSED ERROR\n"
            "ERROR: . . . . . . . . .\n");
}

constexpr const char* kDocument = "docs/protocol/uet.md";

TEST(PdcState, TheDocumentHasItsMatrix) {
  test::expect_generated_block(
      kDocument, "PDC states",
      test::state_matrix<PdcState, PdcEvent>(kPdcStateCount, kPdcEventCount, next_state));
}

TEST(CccState, TheDocumentHasItsMatrix) {
  std::string text =
      "| state | nothing to send or in flight | nothing to send, some in flight | data, held back | data, "
      "may "
      "leave |\n|---|---|---|---|---|\n";
  for (int each = 0; each < kCccStateCount; ++each) {
    const auto state = static_cast<CccState>(each);
    text += fmt::format("| {} | {} | {} | {} | {} |\n", name(state),
                        name(updated(state, false, false, false)), name(updated(state, false, true, false)),
                        name(updated(state, true, true, false)), name(updated(state, true, true, true)));
    // What is left out does not matter.
    EXPECT_EQ(updated(state, false, true, true), updated(state, false, true, false));
    EXPECT_EQ(updated(state, true, false, true), updated(state, true, true, true));
    EXPECT_EQ(updated(state, true, false, false), updated(state, true, true, false));
  }
  test::expect_generated_block(kDocument, "CCC states", text);
}

TEST(PdcState, TheDocumentHasTheNackCodes) {
  std::string text = "| code | name | class |\n|---|---|---|\n";
  for (unsigned code = 0; code < 256; ++code) {
    const char* kind = nullptr;
    switch (wire::uet_nack_class(static_cast<wire::UetNackCode>(code))) {
      case wire::UetNackClass::kReserved:
        continue;
      case wire::UetNackClass::kNormal:
        kind = "normal";
        break;
      case wire::UetNackClass::kError:
        kind = "error";
        break;
      case wire::UetNackClass::kFatal:
        kind = "fatal";
        break;
    }
    text += fmt::format("| {:#04x} | {} | {} |\n", code,
                        wire::uet_nack_name(static_cast<wire::UetNackCode>(code)), kind);
  }
  test::expect_generated_block(kDocument, "NACK codes", text);
}

TEST(CccState, Uet_3_6_12_UpdateState) {
  EXPECT_EQ(updated(CccState::kReady, false, false, true), CccState::kIdle);
  EXPECT_EQ(updated(CccState::kReady, false, true, true), CccState::kPending);
  EXPECT_EQ(updated(CccState::kIdle, true, false, false), CccState::kActive);
  EXPECT_EQ(updated(CccState::kPending, true, true, true), CccState::kReady);
  EXPECT_EQ(updated(CccState::kActive, true, true, true), CccState::kReady);
  EXPECT_EQ(updated(CccState::kReady, true, true, false), CccState::kActive);
}

TEST(PsnLists, LinksSurviveAGrowingRingAndTheWrapOfPsns) {
  std::vector<SendEntry> small(64);
  std::vector<SendEntry> large(128);
  PdcSend tx;
  tx.ring = small.data();
  tx.mask = 63;
  tx.una = 0xffff'fff0;
  tx.next = tx.una + 40;
  for (const std::uint32_t at : {3U, 30U, 17U, 5U}) tx.append(tx.resend, tx.una + at);
  for (UetPsn psn = tx.una; psn != tx.next; ++psn) large[psn & 127] = tx.at(psn);
  tx.ring = large.data();
  tx.mask = 127;
  tx.remove(tx.resend, tx.una + 17);
  tx.remove(tx.resend, tx.una + 3);
  EXPECT_EQ(tx.resend.head, tx.una + 30);
  tx.remove(tx.resend, tx.una + 5);
  EXPECT_EQ(tx.resend.tail, tx.una + 30);
  tx.append(tx.resend, tx.una + 1);
  tx.remove(tx.resend, tx.una + 30);
  EXPECT_EQ(tx.resend.head, tx.una + 1);
  EXPECT_EQ(tx.resend.count, 1U);
}

TEST(PdcSend, LooksAheadAsFarAsWindowRingAndNumbersReach) {
  std::vector<SendEntry> ring(64);
  RandomStream random(1, "uet.look_ahead");
  for (int i = 0; i < 2000; ++i) {
    PdcSend tx;
    tx.ring = random.below(8) == 0 ? nullptr : ring.data();
    tx.mask = tx.ring == nullptr ? 0 : 63;
    tx.una = static_cast<UetPsn>(random.below(4) == 0 ? 0xffff'ffe0 : random.below(1U << 31U));
    tx.next = tx.una + (tx.ring == nullptr ? 0 : static_cast<UetPsn>(random.below(65)));
    tx.cumulative = tx.una - 1 + static_cast<UetPsn>(random.below(tx.next - tx.una + 1));
    tx.range = static_cast<std::uint32_t>(random.below(80));
    tx.start = tx.una - (random.below(4) == 0 ? PdcSend::kMostPsns - 20 : 0);
    tx.look_ahead();
    const auto may_go = [&tx] {
      return tx.window_open() && !tx.full() && tx.next - tx.start < PdcSend::kMostPsns;
    };
    for (; tx.goes_as_usual(); ++tx.next) ASSERT_TRUE(may_go());
    ASSERT_FALSE(may_go());
  }
}

}  // namespace
}  // namespace wharf::uet
