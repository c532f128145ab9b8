// SPDX-License-Identifier: Apache-2.0
// Requests of the C interface between two contexts, over real sockets.
#include <limits>

#include "live/urma/urma_test_support.h"

namespace wharf::live::urma {
namespace {

class DataPath : public UrmaTestEachWay {};
INSTANTIATE_TEST_SUITE_P(EachWay, DataPath, each_way(), way_name);
/// What takes 1.5 s, and no port has a part in.
using DataPathOnce = UrmaTest;

TEST_P(DataPath, AWriteLandsAndIsReported) {
  End left;
  End right({.device = "right"});
  left.reach(right);
  std::memset(left.memory.data(), 0x5a, 4096);
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 4096), left.far(8192, 4096), ~0ULL), URMA_SUCCESS);
  const urma_cr_t record = next_record(left.send_jfc);
  EXPECT_EQ(record.status, URMA_CR_SUCCESS);
  EXPECT_EQ(record.user_ctx, ~0ULL);
  EXPECT_EQ(record.flag.bs.s_r, 0);
  EXPECT_EQ(record.flag.bs.jetty, 1);
  EXPECT_EQ(record.local_id, left.jetty->jetty_id.id);
  EXPECT_EQ(std::memcmp(left.memory.data(), right.memory.data() + 8192, 4096), 0);
}

