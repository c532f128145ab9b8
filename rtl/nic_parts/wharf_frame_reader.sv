// SPDX-License-Identifier: Apache-2.0
// Keeps frames that came, hands out what the codec wants to see of them, and then their data. Reference: decode() of
// src/wire/frame.h. Description: README.md.
module wharf_frame_reader #(
  parameter int unsigned LengthW     = 13,   // Bits of the length of a packet, 8 to 15.
  parameter int unsigned Flits       = 256,  // Flits kept: a power of two from 2 * PacketFlits.
  parameter int unsigned PacketFlits = 18,   // Of one frame, at most.
  parameter int unsigned Frames      = 16,   // Frames kept: a power of two from 4.
  parameter logic [15:0] Port        = 16'd4792,  // Of UDP.
  parameter int unsigned Trailer     = 0,    // Bytes behind the pad that the packet's length counts.
  parameter logic        Short       = 1'b0  // Packets with data may have fewer than 22 bytes of headers.
) (
  input  logic                 clk_i,
  input  logic                 rst_i,
  input  wharf_pkg::nic_route_t route_i,

  // Frames without their check sequence, always taken. One without room is forgotten.
  input  logic                 wire_valid_i,
  input  logic [511:0]         wire_data_i,
  input  logic [6:0]           wire_bytes_i,   // 64 but for the last flit.
  input  logic                 wire_last_i,
  input  logic                 wire_bad_i,     // With the last flit: the check sequence is wrong.
  output logic                 foreign_o,      // A frame is dropped: for somebody else, of another protocol, bad,
  output logic                 no_room_o,      // or there was no room for it.

  // For the codec: length, and the first 80 bytes from the transport header on.
  output logic                 head_valid_o,
  input  logic                 head_ready_i,
  output logic [LengthW-1:0]   head_length_o,
  output logic [639:0]         head_bytes_o,

  // What becomes of the oldest frame: its data is wanted, or the frame is done with.
  input  logic                 take_valid_i,
  output logic                 take_ready_o,
  input  logic                 take_data_i,    // It is wanted: from 1 byte.
  input  logic [6:0]           take_start_i,   // Bytes before the data,
  input  logic [LengthW-1:0]   take_length_i,  // and of it.
  output logic                 data_valid_o,
  input  logic                 data_ready_i,
  output logic [511:0]         data_flit_o,
  output logic [6:0]           data_bytes_o,
  output logic                 data_last_o
);
  localparam int unsigned FlitW  = $clog2(Flits);
  localparam int unsigned TotalW = LengthW + 1;
  localparam int unsigned FrameW = $clog2(Frames);

  if (LengthW < 8 || LengthW > 15 || (Flits & (Flits - 1)) != 0 || Flits < 2 * PacketFlits ||
      (Frames & (Frames - 1)) != 0 || Frames < 4) begin : gen_refuse
    $error("wharf_frame_reader: Flits must be a power of two from 2 * PacketFlits, Frames one from 4");
  end

  // One write port, one synchronous read port.
  logic [511:0] flits [Flits];

  // ---------------------------------------------------------------- Arrival
  logic             inside_q, second_q, keeps_q;  // Of a frame: past its first flit; at its second one; it has room.
  logic [FlitW-1:0] write_q;
  logic [FlitW:0]   used_q, size_q, size;
  logic [FrameW:0]  frames;                       // Kept.
  logic             has_room, keeps, fits, stores;
  assign has_room  = used_q <= (FlitW + 1)'(Flits - PacketFlits) && frames < (FrameW + 1)'(Frames - 1);
  assign keeps     = inside_q ? keeps_q : has_room;
  assign size      = inside_q ? size_q : '0;
  assign fits      = size < (FlitW + 1)'(PacketFlits);
  assign stores    = wire_valid_i && keeps && fits;
  assign no_room_o = wire_valid_i && wire_last_i && !keeps;

  // The first 22 bytes of the packet are in the first flit, the next 58 in the second one.
  logic [175:0] front_q;
  logic [463:0] behind_q;
  logic         ends_q, is_ours_q, is_whole_q;
  logic [15:0]  transport_q;
  logic [FlitW:0] size_end_q;
  logic [15:0]  bytes_end_q;                      // Of the frame.
  logic         is_ours;
  logic [15:0]  ip_total, udp_length;
  assign ip_total   = wire_data_i[511-8*16 -: 16];
  assign udp_length = wire_data_i[511-8*38 -: 16];
  assign is_ours = wire_data_i[511-8*12 -: 16] == 16'h0800 && wire_data_i[511-8*14 -: 8] == 8'h45 &&
                   (wire_data_i[511-8*20 -: 16] & 16'h3fff) == 16'd0 && wire_data_i[511-8*23 -: 8] == 8'd17 &&
                   wire_data_i[511-8*26 -: 32] == route_i.peer_ip && wire_data_i[511-8*30 -: 32] == route_i.own_ip &&
                   wire_data_i[511-8*36 -: 16] == Port && ip_total == udp_length + 16'd20 && udp_length >= 16'd8;

  // The checksum of the IP header: all its words give ones. In two cycles; the frame is judged in the third.
  logic [19:0] words_q;
  logic [19:0] words;
  logic        first_q, sum_good_q, sum_good;
  always_comb begin
    words = '0;
    for (int unsigned i = 0; i < 10; i++) words = words + 20'(wire_data_i[511-8*14-16*i -: 16]);
  end
  logic [16:0] folded;
  assign folded   = 17'(words_q[15:0]) + 17'(words_q[19:16]);
  assign sum_good = folded[15:0] + 16'(folded[16]) == 16'hffff;

  // The pad, up to three bytes at the end of the packet, is zero. None of it is in the first flit, unless Short: else a
  // packet with a pad has 24 bytes of headers, and data.
  logic [1:0] pad_q, first_pad, pad;
  logic [2:0] bad_pads;
  logic       bad_pad_q, looks;
  assign first_pad = wire_data_i[511-8*43-2 -: 2];
  assign looks     = Short || inside_q;
  assign pad       = Short && !inside_q ? first_pad : pad_q;
  for (genvar i = 0; i < 3; i++) begin : gen_pad
    logic [15:0] first_at, at_q, at;              // Where the last byte, and those before it, are in the frame.
    assign first_at = udp_length + 16'(33 - Trailer - i);
    assign at       = Short && !inside_q ? first_at : at_q;
    assign bad_pads[i] = 2'(i) < pad && 10'(size) == at[15:6] && wire_data_i[{~at[5:0], 3'd0} +: 8] != '0;
    always_ff @(posedge clk_i) if (wire_valid_i && !inside_q) at_q <= first_at;
  end

  always_ff @(posedge clk_i) begin
    if (stores) flits[write_q] <= wire_data_i;
    if (wire_valid_i) bad_pad_q <= (inside_q && bad_pad_q) || (looks && bad_pads != '0);
    if (wire_valid_i && !inside_q) begin
      front_q     <= wire_data_i[175:0];
      is_ours_q   <= is_ours;
      transport_q <= udp_length - 16'd8;
      pad_q       <= first_pad;
      words_q     <= words;
    end
    if (wire_valid_i && second_q) behind_q <= wire_data_i[511:48];
    first_q <= wire_valid_i && !inside_q;
    if (first_q) sum_good_q <= sum_good;
    if (wire_valid_i) begin
      size_end_q  <= size + 1'b1;
      bytes_end_q <= (16'(size) << 6) + 16'(wire_bytes_i);
      is_whole_q  <= fits && !wire_bad_i;
    end
  end

  // A frame that is not ours stays, as a packet of no bytes: the codec drops it, and its flits become free.
  logic               judged_good, head_room, size_room, size_valid, pushes;
  logic [LengthW-1:0] judged_length;
  logic [FrameW:0]    heads;
  logic [FlitW:0]     oldest_size, stored_size;
  assign judged_good   = is_ours_q && is_whole_q && !bad_pad_q && (first_q ? sum_good : sum_good_q) &&
                         17'(bytes_end_q) >= 17'(transport_q) + 17'd42 && (transport_q >> LengthW) == '0;
  assign judged_length = judged_good ? transport_q[LengthW-1:0] : '0;
  assign stored_size   = size_end_q > (FlitW + 1)'(PacketFlits) ? (FlitW + 1)'(PacketFlits) : size_end_q;
  assign pushes        = ends_q;
  assign foreign_o     = ends_q && !judged_good;
  wharf_fifo #(.Width(640 + LengthW), .Depth(Frames)) head_fifo (
    .clk_i, .rst_i,
    .in_valid_i(pushes), .in_ready_o(head_room), .in_data_i({judged_length, front_q, behind_q}),
    .out_valid_o(head_valid_o), .out_ready_i(head_ready_i), .out_data_o({head_length_o, head_bytes_o}), .level_o(heads)
  );
  logic size_take;
  wharf_fifo #(.Width(FlitW + 1), .Depth(Frames)) size_fifo (
    .clk_i, .rst_i,
    .in_valid_i(pushes), .in_ready_o(size_room), .in_data_i(stored_size),
    .out_valid_o(size_valid), .out_ready_i(size_take), .out_data_o(oldest_size), .level_o(frames)
  );

  // ---------------------------------------------------------------- Data
  logic [FlitW-1:0]  base_q, read_q;
  logic [TotalW-1:0] to_read_q;      // Bytes of the frame from read_q on that are wanted, or before them.
  logic              reading_q, flit_valid_q, flit_take, run_ready, takes, fetches, done;
  logic [511:0]      flit_q;
  logic [6:0]        offset;
  logic [5:0]        turn;
  assign offset = take_start_i + 7'd42;
  assign turn   = offset[5:0];
  assign takes        = take_valid_i && take_ready_o;
  // What is done with needs no data path.
  assign take_ready_o = size_valid && !reading_q && (!take_data_i || (run_ready && !flit_valid_q));
  assign done         = takes && !take_data_i;
  assign fetches      = reading_q && (!flit_valid_q || flit_take);
  // The frame's flits are free as soon as its last wanted one has been read.
  logic last_fetch;
  assign last_fetch = fetches && to_read_q <= TotalW'(64);
  assign size_take  = done || last_fetch;

  always_ff @(posedge clk_i) begin
    if (fetches) flit_q <= flits[read_q];
    if (takes) begin
      read_q    <= base_q + FlitW'(offset[6]);
      to_read_q <= TotalW'(turn) + TotalW'(take_length_i);
    end else if (fetches) begin
      read_q    <= read_q + 1'b1;
      to_read_q <= to_read_q - TotalW'(64);
    end
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      inside_q     <= 1'b0;
      second_q     <= 1'b0;
      keeps_q      <= 1'b0;
      ends_q       <= 1'b0;
      write_q      <= '0;
      used_q       <= '0;
      size_q       <= '0;
      base_q       <= '0;
      reading_q    <= 1'b0;
      flit_valid_q <= 1'b0;
    end else begin
      ends_q <= wire_valid_i && wire_last_i && keeps;
      if (wire_valid_i) begin
        inside_q <= !wire_last_i;
        second_q <= !inside_q && !wire_last_i;
        keeps_q  <= keeps;
        size_q   <= fits ? size + 1'b1 : size;
      end
      if (stores) write_q <= write_q + 1'b1;
      used_q <= used_q + (FlitW + 1)'(stores) - (size_take ? oldest_size : '0);
      if (size_take) base_q <= base_q + FlitW'(oldest_size);
      if (takes && take_data_i) reading_q <= 1'b1;
      else if (last_fetch) reading_q <= 1'b0;
      if (fetches) flit_valid_q <= 1'b1;
      else if (flit_take) flit_valid_q <= 1'b0;
    end
  end

  wharf_realign #(.TotalW(TotalW)) realign (
    .clk_i, .rst_i,
    .start_valid_i(takes && take_data_i), .start_ready_o(run_ready), .start_head_i('0),
    .start_held_i(7'd64 - {1'b0, turn}), .start_total_i(TotalW'(take_length_i) + TotalW'(64)), .start_skip_i(1'b1),
    .in_valid_i(flit_valid_q), .in_ready_o(flit_take), .in_data_i(flit_q),
    .out_valid_o(data_valid_o), .out_ready_i(data_ready_i), .out_data_o(data_flit_o), .out_bytes_o(data_bytes_o),
    .out_last_o(data_last_o)
  );
  logic unused;
  assign unused = &{1'b0, heads, head_room, size_room, route_i};
endmodule
