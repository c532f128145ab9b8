// SPDX-License-Identifier: Apache-2.0
// Programs whose memory runs out: each call fails as documented, and goes well when there is memory again.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <new>
#include <thread>

#include "live/urma/objects.h"
#include "live/urma/urma_test_support.h"

namespace {

/// Allocations that this thread may still make.
thread_local std::size_t allocations_left = std::numeric_limits<std::size_t>::max();
/// The same of all threads together; with `one_fails` only the next one after these.
std::atomic<std::int64_t> all_left = std::numeric_limits<std::int64_t>::max();
std::atomic<bool> one_fails = false;

bool allocation_fails(std::int64_t left) { return one_fails ? left == 0 : left <= 0; }

void* allocate(std::size_t bytes, std::size_t align) {
  if (all_left.load(std::memory_order_relaxed) != std::numeric_limits<std::int64_t>::max() &&
      allocation_fails(all_left.fetch_sub(1, std::memory_order_relaxed))) {
    throw std::bad_alloc();
  }
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left != std::numeric_limits<std::size_t>::max()) --allocations_left;
  const std::size_t size = (bytes + align) / align * align;
  void* const made = align <= alignof(std::max_align_t) ? std::malloc(size) : std::aligned_alloc(align, size);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

}  // namespace

// Of the whole test program; the library's objects are linked into it.
void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t align) {
  return allocate(bytes, static_cast<std::size_t>(align));
}
[[gnu::noinline]] void operator delete(void* at) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::size_t) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::align_val_t) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::size_t, std::align_val_t) noexcept { std::free(at); }

namespace wharf::live::urma {
namespace {

/// Calls `call` with memory for `count` allocations.
template <typename Call>
auto with_memory_for(std::size_t count, Call&& call) {
  struct Limit {
    explicit Limit(std::size_t most) { allocations_left = most; }
    ~Limit() { allocations_left = std::numeric_limits<std::size_t>::max(); }
  } const limit(count);
  return call();
}

/// What `make` gives when it has just enough memory; with less it gives null and ENOMEM.
template <typename Make>
auto at_last(const char* what, Make&& make) {
  for (std::size_t count = 0;; ++count) {
    auto* const made = with_memory_for(count, [&] {
      errno = 0;
      return make();
    });
    if (made != nullptr) return made;
    EXPECT_EQ(errno, ENOMEM) << what << " with " << count;
    if (count == 1000) {
      ADD_FAILURE() << what;
      return made;
    }
  }
}

/// The same of calls that end something: with less memory they give ENOMEM, and it is there still.
template <typename End>
void ends_at_last(const char* what, End&& end) {
  for (std::size_t count = 0; count < 1000; ++count) {
    const urma_status_t status = with_memory_for(count, end);
    if (status == URMA_SUCCESS) return;
    EXPECT_EQ(status, URMA_ENOMEM) << what << " with " << count;
  }
  ADD_FAILURE() << what;
}

class NoMemory : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("WHARF_URMA_DEVICES", "left=127.0.0.1,right=127.0.0.2", 1); }
};

TEST_F(NoMemory, EveryCallThatMakesSomethingSaysSo) {
  urma_init_attr_t attributes{};
  for (std::size_t count = 0;; ++count) {
    const urma_status_t status = with_memory_for(count, [&] { return urma_init(&attributes); });
    if (status == URMA_SUCCESS) break;
    ASSERT_EQ(status, URMA_ENOMEM) << count;
  }
  char name[] = "left";
  urma_device_t* const device = urma_get_device_by_name(name);
  urma_context_t* const context = at_last("a context", [&] { return urma_create_context(device, 0); });
  urma_jfce_t* const jfce = at_last("a channel", [&] { return urma_create_jfce(context); });
  urma_jfc_cfg_t jfc_cfg{};
  jfc_cfg.depth = 64;
  jfc_cfg.jfce = jfce;
  urma_jfc_t* const jfc = at_last("a JFC", [&] { return urma_create_jfc(context, &jfc_cfg); });
  urma_jfr_cfg_t jfr_cfg{};
  jfr_cfg.depth = 64;
  jfr_cfg.trans_mode = URMA_TM_RM;
  jfr_cfg.max_sge = 1;
  jfr_cfg.jfc = jfc;
  urma_jfr_t* const jfr = at_last("a JFR", [&] { return urma_create_jfr(context, &jfr_cfg); });
  urma_jfs_cfg_t jfs_cfg{};
  jfs_cfg.depth = 64;
  jfs_cfg.trans_mode = URMA_TM_RM;
  jfs_cfg.max_sge = jfs_cfg.max_rsge = 1;
  jfs_cfg.jfc = jfc;
  urma_jfs_t* const jfs = at_last("a JFS", [&] { return urma_create_jfs(context, &jfs_cfg); });
  urma_jetty_cfg_t jetty_cfg{};
  jetty_cfg.flag.bs.share_jfr = 1;
  jetty_cfg.jfs_cfg = jfs_cfg;
  jetty_cfg.shared.jfr = jfr;
  jetty_cfg.shared.jfc = jfc;
  urma_jetty_t* const jetty = at_last("a jetty", [&] { return urma_create_jetty(context, &jetty_cfg); });
  urma_jetty_grp_cfg_t group_cfg{};
  urma_jetty_grp_t* const group =
      at_last("a group", [&] { return urma_create_jetty_grp(context, &group_cfg); });
  urma_notifier_t* const notifier = at_last("a notifier", [&] { return urma_create_notifier(context); });
  std::vector<std::byte> memory(4096);
  urma_seg_cfg_t seg_cfg{};
  seg_cfg.va = reinterpret_cast<std::uint64_t>(memory.data());
  seg_cfg.len = memory.size();
  seg_cfg.flag.bs.access = URMA_ACCESS_READ | URMA_ACCESS_WRITE;
  urma_target_seg_t* const segment =
      at_last("a segment", [&] { return urma_register_seg(context, &seg_cfg); });
  urma_token_t none{0};
  urma_target_seg_t* const far =
      at_last("an imported segment", [&] { return urma_import_seg(context, &segment->seg, &none, 0, {}); });
  urma_rjetty_t* rjetty = nullptr;
  std::uint32_t length = 0;
  ASSERT_EQ(urma_get_rjetty(jetty, &rjetty, &length), URMA_SUCCESS);
  urma_target_jetty_t* const target =
      at_last("an imported jetty", [&] { return urma_import_jetty(context, rjetty, &none); });
  urma_put_rjetty(rjetty);

  const Peer* const reached = tables().targets.find(target)->remote.peer;
  ends_at_last("an imported jetty", [&] { return urma_unimport_jetty(target); });
  {
    Interface& interface = *tables().contexts.find(context)->interface;
    const std::lock_guard lock(interface.mutex());
    // As long as it is asked it is there.
    if (interface.peers() == 1)
      EXPECT_EQ(reached->remotes, 0U) << "each import gives its reference back once";
  }
  ends_at_last("an imported segment", [&] { return urma_unimport_seg(far); });
  ends_at_last("a segment", [&] { return urma_unregister_seg(segment); });
  ends_at_last("a notifier", [&] { return urma_delete_notifier(notifier); });
  ends_at_last("a group", [&] { return urma_delete_jetty_grp(group); });
  ends_at_last("a jetty", [&] { return urma_delete_jetty(jetty); });
  ends_at_last("a JFS", [&] { return urma_delete_jfs(jfs); });
  ends_at_last("a JFR", [&] { return urma_delete_jfr(jfr); });
  ends_at_last("a JFC", [&] { return urma_delete_jfc(jfc); });
  ends_at_last("a channel", [&] { return urma_delete_jfce(jfce); });
  ends_at_last("a context", [&] { return urma_delete_context(context); });
  EXPECT_EQ(urma_uninit(), URMA_SUCCESS);
}