TEST_P(DataPath, AProcessReachesItself) {
  End left;
  End other;
  left.reach(other);
  std::memset(left.memory.data(), 0x33, 100'000);
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 100'000), left.far(0, 100'000)), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  EXPECT_EQ(std::memcmp(left.memory.data(), other.memory.data(), 100'000), 0);
  ASSERT_EQ(left.post(URMA_OPC_READ, left.local(200'000, 100'000), left.far(0, 100'000)), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  EXPECT_EQ(std::memcmp(left.memory.data() + 200'000, other.memory.data(), 100'000), 0);
}

TEST_P(DataPath, AReadIsThereWhenItsRecordIs) {
  End left;
  End right({.device = "right"});
  left.reach(right);
  for (std::size_t at = 0; at < 50'000; ++at) right.memory[at] = static_cast<std::byte>(at * 7);
  ASSERT_EQ(left.post(URMA_OPC_READ, left.local(100, 50'000), left.far(0, 50'000)), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  EXPECT_EQ(std::memcmp(left.memory.data() + 100, right.memory.data(), 50'000), 0);
}

TEST_P(DataPath, ASendTellsWhoItIsFrom) {
  End left;
  End right({.device = "right", .token = 77});
  left.reach(right, 77);
  ASSERT_EQ(right.receive(0, 256, 42), URMA_SUCCESS);
  std::memset(left.memory.data(), 0x11, 100);
  ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 100), {}), URMA_SUCCESS);
  const urma_cr_t got = next_record(right.receive_jfc);
  EXPECT_EQ(got.status, URMA_CR_SUCCESS);
  EXPECT_EQ(got.user_ctx, 42U);
  EXPECT_EQ(got.flag.bs.s_r, 1);
  EXPECT_EQ(got.opcode, URMA_CR_OPC_SEND);
  EXPECT_EQ(got.completion_len, 100U);
  EXPECT_EQ(got.local_id, right.jetty->jetty_id.id);
  EXPECT_EQ(got.remote_id.id, left.jetty->jetty_id.id);
  EXPECT_EQ(got.remote_id.uasid, left.context->uasid);
  EXPECT_EQ(std::memcmp(&got.remote_id.eid, &left.context->eid, sizeof(urma_eid_t)), 0);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  EXPECT_EQ(std::memcmp(left.memory.data(), right.memory.data(), 100), 0);
}

TEST_P(DataPath, ImmediateDataArriveWhole) {
  End left;
  End right({.device = "right"});
  left.reach(right);
  ASSERT_EQ(right.receive(0, 256, 1), URMA_SUCCESS);
  ASSERT_EQ(right.receive(256, 256, 2), URMA_SUCCESS);
  ASSERT_EQ(left.post(URMA_OPC_SEND_IMM, left.local(0, 8), {}), URMA_SUCCESS);
  ASSERT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  ASSERT_EQ(left.post(URMA_OPC_WRITE_IMM, left.local(0, 8), left.far(4096, 8)), URMA_SUCCESS);
  const urma_cr_t sent = next_record(right.receive_jfc);
  EXPECT_EQ(sent.opcode, URMA_CR_OPC_SEND_WITH_IMM);
  EXPECT_EQ(sent.imm_data, 0x1122334455667788U);
  const urma_cr_t written = next_record(right.receive_jfc);
  EXPECT_EQ(written.opcode, URMA_CR_OPC_WRITE_WITH_IMM);
  EXPECT_EQ(written.imm_data, 0x1122334455667788U);
  EXPECT_EQ(written.user_ctx, 2U);
}

TEST_P(DataPath, AtomicsReturnWhatWasThere) {
  End left;
  End right({.device = "right"});
  left.reach(right);
  auto* const word = reinterpret_cast<std::uint64_t*>(right.memory.data());
  auto* const result = reinterpret_cast<std::uint64_t*>(left.memory.data());
  *word = 5;
  urma_sge_t here = left.local(0, 8);
  urma_sge_t there = left.far(0, 8);
  urma_jfs_wr_t wr{};
  wr.flag.bs.complete_enable = 1;
  wr.tjetty = left.target;
  urma_jfs_wr_t* bad = nullptr;
  wr.opcode = URMA_OPC_FADD;
  wr.faa.dst = &there;
  wr.faa.src = &here;
  wr.faa.operand = 3;
  ASSERT_EQ(urma_post_jetty_send_wr(left.jetty, &wr, &bad), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  EXPECT_EQ(*result, 5U);
  EXPECT_EQ(*word, 8U);
  wr.opcode = URMA_OPC_CAS;
  wr.cas.dst = &there;
  wr.cas.src = &here;
  wr.cas.cmp_data = 8;
  wr.cas.swap_data = 99;
  ASSERT_EQ(urma_post_jetty_send_wr(left.jetty, &wr, &bad), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  EXPECT_EQ(*result, 8U);
  EXPECT_EQ(*word, 99U);
}

TEST_P(DataPath, InlineDataMayChangeAtOnce) {
  End left;
  End right({.device = "right"});
  left.reach(right);
  urma_jfs_wr_flag_t flag{};
  flag.bs.inline_flag = 1;
  std::memset(left.memory.data(), 0x77, 200);
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 200), left.far(0, 200), 1, flag), URMA_SUCCESS);
  std::memset(left.memory.data(), 0x00, 200);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  for (std::size_t at = 0; at < 200; ++at) ASSERT_EQ(right.memory[at], std::byte{0x77});
  // More than the jetty was made for.
  EXPECT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 300), left.far(0, 300), 1, flag), URMA_EINVAL);
}

TEST_P(DataPath, ABoundConnectionCarriesAllVerbs) {
  for (const std::uint32_t order : {URMA_OL, URMA_OT}) {
    End left({.mode = URMA_TM_RC, .order = order});
    End right({.device = "right", .mode = URMA_TM_RC, .order = order});
    // The client binds first and posts before the server has bound.
    left.reach(right);
    EXPECT_EQ(urma_bind_jetty(left.jetty, left.target), URMA_EEXIST);
    std::memset(left.memory.data(), 0x21, 5000);
    ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 5000), left.far(0, 5000)), URMA_SUCCESS);
    ASSERT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS) << order;
    EXPECT_EQ(std::memcmp(left.memory.data(), right.memory.data(), 5000), 0);
    right.reach(left);
    ASSERT_EQ(left.receive(9000, 100, 9), URMA_SUCCESS);
    ASSERT_EQ(right.post(URMA_OPC_SEND, right.local(0, 100), {}), URMA_SUCCESS);
    EXPECT_EQ(next_record(left.receive_jfc).user_ctx, 9U);
    EXPECT_EQ(next_record(right.send_jfc).status, URMA_CR_SUCCESS);
    EXPECT_EQ(urma_delete_jetty(left.jetty), URMA_ENOPERM);
  }
}

