// SPDX-License-Identifier: Apache-2.0
// Finds complete messages of one queue in writes that arrive in any order, by address alone. Reference:
// src/engine/ordering/reorder_unit.h. Source: "Stop Taking the Scenic Route" (HotOS '25), 3.1 to 3.4.
// Description: README.md.
//
//            start          front                        start + BufferBytes
//              |  all here    |   some bytes are here      |
//   ...stale...|==============|==--==------=---------------|...too far...
//              [ length field at LengthOffset ]
module wharf_reorder_unit #(
  parameter int unsigned LineBytes    = 64,      // Most bytes of one write; a power of two from 2.
  parameter int unsigned BufferBytes  = 512,     // How far writes change places, and the longest message; from 2 lines.
  parameter int unsigned WindowBytes  = 262144,  // Addresses of the queue; a power of two, 4 * BufferBytes or more.
  parameter int unsigned LengthOffset = 0,       // Where a message holds its length,
  parameter int unsigned LengthBytes  = 2,       // in how many bytes (1 to 4), the least significant first.
  parameter int unsigned Alignment    = 1,       // Messages start at multiples of this; a power of two up to LineBytes.
  parameter int unsigned ZeroSkips    = 0,       // 1: length 0 says nothing more in this line. 0: it is a fault.
  parameter int unsigned Continuation = 0        // 1: the length's highest bit: the next message continues this one.
) (
  input  logic                                     clk_i,
  input  logic                                     rst_i,

  // Writes, within a line each.
  input  logic                                     write_valid_i,
  output logic                                     write_ready_o,
  input  logic [$clog2(WindowBytes/LineBytes)-1:0] write_line_i,
  input  logic [LineBytes-1:0]                     write_enabled_i,
  input  logic [8*LineBytes-1:0]                   write_data_i,

  // What became of the write of the cycle before: wharf_pkg::Reordered*.
  output logic                                     result_valid_o,
  output logic [1:0]                               result_o,
  output logic [31:0]                              too_far_o,  // How many writes were dropped as too far.

  // To the memory of the NIC, which always takes it: the bytes of the write that belong to messages to come.
  output logic                                     store_valid_o,
  output logic [$clog2(WindowBytes/LineBytes)-1:0] store_line_o,
  output logic [LineBytes-1:0]                     store_enabled_o,
  output logic [8*LineBytes-1:0]                   store_data_o,

  // Complete messages, each once, in the order of their addresses.
  output logic                                     message_valid_o,
  input  logic                                     message_ready_i,
  output logic [$clog2(WindowBytes)-1:0]           message_offset_o,
  output logic [$clog2(BufferBytes):0]             message_length_o,
  output logic                                     message_continued_o,

  output logic [$clog2(WindowBytes)-1:0]           start_o,   // Of the oldest message that has not been handed on.
  output logic [1:0]                               fault_o    // wharf_pkg::ReorderFault*; stays until the reset.
);
  localparam int unsigned AddrW   = $clog2(WindowBytes);
  localparam int unsigned LaneW   = $clog2(LineBytes);
  localparam int unsigned Lines   = BufferBytes / LineBytes;
  localparam int unsigned LineW   = $clog2(Lines);              // Of a line in the buffer.
  localparam int unsigned WinLineW = AddrW - LaneW;             // Of a line in the window.
  localparam int unsigned LenW    = $clog2(BufferBytes) + 1;
  localparam int unsigned FieldW  = 8 * LengthBytes;
  // Lines ahead from which a write is taken for a late copy: the farther half of what the window has beyond the buffer.
  localparam int unsigned StaleLines = (WindowBytes + BufferBytes) / 2 / LineBytes;

  if (LineBytes < 2 || (LineBytes & (LineBytes - 1)) != 0 || (BufferBytes & (BufferBytes - 1)) != 0 ||
      BufferBytes < 2 * LineBytes) begin : gen_refuse_buffer
    $error("wharf_reorder_unit: LineBytes and BufferBytes must be powers of two, the buffer two lines or more");
  end
  if ((WindowBytes & (WindowBytes - 1)) != 0 || WindowBytes < 4 * BufferBytes) begin : gen_refuse_window
    $error("wharf_reorder_unit: WindowBytes must be a power of two from 4 * BufferBytes");
  end
  if (LengthBytes < 1 || LengthBytes > 4 || LengthBytes > LineBytes || LengthOffset + LengthBytes > BufferBytes ||
      Alignment < 1 || (Alignment & (Alignment - 1)) != 0 || Alignment > LineBytes) begin : gen_refuse_layout
    $error("wharf_reorder_unit: the length field must lie in the buffer, Alignment be a power of two up to LineBytes");
  end

  // Sweep: clears the valid bits after a reset, a line a cycle. Run: works. Failed: a length said the impossible.
  localparam logic [1:0] Sweep  = 2'd0;
  localparam logic [1:0] Run    = 2'd1;
  localparam logic [1:0] Failed = 2'd2;

  logic [1:0]       state_q;
  logic [AddrW-1:0] start_q;  // Of the oldest message.
  logic [AddrW-1:0] front_q;  // Every byte from start to here has arrived. Its line is the one that is looked at.
  logic             lag_q;    // Padding was skipped: front is behind start, in its line or at its end.

  // ---------------------------------------------------------------- What a write means

  logic [WinLineW-1:0]  lines_ahead;
  logic [LineBytes-1:0] from_start, fresh, far;
  logic                 too_far, write_take, quiet_q;
  logic [LineW-1:0]     write_line, scan_line;  // In the buffer.

  assign lines_ahead = write_line_i - start_q[AddrW-1:LaneW];
  // Bytes of a line at and above the start's place in it.
  assign from_start  = {LineBytes{1'b1}} << start_q[LaneW-1:0];

  always_comb begin
    fresh = '0;
    far   = '0;
    if (lines_ahead == '0) begin
      fresh = from_start;
    end else if (lines_ahead < WinLineW'(Lines)) begin
      fresh = '1;
    end else if (lines_ahead == WinLineW'(Lines)) begin
      fresh = ~from_start;
      far   = from_start;
    end else if (lines_ahead < WinLineW'(StaleLines)) begin
      far = '1;
    end else if (lines_ahead == WinLineW'(StaleLines)) begin
      far = ~from_start;
    end
  end

  // Too far is an error only when nothing inside can make room any more. While padding is passed, its place in the buffer
  // is not written: the byte that comes may be of the next lap.
  assign too_far       = state_q == Run && (write_enabled_i & far) != '0;
  assign write_ready_o = state_q != Sweep && (!too_far || quiet_q) && !(lag_q && write_line == scan_line);
  assign write_take    = write_valid_i && write_ready_o && state_q == Run && !too_far;

  logic [LineBytes-1:0] store;
  assign store = write_take ? write_enabled_i & fresh : '0;

  // Bytes between start and front have arrived already: a copy changes their value, and sets no valid bit.
  logic [LineBytes-1:0] below_front, set;
  logic [WinLineW-1:0]  front_lines;  // From the line of start to the line of front, one lap at most.
  assign front_lines = front_q[AddrW-1:LaneW] - start_q[AddrW-1:LaneW];
  always_comb begin
    if (lag_q || lines_ahead > front_lines) below_front = '0;
    else if (lines_ahead == front_lines) below_front = ~({LineBytes{1'b1}} << front_q[LaneW-1:0]);
    else below_front = '1;
  end
  assign set = store & ~below_front;

  // ---------------------------------------------------------------- Byte lanes

  logic [LineBytes-1:0]   scan_valid;  // Of the line of front.
  logic [LineBytes-1:0]   pass;        // Bytes of that line whose valid bits are no longer needed.
  logic [8*LineBytes-1:0] field_data;
  logic [LineBytes-1:0]   field_valid;
  logic [LaneW+LineW-1:0] field;       // The place of the length field in the buffer.
  logic [LineBytes-1:0]   wraps;       // Lanes whose byte of the field lies in the next line.

  assign field      = start_q[LaneW+LineW-1:0] + (LaneW + LineW)'(LengthOffset);
  assign wraps      = ~({LineBytes{1'b1}} << field[LaneW-1:0]);
  assign write_line = state_q == Sweep ? scan_line : write_line_i[LineW-1:0];
  assign scan_line  = front_q[LaneW +: LineW];

  for (genvar i = 0; i < LineBytes; i++) begin : gen_lane
    wharf_reorder_lane #(.Lines(Lines)) lane (
      .clk_i,
      .clear_i(state_q == Sweep),
      .write_line_i(write_line),
      .store_i(store[i]),
      .set_i(set[i]),
      .data_i(write_data_i[8*i +: 8]),
      .scan_line_i(scan_line),
      .pass_i(pass[i]),
      .scan_valid_o(scan_valid[i]),
      .field_line_i(field[LaneW +: LineW] + LineW'(wraps[i])),
      .field_valid_o(field_valid[i]),
      .field_data_o(field_data[8*i +: 8])
    );
  end

  // ---------------------------------------------------------------- How far everything has arrived

  // The first byte from front's place upward that is missing; LineBytes when there is none.
  logic [LineBytes-1:0] missing;
  logic [LaneW:0]       first_missing;
  assign missing = ~scan_valid & ({LineBytes{1'b1}} << front_q[LaneW-1:0]);
  always_comb begin
    first_missing = (LaneW + 1)'(LineBytes);
    for (int unsigned i = LineBytes; i > 0; i--) begin
      if (missing[i-1]) first_missing = (LaneW + 1)'(i - 1);
    end
  end

  logic [AddrW-1:0] front_d;
  always_comb begin
    front_d = {front_q[AddrW-1:LaneW], LaneW'(0)} + AddrW'(first_missing);
    pass    = (missing & (~missing + 1'b1)) - 1'b1;  // Below the first missing byte; all when none is.
    if (state_q == Sweep) begin
      front_d = front_q + AddrW'(LineBytes);
    end else if (lag_q) begin
      front_d = start_q;
      pass    = start_q[AddrW-1:LaneW] == front_q[AddrW-1:LaneW] ? ~from_start : '1;
    end
    // What lies below front has been passed before, or belongs to the line one lap later.
    pass = pass & ({LineBytes{1'b1}} << front_q[LaneW-1:0]);
  end

  // ---------------------------------------------------------------- The oldest message

  logic [AddrW-1:0]       arrived;       // Bytes from start to front.
  logic [FieldW-1:0]      field_value;
  logic [LengthBytes-1:0] field_here;
  assign arrived = front_q - start_q;

  for (genvar j = 0; j < LengthBytes; j++) begin : gen_field
    logic [LaneW-1:0] lane;
    assign lane = field[LaneW-1:0] + LaneW'(j);
    assign field_value[8*j +: 8] = field_data[8*lane +: 8];
    assign field_here[j] = arrived > AddrW'(LengthOffset + j) || field_valid[lane];
  end

  logic              continued, length_known, too_short, too_long, zero, complete;
  logic [FieldW-1:0] length;
  assign continued    = Continuation != 0 && field_value[FieldW-1];
  assign length       = Continuation != 0 ? field_value & ~(FieldW'(1) << (FieldW - 1)) : field_value;
  assign length_known = state_q == Run && !lag_q && (&field_here);
  assign zero         = ZeroSkips != 0 && length == '0;
  assign too_short    = !zero && 32'(length) < 32'(LengthOffset + LengthBytes);
  assign too_long     = 32'(length) > 32'(BufferBytes);
  assign complete     = 32'(arrived) >= 32'(length);

  logic skip, fail, finished, release_message;
  assign skip            = length_known && zero;
  assign fail            = length_known && (too_short || too_long);
  assign finished        = length_known && !zero && !fail && complete;
  assign release_message = finished && (!message_valid_o || message_ready_i);

  logic [AddrW-1:0] end_d, start_d;
  assign end_d = start_q + AddrW'(length);
  always_comb begin
    start_d = start_q;
    if (skip) start_d = {start_q[AddrW-1:LaneW] + 1'b1, LaneW'(0)};
    else if (release_message) start_d = (end_d + AddrW'(Alignment - 1)) & ~(AddrW'(Alignment - 1));
  end

  // ---------------------------------------------------------------- State

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q         <= Sweep;
      start_q         <= '0;
      front_q         <= '0;
      lag_q           <= 1'b0;
      quiet_q         <= 1'b0;
      message_valid_o <= 1'b0;
      result_valid_o  <= 1'b0;
      store_valid_o   <= 1'b0;
      too_far_o       <= '0;
      fault_o         <= wharf_pkg::ReorderFaultNone;
    end else begin
      front_q <= front_d;
      start_q <= start_d;
      // Compared as distances from the old start, which is at most a buffer behind both.
      lag_q   <= state_q == Run && AddrW'(start_d - start_q) > AddrW'(front_d - start_q);
      quiet_q <= front_d == front_q && !skip && !finished && !write_take;
      if (state_q == Sweep && front_q[LaneW +: LineW] == LineW'(Lines - 1)) begin
        state_q <= Run;
        front_q <= '0;
      end
      if (fail) begin
        state_q <= Failed;
        fault_o <= too_long ? wharf_pkg::ReorderFaultTooLong : wharf_pkg::ReorderFaultTooShort;
      end
      if (!message_valid_o || message_ready_i) message_valid_o <= finished;
      result_valid_o <= write_valid_i && write_ready_o;
      store_valid_o  <= store != '0;
      if (write_valid_i && write_ready_o && too_far) too_far_o <= too_far_o + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (release_message) begin
      message_offset_o    <= start_q;
      message_length_o    <= LenW'(length);
      message_continued_o <= continued;
    end
    store_line_o    <= write_line_i;
    store_enabled_o <= store;
    store_data_o    <= write_data_i;
    if (state_q == Failed) result_o <= wharf_pkg::ReorderedFailed;
    else if (too_far) result_o <= wharf_pkg::ReorderedTooFar;
    else result_o <= store != '0 ? wharf_pkg::ReorderedTaken : wharf_pkg::ReorderedStale;
  end

  assign start_o = start_q;
endmodule