class NoMemoryForData : public UrmaTestEachWay {};
INSTANTIATE_TEST_SUITE_P(EachWay, NoMemoryForData, each_way(), way_name);

// The first request opens a channel, and waits for that; whatever finds no memory is tried again or refused.
TEST_P(NoMemoryForData, ARequestIsRefusedOrDone) {
  for (std::size_t count = 0; count < 64; ++count) {
    End left;
    End right({.device = "right"});
    left.reach(right);
    left.memory[0] = std::byte{7};
    const urma_status_t status = with_memory_for(count, [&] {
      const urma_status_t posted = left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8));
      urma_cr_t record{};
      urma_poll_jfc(left.receive_jfc, 1, &record);
      return posted;
    });
    if (status != URMA_SUCCESS) {
      ASSERT_EQ(status, URMA_ENOMEM) << count;
      ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8)), URMA_SUCCESS) << count;
    }
    ASSERT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS) << count;
    ASSERT_EQ(right.memory[0], std::byte{7}) << count;
  }
}

// The threads that serve both ends take the answers of the peer, and what they need memory for is done later.
TEST_P(NoMemoryForData, WhatServesThePeersGoesOnLater) {
  for (std::int64_t at = 0; at < 96; ++at) {
    const std::int64_t count = at / 2;
    one_fails = at % 2 == 1;
    End left;
    End right({.device = "right"});
    left.reach(right);
    left.memory[0] = std::byte{7};
    all_left = count;
    const urma_status_t status = left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    all_left = std::numeric_limits<std::int64_t>::max();
    if (status != URMA_SUCCESS) {
      ASSERT_EQ(status, URMA_ENOMEM) << count;
      ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8)), URMA_SUCCESS) << count;
    }
    ASSERT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS) << count;
    ASSERT_EQ(right.memory[0], std::byte{7}) << count;
  }
}

// [IBTA vol 1 10.2.6] As when a JFC is full.
TEST_P(NoMemoryForData, ARecordWithoutRoomFailsItsJetty) {
  End left({.send_depth = 256, .jfc_depth = 256});
  End right({.device = "right"});
  left.reach(right);
  ASSERT_EQ(left.post(URMA_OPC_WRITE, left.local(0, 8), left.far(0, 8)), URMA_SUCCESS);
  ASSERT_EQ(next_record(left.send_jfc).status, URMA_CR_SUCCESS);
  // Requests that are refused by the transport end at once, on this thread: one more than there is room for.
  int posted = 0;
  with_memory_for(0, [&] {
    while (posted < 65 && left.post(URMA_OPC_NOP, left.local(0, 8), left.far(0, 8)) == URMA_SUCCESS) ++posted;
  });
  EXPECT_EQ(posted, 65);
  EXPECT_EQ(tables().jfcs.find(left.send_jfc)->count, 64U);
  urma_jetty_cfg_t cfg{};
  urma_jetty_attr_t attr{};
  ASSERT_EQ(urma_query_jetty(left.jetty, &cfg, &attr), URMA_SUCCESS);
  EXPECT_EQ(attr.state, URMA_JETTY_STATE_ERROR);
  EXPECT_EQ(next_record(left.send_jfc).status, URMA_CR_UNSUPPORTED_OPCODE_ERR);
}

}  // namespace
}  // namespace wharf::live::urma