TEST_P(DataPath, DatagramsCarrySendsOfOnePacket) {
  End left({.mode = URMA_TM_UM});
  End right({.device = "right", .mode = URMA_TM_UM});
  left.reach(right);
  ASSERT_EQ(right.receive(0, 4096, 3), URMA_SUCCESS);
  ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 64), {}), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  EXPECT_EQ(next_record(right.receive_jfc).user_ctx, 3U);
  EXPECT_EQ(left.post(URMA_OPC_SEND, left.local(0, 60'000), {}), URMA_EINVAL);
  ASSERT_EQ(left.post(URMA_OPC_READ, left.local(0, 64), left.far(0, 64)), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_UNSUPPORTED_OPCODE_ERR);
}

TEST_P(DataPath, UnsignalledRequestsDoNotFillTheQueue) {
  End left({.send_depth = 16});
  End right({.device = "right"});
  left.reach(right);
  for (std::uint32_t at = 0; at < 200; ++at) {
    urma_sge_t here = left.local(0, 64);
    urma_sge_t there = left.far(0, 64);
    urma_jfs_wr_t wr{};
    wr.opcode = URMA_OPC_WRITE;
    wr.flag.bs.complete_enable = at % 16 == 15;
    wr.tjetty = left.target;
    wr.user_ctx = at;
    wr.rw.src = {&here, 1};
    wr.rw.dst = {&there, 1};
    urma_jfs_wr_t* bad = nullptr;
    ASSERT_EQ(urma_post_jetty_send_wr(left.jetty, &wr, &bad), URMA_SUCCESS) << at;
    if (at % 16 == 15) {
      const urma_cr_t record = next_record(left.send_jfc);
      EXPECT_EQ(record.status, URMA_CR_SUCCESS);
      EXPECT_EQ(record.user_ctx, at);
    }
  }
}

TEST_F(DataPathOnce, AFullQueueNamesTheRequestAtFault) {
  End left({.send_depth = 4});
  urma_rjetty_t nobody{};
  nobody.jetty_id = {left.context->eid, (left.context->uasid ^ 1U), 40};
  nobody.trans_mode = URMA_TM_RM;
  nobody.type = URMA_JETTY;
  urma_token_t token{0};
  left.target = urma_import_jetty(left.context, &nobody, &token);
  ASSERT_NE(left.target, nullptr);
  EXPECT_EQ(nobody.flag.bs.order_type, URMA_OI);
  urma_sge_t here = left.local(0, 8);
  urma_jfs_wr_t requests[6]{};
  for (int at = 0; at < 6; ++at) {
    requests[at].opcode = URMA_OPC_SEND;
    requests[at].flag.bs.complete_enable = 1;
    requests[at].tjetty = left.target;
    requests[at].user_ctx = static_cast<std::uint64_t>(at);
    requests[at].send.src = {&here, 1};
    requests[at].next = at < 5 ? &requests[at + 1] : nullptr;
  }
  urma_jfs_wr_t* bad = nullptr;
  EXPECT_EQ(urma_post_jetty_send_wr(left.jetty, requests, &bad), URMA_ENOMEM);
  EXPECT_EQ(bad, &requests[4]);
  // Nobody answers there: each ends with the status that says so, and the jetty goes to ERROR.
  for (std::uint64_t at = 0; at < 4; ++at) {
    const urma_cr_t record = next_record(left.send_jfc);
    EXPECT_EQ(record.status, URMA_CR_ACK_TIMEOUT_ERR);
    EXPECT_EQ(record.user_ctx, at);
  }
  urma_jetty_cfg_t cfg{};
  urma_jetty_attr_t attr{};
  ASSERT_EQ(urma_query_jetty(left.jetty, &cfg, &attr), URMA_SUCCESS);
  EXPECT_EQ(attr.state, URMA_JETTY_STATE_ERROR);
  urma_async_event_t event{};
  ASSERT_EQ(urma_get_async_event(left.context, &event), URMA_SUCCESS);
  EXPECT_EQ(event.event_type, URMA_EVENT_JETTY_ERR);
  EXPECT_EQ(event.element.jetty, left.jetty);
  EXPECT_EQ(urma_delete_jetty(left.jetty), URMA_EAGAIN);
  urma_ack_async_event(&event);
}

TEST_P(DataPath, WhatIsNotAllowedEndsWithItsStatus) {
  End left;
  End right({.device = "right", .token = 5});
  left.reach(right, 6);
  // A wrong token of the jetty.
  ASSERT_EQ(right.receive(0, 64, 1), URMA_SUCCESS);
  ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_REM_ACCESS_ABORT_ERR);
  // Outside the segment there.
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 64), left.far(right.memory.size() - 8, 64)),
            URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_REM_ACCESS_ABORT_ERR);
  // Outside the segment here.
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(left.memory.size() - 8, 64), left.far(0, 64)), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_LOC_ACCESS_ERR);
  // What this transport does not have.
  urma_jfs_wr_t wr{};
  wr.opcode = URMA_OPC_NOP;
  wr.user_ctx = 8;
  urma_jfs_wr_t* bad = nullptr;
  ASSERT_EQ(urma_post_jetty_send_wr(left.jetty, &wr, &bad), URMA_SUCCESS);
  const urma_cr_t record = next_record(left.send_jfc);
  EXPECT_EQ(record.status, URMA_CR_UNSUPPORTED_OPCODE_ERR);
  EXPECT_EQ(record.user_ctx, 8U);
  // The segment is gone.
  urma_seg_t gone = left.remote->seg;
  End third({.device = "right"});
  gone.token_id = 0xfffff;
  urma_token_t token{0xabcdef};
  urma_target_seg_t* const stale = urma_import_seg(left.context, &gone, &token, 0, {});
  ASSERT_NE(stale, nullptr);
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), {gone.ubva.va, 8, stale, nullptr}), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_REM_ACCESS_ABORT_ERR);
  EXPECT_EQ(urma_unimport_seg(stale), URMA_SUCCESS);
}

