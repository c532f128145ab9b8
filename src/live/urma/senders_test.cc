// SPDX-License-Identifier: Apache-2.0
// Who may send to a queue, by which number a receiver knows the sender, and in which order a sender hears of
// its requests. [URMA API, transport modes, bind, cr.remote_id]
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "live/urma/identity.h"
#include "live/urma/objects.h"
#include "live/urma/urma_test_support.h"

namespace wharf::live::urma {
namespace {

class QueueSenders : public UrmaTestEachWay {
 protected:
  static urma_target_jetty_t* import(End& end, End& other, urma_transport_mode_t mode) {
    return import(end, *other.jetty, mode);
  }
  static urma_target_jetty_t* import(End& end, const urma_jetty_t& jetty, urma_transport_mode_t mode) {
    urma_rjetty_t rjetty{};
    rjetty.jetty_id = jetty.jetty_id;
    rjetty.trans_mode = mode;
    rjetty.type = URMA_JETTY;
    rjetty.tp_type = mode == URMA_TM_UM ? URMA_UTP : URMA_RTP;
    urma_token_t none{0};
    return urma_import_jetty(end.context, &rjetty, &none);
  }
  /// Another jetty of `end`, with the well-known number `id` if it is not 0.
  static urma_jetty_t* another(End& end, std::uint32_t id) {
    urma_jetty_cfg_t cfg = end.jetty->jetty_cfg;
    cfg.id = id;
    return urma_create_jetty(end.context, &cfg);
  }
  /// What `end` does with another jetty than its own.
  static void with(End& end, urma_jetty_t* jetty, urma_target_jetty_t* target,
                   const std::function<void()>& act) {
    std::swap(end.jetty, jetty);
    std::swap(end.target, target);
    act();
    std::swap(end.jetty, jetty);
    std::swap(end.target, target);
  }
};

INSTANTIATE_TEST_SUITE_P(EachWay, QueueSenders, each_way(), way_name);

TEST_P(QueueSenders, ABoundJettyTakesMessagesOfItsPeerAlone) {
  End first({.mode = URMA_TM_RC});
  End bound({.device = "right", .mode = URMA_TM_RC});
  first.reach(bound);
  bound.reach(first);
  ASSERT_EQ(bound.receive(0, 64, 1), URMA_SUCCESS);
  for (const urma_transport_mode_t mode : {URMA_TM_RC, URMA_TM_RM}) {
    End other({.mode = mode});
    other.target = import(other, bound, mode);
    ASSERT_NE(other.target, nullptr);
    if (mode == URMA_TM_RC) {
      ASSERT_EQ(urma_bind_jetty(other.jetty, other.target), URMA_SUCCESS);
    }
    ASSERT_EQ(other.post(URMA_OPC_SEND, other.local(0, 8), {}), URMA_SUCCESS);
    EXPECT_EQ(next_record(other.send_jfc).status, URMA_CR_REM_OPERATION_ERR) << mode;
  }
  ASSERT_EQ(first.post(URMA_OPC_SEND, first.local(0, 8), {}), URMA_SUCCESS);
  EXPECT_EQ(next_record(first.send_jfc).status, URMA_CR_SUCCESS);
  EXPECT_EQ(next_record(bound.receive_jfc).remote_id.id, first.jetty->jetty_id.id);
}

TEST_P(QueueSenders, AJettyTakesMessagesOfItsTransportModeAlone) {
  End right({.device = "right", .mode = URMA_TM_RC});
  End left;
  left.target = import(left, right, URMA_TM_RM);
  ASSERT_NE(left.target, nullptr);
  ASSERT_EQ(right.receive(0, 64, 1), URMA_SUCCESS);
  ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_REM_OPERATION_ERR);
}

// [URMA API, cr.remote_id] The sender's jetty id, as the sender knows it.
TEST_P(QueueSenders, AreKnownByTheirWellKnownNumber) {
  for (const urma_transport_mode_t mode : {URMA_TM_RM, URMA_TM_RC}) {
    End left({.mode = mode});
    End right({.device = "right", .mode = mode});
    urma_jetty_t* const named = another(left, 5);
    ASSERT_NE(named, nullptr);
    ASSERT_EQ(named->jetty_id.id, 5U);
    urma_target_jetty_t* const target = import(left, right, mode);
    ASSERT_NE(target, nullptr);
    right.target = import(right, *named, mode);
    ASSERT_NE(right.target, nullptr);
    if (mode == URMA_TM_RC) {
      ASSERT_EQ(urma_bind_jetty(named, target), URMA_SUCCESS);
      ASSERT_EQ(urma_bind_jetty(right.jetty, right.target), URMA_SUCCESS);
    }
    for (int at = 0; at < 2; ++at) {
      ASSERT_EQ(right.receive(0, 64, 1), URMA_SUCCESS);
      with(left, named, target,
           [&] { ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}), URMA_SUCCESS); });
      EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
      const urma_cr_t record = next_record(right.receive_jfc);
      EXPECT_EQ(record.remote_id.id, 5U);
      EXPECT_EQ(record.remote_id.uasid, left.context->uasid);
    }
    if (mode == URMA_TM_RC) {
      EXPECT_EQ(urma_unbind_jetty(named), URMA_SUCCESS);
    }
    EXPECT_EQ(urma_unimport_jetty(target), URMA_SUCCESS);
    EXPECT_EQ(urma_delete_jetty(named), URMA_SUCCESS);
  }
}

