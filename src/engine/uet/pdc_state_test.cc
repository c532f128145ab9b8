// SPDX-License-Identifier: Apache-2.0
#include "engine/uet/pdc_state.h"

#include <string>

#include "engine/uet/pdc.h"

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

}  // namespace
}  // namespace wharf::uet
