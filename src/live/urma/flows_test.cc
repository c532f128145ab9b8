// SPDX-License-Identifier: Apache-2.0
// Whole programs in the order of calls of the upstream performance tool and sample.
#include <sys/mman.h>

#include "live/urma/urma_test_support.h"

namespace wharf::live::urma {
namespace {

class Flows : public UrmaTestEachWay {};
INSTANTIATE_TEST_SUITE_P(EachWay, Flows, each_way(), way_name);

/// The performance tool with -b: JFS and JFR instead of jettys, and the calls without lists.
struct Simplex {
  explicit Simplex(const char* device) : memory(8192) {
    char name[64];
    std::strncpy(name, device, sizeof name);
    context = urma_create_context(urma_get_device_by_name(name), 0);
    urma_jfc_cfg_t jfc_cfg{};
    jfc_cfg.depth = 512;
    send = urma_create_jfc(context, &jfc_cfg);
    receive = urma_create_jfc(context, &jfc_cfg);
    urma_jfs_cfg_t jfs_cfg{};
    jfs_cfg.depth = 1;
    jfs_cfg.trans_mode = URMA_TM_RM;
    jfs_cfg.max_sge = 1;
    jfs_cfg.max_inline_data = 64;
    jfs_cfg.rnr_retry = 7;
    jfs_cfg.err_timeout = 17;
    jfs_cfg.jfc = send;
    jfs = urma_create_jfs(context, &jfs_cfg);
    urma_jfr_cfg_t jfr_cfg{};
    jfr_cfg.depth = 512;
    jfr_cfg.trans_mode = URMA_TM_RM;
    jfr_cfg.max_sge = 1;
    jfr_cfg.min_rnr_timer = 12;
    jfr_cfg.jfc = receive;
    jfr_cfg.token_value.token = 0xABCDEF;
    jfr = urma_create_jfr(context, &jfr_cfg);
    token_id = urma_alloc_token_id(context);
    urma_seg_cfg_t seg{};
    seg.va = reinterpret_cast<std::uint64_t>(memory.data());
    seg.len = memory.size();
    seg.token_id = token_id;
    seg.token_value.token = 0xABCDEF;
    seg.flag.bs.access = URMA_ACCESS_READ | URMA_ACCESS_WRITE | URMA_ACCESS_ATOMIC;
    seg.flag.bs.token_id_valid = 1;
    segment = urma_register_seg(context, &seg);
  }
  Simplex(const Simplex&) = delete;
  Simplex& operator=(const Simplex&) = delete;
  ~Simplex() {
    EXPECT_EQ(urma_unimport_jfr(target), URMA_SUCCESS);
    EXPECT_EQ(urma_unimport_seg(remote), URMA_SUCCESS);
    EXPECT_EQ(urma_unregister_seg(segment), URMA_SUCCESS);
    EXPECT_EQ(urma_free_token_id(token_id), URMA_SUCCESS);
    EXPECT_EQ(urma_delete_jfr(jfr), URMA_SUCCESS);
    EXPECT_EQ(urma_delete_jfs(jfs), URMA_SUCCESS);
    EXPECT_EQ(urma_delete_jfc(receive), URMA_SUCCESS);
    EXPECT_EQ(urma_delete_jfc(send), URMA_SUCCESS);
    EXPECT_EQ(urma_delete_context(context), URMA_SUCCESS);
  }
  void reach(const Simplex& other) {
    urma_rjfr_t rjfr{};
    rjfr.jfr_id = other.jfr->jfr_id;
    rjfr.trans_mode = URMA_TM_RM;
    rjfr.tp_type = URMA_RTP;
    urma_token_t token{0xABCDEF};
    target = urma_import_jfr(context, &rjfr, &token);
    ASSERT_NE(target, nullptr);
    EXPECT_EQ(rjfr.flag.bs.order_type, URMA_OI);
    urma_seg_t seg = other.segment->seg;
    remote = urma_import_seg(context, &seg, &token, 0, {});
    ASSERT_NE(remote, nullptr);
  }
  std::uint64_t at(std::uint64_t offset) { return reinterpret_cast<std::uint64_t>(memory.data()) + offset; }

