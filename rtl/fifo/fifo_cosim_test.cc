// SPDX-License-Identifier: Apache-2.0
// The FIFO beside a Ring.
#include <gtest/gtest.h>

#include "Vwharf_fifo.h"
#include "Vwharf_fifo_deep.h"
#include "Vwharf_fifo_planted.h"
#include "rtl/cosim/beat_queue.h"

namespace wharf::rtl {
namespace {

TEST(Fifo, AgreesWithARing) {
  expect_agreement<Vwharf_fifo>(beat_queue(4), 20000);
  expect_agreement<Vwharf_fifo_deep>(beat_queue(64), 100000);
}

TEST(Fifo, EveryPlantedFaultIsFound) {
  expect_faults_found<Vwharf_fifo_planted>(beat_queue(4), "rtl/fifo/faults.txt", 20000);
}

}  // namespace
}  // namespace wharf::rtl
