// SPDX-License-Identifier: Apache-2.0
// The codes that travel between elements. One place, so that a top file and a driver read the same names.
package wharf_pkg;
  // What became of a write to a reorder unit: ReorderedWrite of src/engine/ordering/reorder_unit.h.
  parameter logic [1:0] ReorderedTaken  = 2'd0;
  parameter logic [1:0] ReorderedStale  = 2'd1;
  parameter logic [1:0] ReorderedTooFar = 2'd2;
  parameter logic [1:0] ReorderedFailed = 2'd3;

  // Why a reorder unit stopped: ReorderFault of the same file.
  parameter logic [1:0] ReorderFaultNone     = 2'd0;
  parameter logic [1:0] ReorderFaultTooShort = 2'd1;
  parameter logic [1:0] ReorderFaultTooLong  = 2'd2;
endpackage