  std::vector<std::byte> memory;
  urma_context_t* context;
  urma_jfc_t* send;
  urma_jfc_t* receive;
  urma_jfs_t* jfs;
  urma_jfr_t* jfr;
  urma_token_id_t* token_id;
  urma_target_seg_t* segment;
  urma_target_seg_t* remote = nullptr;
  urma_target_jetty_t* target = nullptr;
};

TEST_P(Flows, SimplexWithFlatCalls) {
  Simplex client("left");
  Simplex server("right");
  client.reach(server);
  server.reach(client);
  urma_jfs_wr_flag_t flag{};
  flag.bs.complete_enable = 1;
  client.memory[0] = std::byte{9};
  ASSERT_EQ(urma_write(client.jfs, client.target, client.remote, client.segment, server.at(100), client.at(0),
                       1, flag, 1),
            URMA_SUCCESS);
  EXPECT_EQ(next_record(client.send).status, URMA_CR_SUCCESS);
  EXPECT_EQ(server.memory[100], std::byte{9});
  // Without a segment the data travel in the request.
  std::uint64_t value = 0x55;
  ASSERT_EQ(urma_write(client.jfs, client.target, client.remote, nullptr, server.at(200),
                       reinterpret_cast<std::uint64_t>(&value), 8, flag, 2),
            URMA_SUCCESS);
  EXPECT_EQ(next_record(client.send).status, URMA_CR_SUCCESS);
  EXPECT_EQ(server.memory[200], std::byte{0x55});
  ASSERT_EQ(urma_read(client.jfs, client.target, client.segment, client.remote, client.at(300),
                      server.at(200), 8, flag, 3),
            URMA_SUCCESS);
  EXPECT_EQ(next_record(client.send).user_ctx, 3U);
  EXPECT_EQ(client.memory[300], std::byte{0x55});
  ASSERT_EQ(urma_recv(server.jfr, server.segment, server.at(4096), 64, 17), URMA_SUCCESS);
  ASSERT_EQ(urma_send(client.jfs, client.target, client.segment, client.at(0), 64, flag, 4), URMA_SUCCESS);
  const urma_cr_t got = next_record(server.receive);
  EXPECT_EQ(got.user_ctx, 17U);
  EXPECT_EQ(got.flag.bs.jetty, 0);
  EXPECT_EQ(got.local_id, server.jfr->jfr_id.id);
  EXPECT_EQ(next_record(client.send).user_ctx, 4U);
}

/// The sample: one JFC for sends and receives at its greatest depth, no token id, a bound connection whose
/// server binds first, one record for each event, and no unbinding at the end.
TEST_P(Flows, SampleWithEvents) {
  constexpr std::size_t kBytes = std::size_t{64} << 20U;
  struct Side {
    urma_context_t* context;
    urma_jfce_t* channel;
    urma_jfc_t* jfc;
    urma_jfr_t* jfr;
    urma_jetty_t* jetty;
    void* memory;
    urma_target_seg_t* segment;
    urma_target_jetty_t* target;
  };
  const auto open = [&](const char* device) {
    Side side{};
    char name[64];
    std::strncpy(name, device, sizeof name);
    urma_device_t* const dev = urma_get_device_by_name(name);
    urma_device_attr_t attributes{};
    EXPECT_EQ(urma_query_device(dev, &attributes), URMA_SUCCESS);
    std::uint32_t count = 0;
    urma_eid_info_t* const eids = urma_get_eid_list(dev, &count);
    EXPECT_GE(count, 1U);
    side.context = urma_create_context(dev, eids[0].eid_index);
    urma_free_eid_list(eids);
    side.channel = urma_create_jfce(side.context);
    urma_jfc_cfg_t jfc{};
    jfc.depth = attributes.dev_cap.max_jfc_depth;
    jfc.jfce = side.channel;
    side.jfc = urma_create_jfc(side.context, &jfc);
    EXPECT_EQ(urma_rearm_jfc(side.jfc, false), URMA_SUCCESS);
    urma_jfr_cfg_t jfr{};
    jfr.depth = 256;
    jfr.trans_mode = URMA_TM_RC;
    jfr.max_sge = 1;
    jfr.min_rnr_timer = 12;
    jfr.jfc = side.jfc;
    jfr.token_value.token = 0xACFE;
    side.jfr = urma_create_jfr(side.context, &jfr);
    urma_jetty_cfg_t jetty{};
    jetty.flag.bs.share_jfr = 1;
    jetty.shared.jfr = side.jfr;
    jetty.jfs_cfg.depth = 256;
    jetty.jfs_cfg.trans_mode = URMA_TM_RC;
    jetty.jfs_cfg.priority = 15;
    jetty.jfs_cfg.max_sge = 1;
    jetty.jfs_cfg.rnr_retry = 7;
    jetty.jfs_cfg.err_timeout = 17;
    jetty.jfs_cfg.jfc = side.jfc;
    side.jetty = urma_create_jetty(side.context, &jetty);
    side.memory =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    urma_seg_cfg_t seg{};
    seg.va = reinterpret_cast<std::uint64_t>(side.memory);
    seg.len = kBytes;
    seg.token_value.token = 0xACFE;
    seg.flag.bs.access = URMA_ACCESS_READ | URMA_ACCESS_WRITE | URMA_ACCESS_ATOMIC;
    side.segment = urma_register_seg(side.context, &seg);
    return side;
  };
  Side server = open("right");
  Side client = open("left");
  ASSERT_NE(server.jetty, nullptr);
  ASSERT_NE(client.segment, nullptr);
  const auto import = [](Side& own, const Side& other) {
    urma_rjetty_t rjetty{};
    rjetty.jetty_id = other.jetty->jetty_id;
    rjetty.trans_mode = URMA_TM_RC;
    rjetty.type = URMA_JETTY;
    rjetty.tp_type = URMA_RTP;
    urma_token_t token{0xACFE};
    own.target = urma_import_jetty(own.context, &rjetty, &token);
    ASSERT_NE(own.target, nullptr);
    ASSERT_EQ(urma_bind_jetty(own.jetty, own.target), URMA_SUCCESS);
  };
  import(server, client);
  urma_token_t token{0xACFE};
  urma_seg_t rebuilt{};
  rebuilt.ubva = server.segment->seg.ubva;
  rebuilt.len = server.segment->seg.len;
  rebuilt.attr = server.segment->seg.attr;
  rebuilt.token_id = server.segment->seg.token_id;
  urma_target_seg_t* const remote = urma_import_seg(client.context, &rebuilt, &token, 0, {});
  ASSERT_NE(remote, nullptr);
  import(client, server);
  const auto next = [](Side& side) {
    urma_jfc_t* ready = nullptr;
    EXPECT_EQ(urma_wait_jfc(side.channel, 1, 10'000, &ready), 1);
    urma_cr_t record{};
    EXPECT_EQ(urma_poll_jfc(side.jfc, 1, &record), 1);
    std::uint32_t one = 1;
    urma_ack_jfc(&ready, &one, 1);
    EXPECT_EQ(urma_rearm_jfc(side.jfc, false), URMA_SUCCESS);
    EXPECT_EQ(record.status, URMA_CR_SUCCESS);
    return record;
  };
  const auto post = [&](Side& side, urma_opcode_t opcode, std::uint64_t user_ctx) {
    urma_sge_t here{reinterpret_cast<std::uint64_t>(side.memory), 160, side.segment, nullptr};
    urma_sge_t there{rebuilt.ubva.va + 4096, 160, remote, nullptr};
    urma_jfs_wr_t wr{};
    wr.opcode = opcode;
    wr.flag.bs.complete_enable = 1;
    wr.tjetty = side.target;
    wr.user_ctx = user_ctx;
    if (opcode == URMA_OPC_SEND) {
      wr.send.src = {&here, 1};
      wr.send.tseg = side.segment;
    } else {
      wr.rw.src = {opcode == URMA_OPC_READ ? &there : &here, 1};
      wr.rw.dst = {opcode == URMA_OPC_READ ? &here : &there, 1};
    }
    urma_jfs_wr_t* bad = nullptr;
    ASSERT_EQ(urma_post_jetty_send_wr(side.jetty, &wr, &bad), URMA_SUCCESS);
  };
  const auto receive = [](Side& side, std::uint64_t offset) {
    urma_sge_t here{reinterpret_cast<std::uint64_t>(side.memory) + offset, 160, side.segment, nullptr};
    urma_jfr_wr_t wr{};
    wr.src = {&here, 1};
    wr.user_ctx = offset;
    urma_jfr_wr_t* bad = nullptr;
    ASSERT_EQ(urma_post_jetty_recv_wr(side.jetty, &wr, &bad), URMA_SUCCESS);
  };
  post(client, URMA_OPC_WRITE, 0);
  EXPECT_EQ(next(client).user_ctx, 0U);
  post(client, URMA_OPC_READ, 1);
  EXPECT_EQ(next(client).user_ctx, 1U);
  receive(client, 160);
  post(client, URMA_OPC_SEND, 2);  // The server has no receive yet.
  for (std::uint64_t at = 0; at < 8; ++at) receive(server, at * 160);
  const urma_cr_t asked = next(server);
  EXPECT_EQ(asked.flag.bs.s_r, 1);
  EXPECT_EQ(std::memcmp(&asked.remote_id.eid, &server.target->id.eid, sizeof(urma_eid_t)), 0);
  EXPECT_EQ(asked.remote_id.uasid, server.target->id.uasid);
  post(server, URMA_OPC_SEND, 3);
  unsigned sent = 0;
  unsigned received = 0;
  for (int i = 0; i < 2; ++i) {
    const urma_cr_t record = next(client);
    if (record.flag.bs.s_r != 0) {
      ++received;
      EXPECT_EQ(record.user_ctx, 160U);
    } else {
      ++sent;
      EXPECT_EQ(record.user_ctx, 2U);
    }
  }
  EXPECT_EQ(sent + received, 2U);
  next(server);
  EXPECT_EQ(urma_unimport_seg(remote), URMA_SUCCESS);
  for (Side* side : {&client, &server}) {
    EXPECT_EQ(urma_unimport_jetty(side->target), URMA_SUCCESS);
    EXPECT_EQ(urma_unregister_seg(side->segment), URMA_SUCCESS);
    EXPECT_EQ(urma_delete_jetty(side->jetty), URMA_SUCCESS);
    EXPECT_EQ(urma_delete_jfr(side->jfr), URMA_SUCCESS);
    EXPECT_EQ(urma_delete_jfc(side->jfc), URMA_SUCCESS);
    EXPECT_EQ(urma_delete_jfce(side->channel), URMA_SUCCESS);
    ::munmap(side->memory, kBytes);
    EXPECT_EQ(urma_delete_context(side->context), URMA_SUCCESS);
  }
}

/// The performance tool with --async_import and with --tp_aware.
TEST_P(Flows, ImportsThatNotifyAndImportsWithHandles) {
  End left({.mode = URMA_TM_RC});
  End right({.device = "right", .mode = URMA_TM_RC});
  urma_rjetty_t* rjetty = nullptr;
  std::uint32_t length = 0;
  ASSERT_EQ(urma_get_rjetty(right.jetty, &rjetty, &length), URMA_SUCCESS);
  EXPECT_EQ(length, sizeof(urma_rjetty_t));
  urma_notifier_t* const notifier = urma_create_notifier(left.context);
  ASSERT_NE(notifier, nullptr);
  EXPECT_EQ(notifier->urma_ctx, left.context);
  urma_token_t token{0};
  left.target = urma_import_jetty_async(notifier, rjetty, &token, 5, -1);
  ASSERT_NE(left.target, nullptr);
  urma_notify_t note{};
  ASSERT_EQ(urma_wait_notify(notifier, 1, &note, 1000), 1);
  EXPECT_EQ(note.type, URMA_IMPORT_JETTY_NOTIFY);
  EXPECT_EQ(note.status, URMA_SUCCESS);
  EXPECT_EQ(note.user_ctx, 5U);
  EXPECT_EQ(note.tjetty, left.target);
  EXPECT_EQ(urma_ack_notify(left.context, 1, &note), URMA_SUCCESS);
  ASSERT_EQ(urma_bind_jetty_async(notifier, left.jetty, left.target, 6, 0), URMA_SUCCESS);
  ASSERT_EQ(urma_wait_notify(notifier, 1, &note, 0), 1);
  EXPECT_EQ(note.type, URMA_BIND_JETTY_NOTIFY);
  EXPECT_EQ(note.jetty, left.jetty);
  EXPECT_EQ(urma_wait_notify(notifier, 1, &note, 0), 0);
  EXPECT_EQ(urma_delete_notifier(notifier), URMA_SUCCESS);
  urma_get_tp_cfg_t wanted{};
  wanted.flag.bs.rtp = 1;
  wanted.trans_mode = URMA_TM_RC;
  wanted.local_eid = left.context->eid;
  wanted.peer_eid = right.context->eid;
  urma_tp_info_t info{};
  std::uint32_t count = 1;
  ASSERT_EQ(urma_get_tp_list(left.context, &wanted, &count, &info), URMA_SUCCESS);
  EXPECT_EQ(count, 1U);
  urma_import_jetty_ex_cfg_t with_handle{};
  with_handle.tp_handle = info.tp_handle;
  urma_target_jetty_t* const second = urma_import_jetty_ex(left.context, rjetty, &token, &with_handle);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(urma_unimport_jetty(second), URMA_SUCCESS);
  urma_put_rjetty(rjetty);
}

TEST_P(Flows, AnObjectIsMadeInSteps) {
  char name[] = "left";
  urma_context_t* const context = urma_create_context(urma_get_device_by_name(name), 0);
  urma_jfc_cfg_t jfc_cfg{};
  jfc_cfg.depth = 16;
  urma_jfc_t* jfc = nullptr;
  ASSERT_EQ(urma_alloc_jfc(context, &jfc_cfg, &jfc), URMA_SUCCESS);
  std::uint32_t depth = 64;
  EXPECT_EQ(urma_set_jfc_opt(jfc, URMA_JFC_DEPTH, &depth, sizeof depth), URMA_SUCCESS);
  EXPECT_EQ(urma_set_jfc_opt(jfc, URMA_JFC_DEPTH, &depth, 2), URMA_EINVAL);
  urma_jfs_cfg_t jfs_cfg{};
  jfs_cfg.depth = 16;
  jfs_cfg.trans_mode = URMA_TM_RM;
  jfs_cfg.jfc = jfc;
  urma_jfs_t* jfs = nullptr;
  ASSERT_EQ(urma_alloc_jfs(context, &jfs_cfg, &jfs), URMA_SUCCESS);
  EXPECT_EQ(urma_active_jfs(jfs), URMA_EINVAL) << "its JFC is not active";
  ASSERT_EQ(urma_active_jfc(jfc), URMA_SUCCESS);
  EXPECT_EQ(urma_set_jfc_opt(jfc, URMA_JFC_DEPTH, &depth, sizeof depth), URMA_ENOPERM);
  depth = 0;
  EXPECT_EQ(urma_get_jfc_opt(jfc, URMA_JFC_DEPTH, &depth, sizeof depth), URMA_SUCCESS);
  EXPECT_EQ(depth, 64U);
  ASSERT_EQ(urma_active_jfs(jfs), URMA_SUCCESS);
  EXPECT_EQ(urma_free_jfs(jfs), URMA_EAGAIN) << "it is active";
  EXPECT_EQ(urma_deactive_jfc(jfc), URMA_EAGAIN) << "it is used";
  ASSERT_EQ(urma_deactive_jfs(jfs), URMA_SUCCESS);
  ASSERT_EQ(urma_free_jfs(jfs), URMA_SUCCESS);
  ASSERT_EQ(urma_deactive_jfc(jfc), URMA_SUCCESS);
  ASSERT_EQ(urma_free_jfc(jfc), URMA_SUCCESS);
  EXPECT_EQ(urma_delete_context(context), URMA_SUCCESS);
}

TEST_P(Flows, AGroupHandsMessagesToItsMembers) {
  End left;
  End right({.device = "right"});
  urma_jetty_grp_cfg_t cfg{};
  std::strcpy(cfg.name, "workers");
  cfg.policy = URMA_JETTY_GRP_POLICY_RR;
  urma_jetty_grp_t* const group = urma_create_jetty_grp(right.context, &cfg);
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(urma_create_jetty_grp(right.context, &cfg), group) << "the name is known";
  urma_jetty_t* members[2];
  for (urma_jetty_t*& member : members) {
    urma_jetty_cfg_t jetty{};
    jetty.flag.bs.share_jfr = 1;
    jetty.shared.jfr = right.jfr;
    jetty.jfs_cfg.depth = 16;
    jetty.jfs_cfg.trans_mode = URMA_TM_RM;
    jetty.jfs_cfg.jfc = right.send_jfc;
    jetty.jetty_grp = group;
    jetty.id = 5;  // Free for the first one.
    member = urma_create_jetty(right.context, &jetty);
    if (member == nullptr) {
      EXPECT_EQ(errno, EEXIST);
      ASSERT_EQ(group->jetty_list[0], members[0]) << "the list is there after a member that could not be";
      jetty.id = 0;
      member = urma_create_jetty(right.context, &jetty);
    }
    ASSERT_NE(member, nullptr);
  }
  EXPECT_EQ(group->jetty_cnt, 2U);
  EXPECT_EQ(urma_delete_jetty_grp(group), URMA_EAGAIN);
  urma_rjetty_t rjetty{};
  rjetty.jetty_id = group->jetty_grp_id;
  rjetty.trans_mode = URMA_TM_RM;
  rjetty.type = URMA_JETTY_GROUP;
  urma_token_t token{0};
  left.target = urma_import_jetty(left.context, &rjetty, &token);
  ASSERT_NE(left.target, nullptr);
  std::uint32_t seen[2];
  for (std::uint32_t& local : seen) {
    ASSERT_EQ(right.receive(0, 64, 1), URMA_SUCCESS);
    ASSERT_EQ(left.post(URMA_OPC_SEND, left.local(0, 8), {}), URMA_SUCCESS);
    EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
    local = next_record(right.receive_jfc).local_id;
  }
  EXPECT_EQ(seen[0], members[0]->jetty_id.id);
  EXPECT_EQ(seen[1], members[1]->jetty_id.id);
  for (urma_jetty_t* member : members) EXPECT_EQ(urma_delete_jetty(member), URMA_SUCCESS);
  EXPECT_EQ(urma_delete_jetty_grp(group), URMA_SUCCESS);
}

}  // namespace
}  // namespace wharf::live::urma