// [URMA API, RESET] It takes nothing before it is READY again.
TEST_P(QueueSenders, AJettyInResetTakesNoMessages) {
  End left;
  End right({.device = "right"});
  left.reach(right);
  ASSERT_EQ(right.receive(0, 64, 1), URMA_SUCCESS);
  for (const urma_jetty_state_t state : {URMA_JETTY_STATE_ERROR, URMA_JETTY_STATE_RESET}) {
    urma_jetty_attr_t attr{JETTY_STATE, 0, state};
    ASSERT_EQ(urma_modify_jetty(right.jetty, &attr), URMA_SUCCESS);
    ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}), URMA_SUCCESS);
    EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_REM_OPERATION_ERR) << state;
  }
  urma_jetty_attr_t attr{JETTY_STATE, 0, URMA_JETTY_STATE_READY};
  ASSERT_EQ(urma_modify_jetty(right.jetty, &attr), URMA_SUCCESS);
  ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
}

// A value of 0 is a value.
TEST_P(QueueSenders, ATokenOfValueZeroIsCompared) {
  End left;
  End right({.device = "right"});
  urma_jfr_cfg_t cfg = right.jfr->jfr_cfg;
  cfg.flag.bs.token_policy = URMA_TOKEN_PLAIN_TEXT;
  cfg.token_value.token = 0;
  urma_jfr_t* const jfr = urma_create_jfr(right.context, &cfg);
  ASSERT_NE(jfr, nullptr);
  for (const std::uint32_t value : {5U, 0U}) {
    urma_rjfr_t rjfr{};
    rjfr.jfr_id = jfr->jfr_id;
    rjfr.trans_mode = URMA_TM_RM;
    urma_token_t token{value};
    left.target = urma_import_jfr(left.context, &rjfr, &token);
    ASSERT_NE(left.target, nullptr);
    urma_sge_t piece = right.local(0, 64);
    urma_jfr_wr_t wr{};
    wr.src = {&piece, 1};
    urma_jfr_wr_t* bad = nullptr;
    ASSERT_EQ(urma_post_jfr_wr(jfr, &wr, &bad), URMA_SUCCESS);
    ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}), URMA_SUCCESS);
    EXPECT_EQ(next_record(left.send_jfc).status, value == 0 ? URMA_CR_SUCCESS : URMA_CR_REM_ACCESS_ABORT_ERR);
    EXPECT_EQ(urma_unimport_jfr(left.target), URMA_SUCCESS);
    left.target = nullptr;
  }
  EXPECT_EQ(urma_delete_jfr(jfr), URMA_SUCCESS);
}

