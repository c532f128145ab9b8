// SPDX-License-Identifier: Apache-2.0
// Puts the invariant CRC behind frames, and lets each go when it is whole. Description: README.md.
module wharf_icrc_writer #(
  parameter int unsigned Flits = 64  // Kept: a power of two from twice those of the longest frame.
) (
  input  logic         clk_i,
  input  logic         rst_i,

  // Frames up to the pad: 14 bytes of Ethernet and a multiple of four behind them, zero beyond their end.
  input  logic         in_valid_i,
  output logic         in_ready_o,
  input  logic [511:0] in_data_i,
  input  logic [6:0]   in_bytes_i,   // 64 but for the last flit.
  input  logic         in_last_i,

  // The same with four bytes more, without a gap inside of a frame.
  output logic         out_valid_o,
  input  logic         out_ready_i,
  output logic [511:0] out_data_o,
  output logic [6:0]   out_bytes_o,
  output logic         out_last_o
);
  localparam int unsigned Sums = 8;
  localparam logic [31:0] Polynomial = 32'hedb88320;
  if (Flits < 4 || (Flits & (Flits - 1)) != 0) begin : gen_refuse
    $error("wharf_icrc_writer: Flits must be a power of two from 4");
  end

  logic         takes, inside_q, flit_room, flit_valid, flit_take, flit_last;
  logic [511:0] flit;
  logic [3:0]   flit_place, place_q, sum_place;
  logic [$clog2(Flits):0] flits;
  logic [$clog2(Sums):0]  sums;
  // Three sums may be under way when the last place is promised.
  assign in_ready_o = flit_room && sums <= ($clog2(Sums) + 1)'(Sums - 4);
  assign takes      = in_valid_i && in_ready_o;
  // Where the packet ends in its last flit: bytes 2, 6, ... 62.
  wharf_fifo #(.Width(517), .Depth(Flits)) flit_fifo (
    .clk_i, .rst_i,
    .in_valid_i(takes), .in_ready_o(flit_room), .in_data_i({in_last_i, in_bytes_i[5:2], in_data_i}),
    .out_valid_o(flit_valid), .out_ready_i(flit_take), .out_data_o({flit_last, flit_place, flit}), .level_o(flits)
  );

  // The register has gone on over zeros up to the end of the flit; it comes back to the end of the packet: by the small
  // steps before it is kept, by the large ones behind.
  logic [31:0] crc, next_crc, at_end, near_q;
  wharf_icrc icrc (.clk_i, .valid_i(takes), .first_i(!inside_q), .data_i(in_data_i), .crc_o(crc), .next_o(next_crc));
  function automatic logic [31:0] row_back(input logic [4:0] index, input int unsigned bits);
    row_back = 32'd1 << index;
    for (int unsigned n = 0; n < bits; n++) row_back = {^(row_back & {Polynomial[30:0], 1'b1}), row_back[31:1]};
  endfunction
  logic [31:0] back0, back1, back2, back3, back4;
  for (genvar i = 0; i < 32; i++) begin : gen_back
    localparam logic [31:0] Row0 = row_back(i, 16);
    localparam logic [31:0] Row1 = row_back(i, 32);
    localparam logic [31:0] Row2 = row_back(i, 64);
    localparam logic [31:0] Row3 = row_back(i, 128);
    localparam logic [31:0] Row4 = row_back(i, 256);
    assign back0[i] = ^(next_crc & Row0);
    assign back1[i] = place_q[0] ? back0[i] : ^(back0 & Row1);
    assign back2[i] = place_q[1] ? back1[i] : ^(back1 & Row2);
    assign back3[i] = sum_place[2] ? near_q[i] : ^(near_q & Row3);
    assign back4[i] = sum_place[3] ? back3[i] : ^(back3 & Row4);
  end
  assign at_end = ~back4;

  // A sum that nothing waits before goes by the queue, unless it ends in a flit of its own.
  logic        last_q, ends_q, sum_room, sum_kept, sum_valid, sum_take;
  logic [31:0] sum, made_sum, kept_sum;
  assign made_sum  = {at_end[7:0], at_end[15:8], at_end[23:16], at_end[31:24]};
  assign sum_valid = sum_kept || ends_q;
  assign sum       = sum_kept ? kept_sum : made_sum;
  wharf_fifo #(.Width(32), .Depth(Sums)) sum_fifo (
    .clk_i, .rst_i,
    .in_valid_i(ends_q && !(sum_take && !sum_kept)), .in_ready_o(sum_room), .in_data_i(made_sum),
    .out_valid_o(sum_kept), .out_ready_i(sum_take), .out_data_o(kept_sum), .level_o(sums)
  );
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      inside_q <= 1'b0;
      last_q   <= 1'b0;
      ends_q   <= 1'b0;
    end else begin
      if (takes) inside_q <= !in_last_i;
      last_q <= takes && in_last_i;
      ends_q <= last_q;
    end
  end
  always_ff @(posedge clk_i) begin
    place_q   <= in_bytes_i[5:2];
    sum_place <= place_q;
    near_q    <= back2;
  end

  // A frame is whole when its sum is there.
  logic         load, tail_q, splits;
  logic [511:0] signed_flit;
  always_comb begin
    signed_flit = flit;
    for (int unsigned j = 0; j < 15; j++) begin
      if (flit_last && flit_place == 4'(j)) signed_flit[511-8*(4*j+2) -: 32] = sum;
    end
    if (flit_last && flit_place == 4'd15) signed_flit[15:0] = sum[31:16];
  end
  assign load      = !out_valid_o || out_ready_i;
  assign splits    = flit_last && flit_place == 4'd15;
  assign flit_take = load && sum_valid && !tail_q;
  assign sum_take  = load && (tail_q || (flit_valid && flit_last && !splits));
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      out_valid_o <= 1'b0;
      tail_q      <= 1'b0;
    end else if (load) begin
      out_valid_o <= sum_valid;
      tail_q      <= flit_take && flit_valid && splits;
    end
  end
  always_ff @(posedge clk_i) begin
    if (load) begin
      out_data_o  <= tail_q ? {sum[15:0], 496'd0} : signed_flit;
      out_bytes_o <= tail_q ? 7'd2 : (flit_last && !splits ? {1'b0, flit_place, 2'd0} + 7'd6 : 7'd64);
      out_last_o  <= tail_q || (flit_last && !splits);
    end
  end
  logic unused;
  assign unused = &{1'b0, flits, sum_room, in_bytes_i, crc, sum_place};
endmodule
