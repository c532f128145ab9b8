// SPDX-License-Identifier: Apache-2.0
// Which headers follow the BTH for an opcode of a reliable connection. No state. Reference: roce_headers() of
// src/wire/roce_opcode.h. Source: IBTA vol 1, table 38.
module wharf_roce_opcode (
  input  logic [7:0] opcode_i,
  output logic       known_o,
  output logic       reth_o,
  output logic       atomic_o,     // AtomicETH
  output logic       aeth_o,
  output logic       immediate_o,
  output logic       data_o,       // Data may follow.
  output logic [4:0] bytes_o       // Of these headers.
);
  always_comb begin
    reth_o      = 1'b0;
    atomic_o    = 1'b0;
    aeth_o      = 1'b0;
    immediate_o = 1'b0;
    data_o      = 1'b1;
    known_o     = 1'b1;
    bytes_o     = 5'd0;
    unique case (opcode_i)
      wharf_pkg::RoceSendFirst, wharf_pkg::RoceSendMiddle, wharf_pkg::RoceSendLast, wharf_pkg::RoceSendOnly,
      wharf_pkg::RoceWriteMiddle, wharf_pkg::RoceWriteLast, wharf_pkg::RoceReadMiddle: ;
      wharf_pkg::RoceSendLastImmediate, wharf_pkg::RoceSendOnlyImmediate, wharf_pkg::RoceWriteLastImmediate: begin
        immediate_o = 1'b1;
        bytes_o     = 5'd4;
      end
      wharf_pkg::RoceWriteFirst, wharf_pkg::RoceWriteOnly: begin
        reth_o  = 1'b1;
        bytes_o = 5'd16;
      end
      wharf_pkg::RoceWriteOnlyImmediate: begin
        reth_o      = 1'b1;
        immediate_o = 1'b1;
        bytes_o     = 5'd20;
      end
      wharf_pkg::RoceReadRequest: begin
        reth_o  = 1'b1;
        data_o  = 1'b0;
        bytes_o = 5'd16;
      end
      wharf_pkg::RoceReadFirst, wharf_pkg::RoceReadLast, wharf_pkg::RoceReadOnly: begin
        aeth_o  = 1'b1;
        bytes_o = 5'd4;
      end
      wharf_pkg::RoceAcknowledge: begin
        aeth_o  = 1'b1;
        data_o  = 1'b0;
        bytes_o = 5'd4;
      end
      wharf_pkg::RoceAtomicAcknowledge: begin
        aeth_o  = 1'b1;
        data_o  = 1'b0;
        bytes_o = 5'd12;
      end
      wharf_pkg::RoceCompareSwap, wharf_pkg::RoceFetchAdd: begin
        atomic_o = 1'b1;
        data_o   = 1'b0;
        bytes_o  = 5'd28;
      end
      // With invalidation, FLUSH, ATOMIC WRITE: known, so that the peer is told that they are not there.
      8'h16, 8'h17: bytes_o = 5'd4;
      8'h1c: begin
        data_o  = 1'b0;
        bytes_o = 5'd20;
      end
      8'h1d: bytes_o = 5'd16;
      default: known_o = 1'b0;
    endcase
  end
endmodule