// Programs take a record for the end of all requests before it.
TEST_P(QueueSenders, HearOfTheirRequestsInTheOrderOfPosting) {
  End left;
  End right({.device = "right"});
  left.reach(right);
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8)), URMA_SUCCESS);
  ASSERT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  urma_target_jetty_t* const late = nobody(left);
  ASSERT_NE(late, nullptr);
  with(left, left.jetty, late,
       [&] { ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8), 1), URMA_SUCCESS); });
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8), 2), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).user_ctx, 1U);
  EXPECT_EQ(next_record(left.send_jfc).user_ctx, 2U);
  EXPECT_EQ(urma_unimport_jetty(late), URMA_SUCCESS);
}

TEST_P(QueueSenders, HearOfARefusedOpcodeInItsTurn) {
  End left;
  End right({.device = "right"});
  left.reach(right);
  ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}, 1), URMA_SUCCESS);
  ASSERT_EQ(left.post(URMA_OPC_NOP, left.local(0, 8), {}, 2), URMA_SUCCESS);
  ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}, 3), URMA_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  urma_cr_t none{};
  EXPECT_EQ(urma_poll_jfc(left.send_jfc, 1, &none), 0) << "request 1 finds no receive";
  for (std::uint64_t at = 0; at < 2; ++at) ASSERT_EQ(right.receive(0, 64, at), URMA_SUCCESS);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    const urma_cr_t record = next_record(left.send_jfc);
    EXPECT_EQ(record.user_ctx, id);
    EXPECT_EQ(record.status, id == 2 ? URMA_CR_UNSUPPORTED_OPCODE_ERR : URMA_CR_SUCCESS);
  }
}

TEST_P(QueueSenders, AreTooManyForAProcessAtOnceAndNotForEver) {
  constexpr std::size_t kMost = Interface::kBindingsOfPeer;
  End right({.device = "right", .mode = URMA_TM_RC});
  End left({.mode = URMA_TM_RC, .send_depth = 1, .jfc_depth = 4096});
  urma_target_jetty_t* const target = import(left, right, URMA_TM_RC);
  ASSERT_NE(target, nullptr);
  left.reach(right);
  const auto write = [&](urma_jetty_t* jetty) {
    with(left, jetty, target,
         [&] { ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8)), URMA_SUCCESS); });
    return next_record(left.send_jfc);
  };
  std::vector<urma_jetty_t*> jettys;
  const auto bind_one = [&] {
    jettys.push_back(another(left, 0));
    ASSERT_NE(jettys.back(), nullptr);
    ASSERT_EQ(urma_bind_jetty(jettys.back(), target), URMA_SUCCESS);
  };
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8)), URMA_SUCCESS);
  ASSERT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);  // That of `left` is bound.
  while (jettys.size() + 1 < kMost) ASSERT_NO_FATAL_FAILURE(bind_one());
  for (urma_jetty_t* const each : jettys) {
    with(left, each, target,
         [&] { ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8)), URMA_SUCCESS); });
  }
  for (std::size_t at = 0; at < jettys.size(); ++at)
    ASSERT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  ASSERT_NO_FATAL_FAILURE(bind_one());
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(write(jettys.back()).status, URMA_CR_ACK_TIMEOUT_ERR);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(700)) << "it is refused";
  next_record(left.send_jfc);  // The mark.
  // One that is unbound makes room.
  EXPECT_EQ(urma_unbind_jetty(jettys.front()), URMA_SUCCESS);
  ASSERT_NO_FATAL_FAILURE(bind_one());
  EXPECT_EQ(write(jettys.back()).status, URMA_CR_SUCCESS);
  for (urma_jetty_t* const each : jettys) {
    if (each != jettys.front()) {
      EXPECT_EQ(urma_unbind_jetty(each), URMA_SUCCESS);
    }
    EXPECT_EQ(urma_delete_jetty(each), URMA_SUCCESS);
  }
  EXPECT_EQ(urma_unimport_jetty(target), URMA_SUCCESS);
}

