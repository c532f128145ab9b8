// SPDX-License-Identifier: Apache-2.0
// The program itself: everything is in application.cc.
#include "cli/application.h"

int main(int argc, char** argv) { return wharf::cli::run_application(argc, argv); }