TEST_P(DataPath, AnArmedChannelWakesItsReader) {
  End left({.events = true});
  End right({.device = "right", .events = true});
  left.reach(right);
  ASSERT_EQ(urma_rearm_jfc(right.receive_jfc, false), URMA_SUCCESS);
  urma_jfc_t* ready = nullptr;
  EXPECT_EQ(urma_wait_jfc(right.jfce, 1, 0, &ready), 0);
  ASSERT_EQ(right.receive(0, 64, 1), URMA_SUCCESS);
  ASSERT_EQ(right.receive(64, 64, 2), URMA_SUCCESS);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}), URMA_SUCCESS);
  ASSERT_EQ(urma_wait_jfc(right.jfce, 1, 10'000, &ready), 1);
  EXPECT_EQ(ready, right.receive_jfc);
  EXPECT_EQ(next_record(right.receive_jfc).user_ctx, 1U);
  // One record is left: arming again says so at once.
  while (true) {
    ASSERT_EQ(urma_rearm_jfc(right.receive_jfc, false), URMA_SUCCESS);
    ASSERT_EQ(urma_wait_jfc(right.jfce, 1, 10'000, &ready), 1);
    break;
  }
  EXPECT_EQ(next_record(right.receive_jfc).user_ctx, 2U);
  EXPECT_EQ(urma_delete_jfc(right.receive_jfc), URMA_EAGAIN);
  std::uint32_t events = 2;
  urma_ack_jfc(&ready, &events, 1);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
}

TEST_P(DataPath, OnlySolicitedMessagesWakeWhoAskedForThose) {
  End left;
  End right({.device = "right", .events = true});
  left.reach(right);
  ASSERT_EQ(right.receive(0, 64, 1), URMA_SUCCESS);
  ASSERT_EQ(right.receive(64, 64, 2), URMA_SUCCESS);
  ASSERT_EQ(urma_rearm_jfc(right.receive_jfc, true), URMA_SUCCESS);
  urma_jfc_t* ready = nullptr;
  ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}), URMA_SUCCESS);
  ASSERT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  EXPECT_EQ(urma_wait_jfc(right.jfce, 1, 0, &ready), 0);
  urma_jfs_wr_flag_t flag{};
  flag.bs.solicited_enable = 1;
  ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}, 1, flag), URMA_SUCCESS);
  ASSERT_EQ(urma_wait_jfc(right.jfce, 1, 10'000, &ready), 1);
  std::uint32_t events = 1;
  urma_ack_jfc(&ready, &events, 1);
}

TEST_P(DataPath, AMessageWaitsForAReceive) {
  End left;
  End right({.device = "right"});
  left.reach(right);
  ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}), URMA_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_EQ(right.receive(0, 64, 4), URMA_SUCCESS);
  EXPECT_EQ(next_record(right.receive_jfc).user_ctx, 4U);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
}