// One of several targets in a process is left: the others still know the sender by its number.
TEST_P(QueueSenders, AreKnownAfterTheyHaveLeftOneOfTheirTargets) {
  End left;
  End right({.device = "right"});
  End other({.device = "right"});
  urma_jetty_t* const named = another(left, 5);
  ASSERT_NE(named, nullptr);
  urma_target_jetty_t* targets[] = {import(left, right, URMA_TM_RM), import(left, other, URMA_TM_RM)};
  End* const ends[] = {&right, &other};
  for (int at = 0; at < 4; ++at) {
    const int to = at % 2;
    ASSERT_EQ(ends[to]->receive(0, 64, 1), URMA_SUCCESS);
    with(left, named, targets[to],
         [&] { ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}), URMA_SUCCESS); });
    EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
    EXPECT_EQ(next_record(ends[to]->receive_jfc).remote_id.id, 5U) << at;
    if (at < 2) continue;
    // First the one that was reached first, then, after it was reached once more, the other.
    EXPECT_EQ(urma_unimport_jetty(targets[to]), URMA_SUCCESS);
    targets[to] = import(left, *ends[to], URMA_TM_RM);
  }
  ASSERT_EQ(right.receive(0, 64, 1), URMA_SUCCESS);
  with(left, named, targets[0],
       [&] { ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}), URMA_SUCCESS); });
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  EXPECT_EQ(next_record(right.receive_jfc).remote_id.id, 5U);
  for (urma_target_jetty_t* const each : targets) EXPECT_EQ(urma_unimport_jetty(each), URMA_SUCCESS);
  EXPECT_EQ(urma_delete_jetty(named), URMA_SUCCESS);
}

TEST_P(QueueSenders, GiveTheirPlaceBackWhenTheyEnd) {
  for (const urma_transport_mode_t mode : {URMA_TM_RM, URMA_TM_UM}) {
    End left({.mode = mode});
    End right({.device = "right", .mode = mode});
    urma_jetty_t* const ends = another(left, mode == URMA_TM_RM ? 5 : 0);
    ASSERT_NE(ends, nullptr);
    left.reach(right);
    const auto bindings = [&] {
      Interface& interface = *tables().contexts.find(right.context)->interface;
      const std::lock_guard lock(interface.mutex());
      std::size_t count = 0;
      for (std::uint32_t number = 0; number < 64; ++number) {
        if (const Peer* const peer = interface.peer(number)) count += peer->bound.size();
      }
      return count;
    };
    with(left, ends, left.target,
         [&] { ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8)), URMA_SUCCESS); });
    EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
    EXPECT_EQ(bindings(), 1U) << mode;
    EXPECT_EQ(urma_delete_jetty(ends), URMA_SUCCESS);
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (bindings() != 0 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    EXPECT_EQ(bindings(), 0U) << mode;
  }
}

// A number is the next jetty's when its owner is gone.
TEST_P(QueueSenders, HandTheirWellKnownNumberOn) {
  End left({.mode = URMA_TM_RC});
  End right({.device = "right", .mode = URMA_TM_RC});
  for (int life = 0; life < 3; ++life) {
    urma_jetty_t* const named = another(left, 5);
    ASSERT_NE(named, nullptr);
    urma_target_jetty_t* const target = import(left, right, URMA_TM_RC);
    urma_target_jetty_t* const back = import(right, *named, URMA_TM_RC);
    ASSERT_EQ(urma_bind_jetty(named, target), URMA_SUCCESS);
    ASSERT_EQ(urma_bind_jetty(right.jetty, back), URMA_SUCCESS);
    ASSERT_EQ(right.receive(0, 64, 1), URMA_SUCCESS);
    with(left, named, target,
         [&] { ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}), URMA_SUCCESS); });
    EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS) << life;
    EXPECT_EQ(next_record(right.receive_jfc).remote_id.id, 5U) << life;
    EXPECT_EQ(urma_unbind_jetty(named), URMA_SUCCESS);
    EXPECT_EQ(urma_unbind_jetty(right.jetty), URMA_SUCCESS);
    EXPECT_EQ(urma_unimport_jetty(target), URMA_SUCCESS);
    EXPECT_EQ(urma_unimport_jetty(back), URMA_SUCCESS);
    EXPECT_EQ(urma_delete_jetty(named), URMA_SUCCESS);
  }
}

