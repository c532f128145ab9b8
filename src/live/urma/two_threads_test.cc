// SPDX-License-Identifier: Apache-2.0
// Two threads of a program that end, use and make objects at the same time.
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

#include "live/urma/objects.h"
#include "live/urma/urma_test_support.h"

namespace wharf::live::urma {
namespace {

class TwoThreads : public UrmaTest {
 protected:
  /// Runs both when each has found its objects, as far as waiting a little makes sure of that, and before
  /// either has the interface.
  template <typename First, typename Second>
  static void at_once(urma_context_t* context, First&& first, Second&& second) {
    std::unique_lock lock(tables().contexts.find(context)->interface->mutex());
    std::thread one(first);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::thread two(second);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    lock.unlock();
    one.join();
    two.join();
  }
};

TEST_F(TwoThreads, DeleteOneChannelOnce) {
  char name[] = "left";
  urma_context_t* const context = urma_create_context(urma_get_device_by_name(name), 0);
  for (int at = 0; at < 8; ++at) {
    urma_jfce_t* const jfce = urma_create_jfce(context);
    urma_status_t status[2] = {};
    at_once(
        context, [&] { status[0] = urma_delete_jfce(jfce); }, [&] { status[1] = urma_delete_jfce(jfce); });
    EXPECT_EQ(status[0] + status[1], URMA_SUCCESS + URMA_EINVAL);
    ASSERT_EQ(tables().contexts.find(context)->children, 0U);
  }
  EXPECT_EQ(urma_delete_context(context), URMA_SUCCESS);
}

// Whoever looked the object up before it went looks once more when it has the interface.
// Which of the two comes first is open: a wait finds nothing new (0), or finds its object gone (-1).
TEST_F(TwoThreads, WaitForWhatAnotherDeletes) {
  char name[] = "left";
  urma_context_t* const context = urma_create_context(urma_get_device_by_name(name), 0);
  for (int at = 0; at < 4; ++at) {
    urma_jfce_t* const jfce = urma_create_jfce(context);
    urma_jfc_t* gone[1] = {};
    at_once(
        context, [&] { EXPECT_EQ(urma_delete_jfce(jfce), URMA_SUCCESS); },
        [&] { EXPECT_LE(urma_wait_jfc(jfce, 1, 0, gone), 0); });
    // One that sleeps there already.
    urma_jfce_t* const other = urma_create_jfce(context);
    std::thread sleeper([&] { EXPECT_EQ(urma_wait_jfc(other, 1, -1, gone), -1); });
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(urma_delete_jfce(other), URMA_SUCCESS);
    const int reused = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);  // By the number that the channel had.
    sleeper.join();
    ::close(reused);
    urma_notifier_t* const notifier = urma_create_notifier(context);
    urma_notify_t note{};
    at_once(
        context, [&] { EXPECT_EQ(urma_delete_notifier(notifier), URMA_SUCCESS); },
        [&] { EXPECT_LE(urma_wait_notify(notifier, 1, &note, 0), 0); });
    urma_jfc_cfg_t cfg{};
    cfg.depth = 64;
    urma_jfc_t* const jfc = urma_create_jfc(context, &cfg);
    urma_cr_t record{};
    at_once(
        context, [&] { EXPECT_EQ(urma_delete_jfc(jfc), URMA_SUCCESS); },
        [&] { EXPECT_LE(urma_poll_jfc(jfc, 1, &record), 0); });
  }
  EXPECT_EQ(urma_delete_context(context), URMA_SUCCESS);
}

TEST_F(TwoThreads, BindAJettyToATargetThatGoes) {
  End left({.mode = URMA_TM_RC});
  End right({.device = "right", .mode = URMA_TM_RC});
  for (int at = 0; at < 8; ++at) {
    urma_rjetty_t* rjetty = nullptr;
    std::uint32_t length = 0;
    ASSERT_EQ(urma_get_rjetty(right.jetty, &rjetty, &length), URMA_SUCCESS);
    urma_token_t none{0};
    urma_target_jetty_t* const target = urma_import_jetty(left.context, rjetty, &none);
    urma_put_rjetty(rjetty);
    at_once(
        left.context, [&] { EXPECT_EQ(urma_unimport_jetty(target), URMA_SUCCESS); },
        [&] { urma_bind_jetty(left.jetty, target); });
    ASSERT_EQ(left.jetty->remote_jetty, nullptr);
    ASSERT_EQ(tables().jettys.find(left.jetty)->bound, nullptr);
  }
}

// Of all objects of a kind an import that ends looks at those of other addresses too.
TEST(ObjectTables, ShowAnObjectWhenItIsReady) {
  struct Object {
    int* context = nullptr;
  };
  ObjectTable<Object, 1024> table;
  int context = 0;
  std::atomic<bool> looked{false};
  std::thread other;
  Object* const made = table.make([&](Object& object) {
    EXPECT_EQ(table.find(&object), nullptr);
    other = std::thread([&] {
      table.for_each([&](Object& each) { EXPECT_EQ(each.context, &context); });
      looked = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    object.context = &context;
  });
  other.join();
  EXPECT_TRUE(looked);
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(table.find(made), made);
  EXPECT_TRUE(table.end(made));
  EXPECT_FALSE(table.end(made));
  table.for_each([](Object&) { ADD_FAILURE() << "it has ended"; });
}

TEST_F(TwoThreads, MakeJettysAndEndImportsOfAnotherAddress) {
  End left;
  End right({.device = "right"});
  urma_rjetty_t* rjetty = nullptr;
  std::uint32_t length = 0;
  ASSERT_EQ(urma_get_rjetty(right.jetty, &rjetty, &length), URMA_SUCCESS);
  std::atomic<bool> done{false};
  std::thread maker([&] {
    for (int at = 0; at < 2000; ++at) {
      urma_jetty_cfg_t cfg = right.jetty->jetty_cfg;
      urma_jetty_t* const made = urma_create_jetty(right.context, &cfg);
      EXPECT_NE(made, nullptr);
      EXPECT_EQ(urma_delete_jetty(made), URMA_SUCCESS);
    }
    done = true;
  });
  while (!done) {
    urma_token_t none{0};
    urma_target_jetty_t* const target = urma_import_jetty(left.context, rjetty, &none);
    EXPECT_EQ(urma_unimport_jetty(target), URMA_SUCCESS);
  }
  maker.join();
  urma_put_rjetty(rjetty);
}

}  // namespace
}  // namespace wharf::live::urma