// Who set the limit of a receive queue is told when fewer entries than that are free: a jetty, or the JFR.
TEST_P(DataPath, AReceiveLimitIsToldToWhoSetIt) {
  End left;
  End right({.device = "right"});
  left.reach(right);
  ASSERT_EQ(right.receive(0, 64, 1), URMA_SUCCESS);
  ASSERT_EQ(right.receive(64, 64, 2), URMA_SUCCESS);
  urma_jetty_attr_t of_jetty{JETTY_RX_THRESHOLD, 2, URMA_JETTY_STATE_READY};
  ASSERT_EQ(urma_modify_jetty(right.jetty, &of_jetty), URMA_SUCCESS);
  ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}), URMA_SUCCESS);
  urma_async_event_t event{};
  ASSERT_EQ(urma_get_async_event(right.context, &event), URMA_SUCCESS);
  EXPECT_EQ(event.event_type, URMA_EVENT_JETTY_LIMIT);
  EXPECT_EQ(event.element.jetty, right.jetty);
  urma_ack_async_event(&event);
  ASSERT_EQ(right.receive(0, 64, 3), URMA_SUCCESS);
  urma_jfr_attr_t of_jfr{JFR_RX_THRESHOLD, 2, URMA_JFR_STATE_READY};
  ASSERT_EQ(urma_modify_jfr(right.jfr, &of_jfr), URMA_SUCCESS);
  ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}), URMA_SUCCESS);
  ASSERT_EQ(urma_get_async_event(right.context, &event), URMA_SUCCESS);
  EXPECT_EQ(event.event_type, URMA_EVENT_JFR_LIMIT);
  EXPECT_EQ(event.element.jfr, right.jfr);
  urma_ack_async_event(&event);
}

TEST_P(DataPath, ASendWithInvalidateRevokesASegment) {
  End left;
  End right({.device = "right"});
  left.reach(right);
  ASSERT_EQ(right.receive(0, 64, 1), URMA_SUCCESS);
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(64, 8)), URMA_SUCCESS);
  ASSERT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  urma_sge_t here = left.local(0, 8);
  urma_jfs_wr_t wr{};
  wr.opcode = URMA_OPC_SEND_INVALIDATE;
  wr.flag.bs.complete_enable = 1;
  wr.tjetty = left.target;
  wr.send.src = {&here, 1};
  wr.send.tseg = left.remote;
  urma_jfs_wr_t* bad = nullptr;
  ASSERT_EQ(urma_post_jetty_send_wr(left.jetty, &wr, &bad), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  const urma_cr_t got = next_record(right.receive_jfc);
  EXPECT_EQ(got.opcode, URMA_CR_OPC_SEND_WITH_INV);
  EXPECT_EQ(got.invalid_token.token_id, left.remote->seg.token_id);
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(64, 8)), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_REM_ACCESS_ABORT_ERR);
}

TEST_P(DataPath, AFullJfcLosesRecordsAndSaysSo) {
  End left({.jfc_depth = 2});
  End right({.device = "right"});
  left.reach(right);
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8)), URMA_SUCCESS);
  ASSERT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  for (std::uint64_t at = 0; at < 3; ++at) {
    ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8), at), URMA_SUCCESS);
  }
  urma_async_event_t event{};
  ASSERT_EQ(urma_get_async_event(left.context, &event), URMA_SUCCESS);
  EXPECT_EQ(event.event_type, URMA_EVENT_JFC_ERR);
  EXPECT_EQ(event.element.jfc, left.send_jfc);
  urma_ack_async_event(&event);
  ASSERT_EQ(urma_get_async_event(left.context, &event), URMA_SUCCESS);
  EXPECT_EQ(event.event_type, URMA_EVENT_JETTY_ERR);
  urma_ack_async_event(&event);
  EXPECT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8)), URMA_EINVAL);
  for (std::uint64_t at = 0; at < 2; ++at) EXPECT_EQ(next_record(left.send_jfc).user_ctx, at);
  // It begins anew.
  urma_jetty_attr_t attr{JETTY_STATE, 0, URMA_JETTY_STATE_RESET};
  ASSERT_EQ(urma_modify_jetty(left.jetty, &attr), URMA_SUCCESS);
  attr.state = URMA_JETTY_STATE_READY;
  ASSERT_EQ(urma_modify_jetty(left.jetty, &attr), URMA_SUCCESS);
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8), 9), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).user_ctx, 9U);
}

TEST_P(DataPath, AnOrderThatDoesNotExistIsRefused) {
  End left;
  End right({.device = "right"});
  left.reach(right);
  urma_jfs_wr_flag_t flag{};
  flag.bs.place_order = 3;
  EXPECT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8), 1, flag), URMA_EINVAL);
  for (const unsigned order : {URMA_NO_ORDER, URMA_RELAX_ORDER, URMA_STRONG_ORDER}) {
    flag.bs.place_order = order & 3U;
    ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8), order, flag), URMA_SUCCESS);
    EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  }
}