// [URMA API, fence] It waits for what waits for its process, too.
TEST_P(QueueSenders, AFencedRequestWaitsForThoseThatWait) {
  End left;
  End right({.device = "right"});
  left.reach(right);
  urma_jetty_cfg_t cfg = left.jetty->jetty_cfg;
  cfg.jfs_cfg.flag.bs.outorder_comp = 1;
  urma_jetty_t* const jetty = urma_create_jetty(left.context, &cfg);
  ASSERT_NE(jetty, nullptr);
  urma_target_jetty_t* const known = left.target;
  urma_target_jetty_t* const late = nobody(left);
  ASSERT_NE(late, nullptr);
  const auto write = [&](urma_target_jetty_t* target, std::uint64_t id, urma_jfs_wr_flag_t flag) {
    with(left, jetty, target, [&] {
      ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8), id, flag), URMA_SUCCESS);
    });
  };
  write(known, 0, {});
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  urma_jfs_wr_flag_t fenced{};
  fenced.bs.fence = 1;
  write(late, 1, {});
  write(known, 2, {});
  write(known, 3, fenced);
  EXPECT_EQ(next_record(left.send_jfc).user_ctx, 2U) << "its queue needs no order of records";
  EXPECT_EQ(next_record(left.send_jfc).user_ctx, 1U);
  EXPECT_EQ(next_record(left.send_jfc).user_ctx, 3U);
  EXPECT_EQ(urma_unimport_jetty(late), URMA_SUCCESS);
  EXPECT_EQ(urma_delete_jetty(jetty), URMA_SUCCESS);
}

// What waits for a process is not gone through at every call of others.
TEST_P(QueueSenders, ThatWaitKeepNoOthersWaiting) {
  constexpr std::uint32_t kDepth = 16384;
  End left({.send_depth = kDepth, .jfc_depth = 2 * kDepth});
  End right({.device = "right"});
  End beside({.receive_depth = 256});
  left.reach(right);
  // What a call on that address takes of this thread's own time, in nanoseconds.
  const auto cost_of_a_call = [&] {
    std::int64_t best = INT64_MAX;
    for (int at = 0; at < 100; ++at) {
      timespec begun{};
      timespec ended{};
      ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
      EXPECT_EQ(beside.receive(0, 64, 1), URMA_SUCCESS);
      ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
      const std::int64_t seconds = ended.tv_sec - begun.tv_sec;
      best = std::min(best, seconds * 1'000'000'000 + ended.tv_nsec - begun.tv_nsec);
    }
    return best;
  };
  const std::int64_t alone = cost_of_a_call();
  urma_target_jetty_t* const late = nobody(left);
  ASSERT_NE(late, nullptr);
  with(left, left.jetty, late, [&] {
    for (std::uint32_t at = 0; at < kDepth; ++at)
      ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8), at), URMA_SUCCESS);
  });
  const std::int64_t beside_them = cost_of_a_call();
  urma_cr_t record{};
  if (urma_poll_jfc(left.send_jfc, 1, &record) == 0) {  // They have not been given up yet.
    EXPECT_LT(beside_them, 10 * alone + 20'000);
  }
  EXPECT_EQ(urma_unimport_jetty(late), URMA_SUCCESS);
}

}  // namespace
}  // namespace wharf::live::urma
