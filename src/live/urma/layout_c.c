// SPDX-License-Identifier: Apache-2.0
// The layout of the URMA headers as a C11 compiler sees it.
#include "live/urma/layout_check.h"

void check_layout_in_c(struct LayoutReport* report) {
#include "live/urma/layout_rows.inc"
}

void check_constants_in_c(struct LayoutReport* report) {
#include "live/urma/constant_rows.inc"
}