TEST_P(DataPath, ASuspendedJettyGivesBackAndGoesOn) {
  End left({.suspends = true});
  End right({.device = "right"});
  left.reach(right);
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8)), URMA_SUCCESS);
  ASSERT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  urma_jetty_attr_t attr{JETTY_STATE, 0, URMA_JETTY_STATE_SUSPENDED};
  ASSERT_EQ(urma_modify_jetty(left.jetty, &attr), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_WR_SUSPEND_DONE);
  EXPECT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8)), URMA_EINVAL);
  urma_cr_t record{};
  EXPECT_EQ(urma_flush_jetty(left.jetty, 1, &record), 0);
  attr.state = URMA_JETTY_STATE_READY;
  ASSERT_EQ(urma_modify_jetty(left.jetty, &attr), URMA_SUCCESS);
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8)), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
}

// The first Send finds no receive and suspends the jetty; the others are given back, however many there are.
TEST_P(DataPath, ASuspendedJettyGivesBackAnyNumber) {
  constexpr std::size_t kPosted = 4000;  // Far more than are begun at once.
  End left({.send_depth = 4096, .jfc_depth = 8192, .suspends = true, .rnr_retry = 0});
  End right({.device = "right"});
  left.reach(right);
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8)), URMA_SUCCESS);
  ASSERT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  std::vector<urma_jfs_wr_t> all(kPosted);
  urma_sge_t piece = left.local(0, 8);
  for (std::size_t at = 0; at < kPosted; ++at) {
    all[at].opcode = URMA_OPC_SEND;
    all[at].flag.bs.complete_enable = 1;
    all[at].tjetty = left.target;
    all[at].user_ctx = at;
    all[at].send.src = {&piece, 1};
    all[at].next = at + 1 < kPosted ? &all[at + 1] : nullptr;
  }
  urma_jfs_wr_t* bad = nullptr;
  ASSERT_EQ(urma_post_jetty_send_wr(left.jetty, all.data(), &bad), URMA_SUCCESS);
  std::size_t told = 0;  // The mark is a record of its own, or one on the last that was begun.
  for (bool done = false; !done && !HasFailure();) {
    const urma_cr_t record = next_record(left.send_jfc);
    if (record.status != URMA_CR_WR_SUSPEND_DONE) {
      EXPECT_EQ(record.user_ctx, told++);
    }
    done = record.flag.bs.suspend_done != 0;
  }
  std::vector<urma_cr_t> given(kPosted);
  // A few at a time, then whatever there is.
  std::size_t count = 0;
  for (int some = 1; some <= 32; some *= 2) {
    ASSERT_EQ(urma_flush_jetty(left.jetty, some, given.data() + count), some);
    count += static_cast<std::size_t>(some);
  }
  const int rest = urma_flush_jetty(left.jetty, std::numeric_limits<int>::max(), given.data() + count);
  ASSERT_EQ(static_cast<std::size_t>(rest) + count + told, kPosted);
  for (std::size_t at = 0; at + told < kPosted; ++at) {
    EXPECT_EQ(given[at].user_ctx, told + at);
    EXPECT_EQ(given[at].status, URMA_CR_WR_UNHANDLED);
  }
  EXPECT_EQ(urma_flush_jetty(left.jetty, 1, given.data()), 0);
}

TEST_P(DataPath, AFailedJettyFlushesAndBeginsAnew) {
  End left;
  End right({.device = "right"});
  left.reach(right);
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8)), URMA_SUCCESS);
  ASSERT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  // No receive is posted there: the message stays outstanding.
  ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}, 5), URMA_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  urma_jetty_attr_t attr{JETTY_STATE, 0, URMA_JETTY_STATE_ERROR};
  ASSERT_EQ(urma_modify_jetty(left.jetty, &attr), URMA_SUCCESS);
  const urma_cr_t record = next_record(left.send_jfc);
  EXPECT_EQ(record.status, URMA_CR_WR_FLUSH_ERR);
  EXPECT_EQ(record.user_ctx, 5U);
  EXPECT_EQ(record.flag.bs.flush_err_done, 1);
  attr.state = URMA_JETTY_STATE_RESET;
  ASSERT_EQ(urma_modify_jetty(left.jetty, &attr), URMA_SUCCESS);
  attr.state = URMA_JETTY_STATE_READY;
  ASSERT_EQ(urma_modify_jetty(left.jetty, &attr), URMA_SUCCESS);
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8)), URMA_SUCCESS);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
}

}  // namespace
}  // namespace wharf::live::urma
