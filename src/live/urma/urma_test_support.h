// SPDX-License-Identifier: Apache-2.0
// Two ends of a conversation in one process, as the tests of the C interface use them.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "live/urma/identity.h"
#include "live/urma/include/urma_api.h"
#include "live/urma/include/urma_provider.h"

namespace wharf::live::urma {

/// Two devices over UDP, two in shared memory.
inline constexpr const char* kUdpDevices = "left=127.0.0.1,right=127.0.0.2";
inline constexpr const char* kShmDevices = "left=shm,right=shm:2";

/// The library, started for one test, with two devices: 127.0.0.1 and 127.0.0.2, or others.
class UrmaTest : public ::testing::Test {
 protected:
  explicit UrmaTest(const char* devices = kUdpDevices) : devices_(devices) {}
  void SetUp() override {
    ::setenv("WHARF_URMA_DEVICES", devices_, 1);
    urma_init_attr_t attributes{};
    ASSERT_EQ(urma_init(&attributes), URMA_SUCCESS);
  }
  void TearDown() override { EXPECT_EQ(urma_uninit(), URMA_SUCCESS); }

 private:
  const char* devices_;
};

struct End;

/// The same for each way between processes.
class UrmaTestEachWay : public UrmaTest, public ::testing::WithParamInterface<const char*> {
 protected:
  UrmaTestEachWay() : UrmaTest(GetParam()) {}
  bool shares_memory() const { return GetParam() == kShmDevices; }
  /// A jetty of a process that does not run: of a port that is most likely free.
  urma_target_jetty_t* nobody(End& end) const;
};
inline auto each_way() { return ::testing::Values(kUdpDevices, kShmDevices); }
inline std::string way_name(const ::testing::TestParamInfo<const char*>& info) {
  return info.param == kShmDevices ? "Shm" : "Udp";
}

/// How one end is made.
struct EndConfig {
  const char* device = "left";
  urma_transport_mode_t mode = URMA_TM_RM;
  std::uint32_t send_depth = 64;
  std::uint32_t receive_depth = 64;
  std::uint32_t jfc_depth = 256;
  std::uint32_t token = 0;  ///< Of its receives; 0: none.
  bool events = false;
  bool suspends = false;
  std::uint8_t rnr_retry = 7;
  std::uint32_t order = 0;
  std::uint32_t bytes = 1U << 20U;
};

/// A context with two JFCs, a JFR, a jetty and a segment.
struct End {
  explicit End(const EndConfig& chosen = {}) : config(chosen), memory(chosen.bytes) {
    char name[64];
    std::strncpy(name, config.device, sizeof name);
    urma_device_t* const device = urma_get_device_by_name(name);
    context = urma_create_context(device, 0);
    if (config.events) jfce = urma_create_jfce(context);
    urma_jfc_cfg_t jfc{};
    jfc.depth = config.jfc_depth;
    jfc.jfce = jfce;
    send_jfc = urma_create_jfc(context, &jfc);
    receive_jfc = urma_create_jfc(context, &jfc);
    urma_jfr_cfg_t receive{};
    receive.depth = config.receive_depth;
    receive.trans_mode = config.mode;
    receive.max_sge = 1;
    receive.min_rnr_timer = 12;
    receive.jfc = receive_jfc;
    receive.token_value.token = config.token;
    receive.flag.bs.token_policy = config.token != 0 ? URMA_TOKEN_PLAIN_TEXT : URMA_TOKEN_NONE;
    receive.flag.bs.order_type = config.order & 0xffU;
    jfr = urma_create_jfr(context, &receive);
    urma_jetty_cfg_t jetty_cfg{};
    jetty_cfg.flag.bs.share_jfr = 1;
    jetty_cfg.shared.jfr = jfr;
    jetty_cfg.jfs_cfg.depth = config.send_depth;
    jetty_cfg.jfs_cfg.trans_mode = config.mode;
    jetty_cfg.jfs_cfg.max_sge = 4;
    jetty_cfg.jfs_cfg.max_rsge = 1;
    jetty_cfg.jfs_cfg.max_inline_data = 256;
    jetty_cfg.jfs_cfg.rnr_retry = config.rnr_retry;
    jetty_cfg.jfs_cfg.err_timeout = 17;
    jetty_cfg.jfs_cfg.jfc = send_jfc;
    jetty_cfg.jfs_cfg.flag.bs.error_suspend = config.suspends ? 1 : 0;
    jetty_cfg.jfs_cfg.flag.bs.order_type = config.order & 0xffU;
    jetty = urma_create_jetty(context, &jetty_cfg);
    urma_seg_cfg_t segment_cfg{};
    segment_cfg.va = reinterpret_cast<std::uint64_t>(memory.data());
    segment_cfg.len = memory.size();
    segment_cfg.token_value.token = 0xabcdef;
    segment_cfg.flag.bs.token_policy = URMA_TOKEN_PLAIN_TEXT;
    segment_cfg.flag.bs.access = URMA_ACCESS_READ | URMA_ACCESS_WRITE | URMA_ACCESS_ATOMIC;
    segment = urma_register_seg(context, &segment_cfg);
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;
  ~End() {
    if (target != nullptr) {
      if (jetty != nullptr && config.mode == URMA_TM_RC) urma_unbind_jetty(jetty);
      EXPECT_EQ(urma_unimport_jetty(target), URMA_SUCCESS);
    }
    if (remote != nullptr) {
      EXPECT_EQ(urma_unimport_seg(remote), URMA_SUCCESS);
    }
    EXPECT_EQ(urma_unregister_seg(segment), URMA_SUCCESS);
    if (jetty != nullptr) {
      EXPECT_EQ(urma_delete_jetty(jetty), URMA_SUCCESS);
    }
    EXPECT_EQ(urma_delete_jfr(jfr), URMA_SUCCESS);
    EXPECT_EQ(urma_delete_jfc(receive_jfc), URMA_SUCCESS);
    EXPECT_EQ(urma_delete_jfc(send_jfc), URMA_SUCCESS);
    if (jfce != nullptr) {
      EXPECT_EQ(urma_delete_jfce(jfce), URMA_SUCCESS);
    }
    EXPECT_EQ(urma_delete_context(context), URMA_SUCCESS);
  }

  /// Imports the other end's jetty and segment, as two programs would that told each other structures.
  void reach(End& other, std::uint32_t token = 0) {
    urma_rjetty_t* rjetty = nullptr;
    std::uint32_t length = 0;
    ASSERT_EQ(urma_get_rjetty(other.jetty, &rjetty, &length), URMA_SUCCESS);
    urma_token_t value{token};
    target = urma_import_jetty(context, rjetty, &value);
    urma_put_rjetty(rjetty);
    ASSERT_NE(target, nullptr);
    urma_seg_t* seg = nullptr;
    ASSERT_EQ(urma_get_seg_ctx(other.segment, &seg, &length), URMA_SUCCESS);
    urma_token_t segment_value{0xabcdef};
    remote = urma_import_seg(context, seg, &segment_value, 0, {});
    urma_put_seg_ctx(seg);
    ASSERT_NE(remote, nullptr);
    if (config.mode == URMA_TM_RC) {
      ASSERT_EQ(urma_bind_jetty(jetty, target), URMA_SUCCESS);
    }
  }

  urma_sge_t local(std::uint64_t offset, std::uint32_t length) {
    return {reinterpret_cast<std::uint64_t>(memory.data()) + offset, length, segment, nullptr};
  }
  urma_sge_t far(std::uint64_t offset, std::uint32_t length) {
    return {remote->seg.ubva.va + offset, length, remote, nullptr};
  }

  /// Posts one request of a piece on each side.
  urma_status_t post(urma_opcode_t opcode, urma_sge_t here, urma_sge_t there, std::uint64_t user_ctx = 1,
                     urma_jfs_wr_flag_t flag = {}) {
    urma_jfs_wr_t wr{};
    wr.opcode = opcode;
    wr.flag = flag;
    wr.flag.bs.complete_enable = 1;
    wr.tjetty = target;
    wr.user_ctx = user_ctx;
    const bool read = opcode == URMA_OPC_READ;
    if (opcode == URMA_OPC_SEND || opcode == URMA_OPC_SEND_IMM) {
      wr.send.src = {&here, 1};
      wr.send.imm_data = 0x1122334455667788;
    } else {
      wr.rw.src = {read ? &there : &here, 1};
      wr.rw.dst = {read ? &here : &there, 1};
      wr.rw.notify_data = 0x1122334455667788;
    }
    urma_jfs_wr_t* bad = nullptr;
    return urma_post_jetty_send_wr(jetty, &wr, &bad);
  }
  urma_status_t receive(std::uint64_t offset, std::uint32_t length, std::uint64_t user_ctx) {
    urma_sge_t piece = local(offset, length);
    urma_jfr_wr_t wr{};
    wr.src = {&piece, 1};
    wr.user_ctx = user_ctx;
    urma_jfr_wr_t* bad = nullptr;
    return urma_post_jetty_recv_wr(jetty, &wr, &bad);
  }

  EndConfig config;
  std::vector<std::byte> memory;
  urma_context_t* context = nullptr;
  urma_jfce_t* jfce = nullptr;
  urma_jfc_t* send_jfc = nullptr;
  urma_jfc_t* receive_jfc = nullptr;
  urma_jfr_t* jfr = nullptr;
  urma_jetty_t* jetty = nullptr;
  urma_target_seg_t* segment = nullptr;
  urma_target_seg_t* remote = nullptr;
  urma_target_jetty_t* target = nullptr;
};

/// The next record; a test that gets none in ten seconds has failed.
inline urma_cr_t next_record(urma_jfc_t* jfc) {
  urma_cr_t record{};
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < limit) {
    const int got = urma_poll_jfc(jfc, 1, &record);
    if (got == 1) return record;
    if (got < 0) break;
    std::this_thread::yield();
  }
  ADD_FAILURE() << "no record came";
  record.status = URMA_CR_LOC_OPERATION_ERR;
  return record;
}

inline urma_target_jetty_t* UrmaTestEachWay::nobody(End& end) const {
  urma_rjetty_t rjetty{};
  rjetty.jetty_id.eid = eid_of(shares_memory() ? 2 : 0x7f000002);
  rjetty.jetty_id.uasid = 0x310000U | (20000U + static_cast<std::uint32_t>(::getpid()) % 10000U);
  rjetty.jetty_id.id = 100;
  rjetty.trans_mode = URMA_TM_RM;
  rjetty.type = URMA_JETTY;
  urma_token_t none{0};
  return urma_import_jetty(end.context, &rjetty, &none);
}

}  // namespace wharf::live::urma
