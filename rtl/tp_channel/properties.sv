// SPDX-License-Identifier: Apache-2.0
// What holds for the sending side of a channel, whatever is acknowledged and whenever it goes back: packets go out whole,
// in their order, and never overwritten; one comes again only after going back, and one is passed over only when it is
// acknowledged.
// PROVE wharf_tp_channel_rules bmc 10
// PROVE wharf_tp_channel_rules cover 12

// Numbers of 3 bits, a window of 2, 4 flits, packets of 1 or 2. A flit carries its packet's number in its highest bits.
module wharf_tp_channel_rules (
  input logic       clk_i, rst_i, number_ready_i, in_valid_i, in_last_i, out_ready_i, ack_valid_i, ack_missing_i, back_valid_i,
  input logic [2:0] ack_number_i
);
  logic         number_valid, in_ready, out_valid, out_last, inside, refused, progress, sends, outstanding;
  logic [2:0]   number;
  logic [511:0] out_data;
  logic [6:0]   out_bytes;
  logic [2:0]   given, whole;  // Packets that have a number, and that have all their flits: modulo 8.
  wharf_tp_channel #(.NumberW(3), .Window(2), .Flits(4), .PacketFlits(2)) dut (
    .clk_i, .rst_i, .number_valid_o(number_valid), .number_ready_i, .number_o(number),
    .in_valid_i, .in_ready_o(in_ready), .in_data_i({whole, 509'd0}), .in_bytes_i(7'd64), .in_last_i,
    .out_valid_o(out_valid), .out_ready_i, .out_data_o(out_data), .out_bytes_o(out_bytes), .out_last_o(out_last),
    .ack_valid_i, .ack_number_i, .ack_missing_i, .ack_inside_o(inside), .ack_refused_o(refused), .ack_progress_o(progress),
    .back_valid_i, .sends_o(sends), .outstanding_o(outstanding)
  );

  logic       started, in_first, out_first, is_new;
  logic [3:0] went_back;             // More often than the way out began anew.
  logic [2:0] heard;                 // Every packet before is acknowledged.
  logic [2:0] next, current, shown;  // Behind the packet that began last; that one; the one at the output.
  logic [3:0] has_two;               // Which packets have two flits, by the low bits of their numbers.
  initial started = 1'b0;
  logic goes, is_again;
  assign goes     = out_valid && out_ready_i;
  assign shown    = out_data[511:509];
  assign is_again = shown == next - 3'd1 || shown == next - 3'd2;
  always_comb begin
    if (!started) assume (rst_i);
    else assume (!rst_i);
    // Flits of packets that have a number.
    if (in_valid_i) assume (whole != given);
    if (in_valid_i && !in_first) assume (in_last_i);
  end
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    is_new  <= !out_valid || out_ready_i;
    if (rst_i) begin
      in_first  <= 1'b1;
      out_first <= 1'b1;
      went_back <= '0;
      given     <= '0;
      whole     <= '0;
      heard     <= '0;
      next      <= '0;
    end else begin
      if (number_valid && number_ready_i) given <= given + 3'd1;
      if (in_valid_i) begin
        in_first            <= in_last_i;
        has_two[whole[1:0]] <= !in_first;
        if (in_last_i) whole <= whole + 3'd1;
      end
      if (goes) begin
        out_first <= out_last;
        if (out_first) begin
          next    <= shown + 3'd1;
          current <= shown;
        end
      end
      if (progress) heard <= ack_number_i;
      went_back <= went_back + 4'(back_valid_i) - 4'(goes && out_first && is_again);
    end
  end
  logic [2:0] unheard, behind;
  assign unheard = given - heard;
  assign behind  = heard - shown;
  always_comb begin
    if (started && !rst_i) begin
      assert (in_ready);
      assert (unheard <= 3'd2);
      if (number_valid) assert (number == given && unheard < 3'd2);
      if (out_valid && out_first) begin
        // It is whole, and kept, as it comes.
        if (is_new) assert (shown == whole - 3'd1 || shown == whole - 3'd2);
        assert (out_last == !has_two[shown[1:0]]);
        if (is_again) assert (went_back != '0);
        else if (shown != next) assert (behind <= 3'd2);          // What it passes over is acknowledged.
      end
      if (out_valid && !out_first) assert (shown == current && out_last);
      assert (!(inside && refused));
    end
    cover (started && goes && out_first && is_again && next == 3'd3);
  end
endmodule
