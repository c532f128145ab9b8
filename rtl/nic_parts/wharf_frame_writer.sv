// SPDX-License-Identifier: Apache-2.0
// Puts network headers before the headers of a packet, and its data behind them: Ethernet, IPv4, UDP.
// Reference: encode() of src/wire/frame.h. Description: README.md.
module wharf_frame_writer #(
  parameter int unsigned LengthW = 13,          // Bits of the length of a packet's data, 8 to 15.
  parameter logic [15:0] Port    = 16'd4792,    // Of UDP.
  parameter logic [15:0] Trailer = 16'd0,       // Bytes that somebody puts behind the packet: its lengths count them.
  parameter logic        Short   = 1'b0         // Packets with data may have fewer than 22 bytes of headers.
) (
  input  logic                   clk_i,
  input  logic                   rst_i,
  input  wharf_pkg::nic_route_t  route_i,        // Stays as it is while packets are under way, but for the source port,
  input  logic [7:0]             service_i,      // which is the packet's own, as the TOS.

  // Headers from the codec, and where the data is: in the same order.
  input  logic                   made_valid_i,
  output logic                   made_ready_o,
  input  logic [639:0]           made_bytes_i,
  input  logic [6:0]             made_start_i,   // With data, 24 or more, 12 if Short; without, 16 or more.
  input  logic [1:0]             made_pad_i,
  input  logic                   about_valid_i,
  output logic                   about_ready_o,
  input  logic [LengthW-1:0]     about_length_i, // Bytes of data,
  input  logic                   about_inline_i, // which are here (16 at most, zero beyond),
  input  logic [127:0]           about_data_i,
  input  logic                   data_valid_i,   // or come as flits, zero beyond their end.
  output logic                   data_ready_o,
  input  logic [511:0]           data_flit_i,

  // The frame, without its check sequence.
  output logic                   out_valid_o,
  input  logic                   out_ready_i,
  output logic [511:0]           out_data_o,
  output logic [6:0]             out_bytes_o,
  output logic                   out_last_o
);
  localparam int unsigned TotalW = LengthW + 1;
  if (LengthW < 8 || LengthW > 15) begin : gen_refuse
    $error("wharf_frame_writer: LengthW must be 8 to 15");
  end

  logic [15:0] transport;  // Bytes from the transport header on.
  assign transport = 16'(made_start_i) + 16'(about_length_i) + 16'(made_pad_i) + Trailer;
  logic [335:0] network;
  wharf_network_headers #(.Port(Port)) network_headers (
    .clk_i, .route_i, .service_i, .transport_i(transport), .headers_o(network)
  );

  // 42 bytes before the packet: its first 22 bytes end the first flit.
  logic [975:0]      frame;
  logic              is_short, is_whole, load, begins, run_ready, run_valid, run_last, inline_q, more_ready;
  logic [6:0]        run_bytes;
  logic [511:0]      run_data, inline_data_q;
  logic [TotalW-1:0] rest;
  assign frame        = {network, made_bytes_i};
  // The first flit has data, too: then it comes from the buffer, as all that follow.
  assign is_whole     = Short && made_start_i <= 7'd22 && about_length_i != '0;
  assign is_short     = made_start_i <= 7'd22 && !is_whole;
  assign rest         = is_short ? '0 : TotalW'(made_start_i) + TotalW'(about_length_i) + TotalW'(made_pad_i) +
                                        (is_whole ? TotalW'(42) : -TotalW'(22));
  assign load         = !out_valid_o || out_ready_i;
  // A frame begins when the one before has left the buffer behind the first flit.
  assign begins       = made_valid_i && about_valid_i && load && !run_valid && run_ready;
  assign made_ready_o  = begins;
  assign about_ready_o = begins;

  assign data_ready_o = more_ready && !inline_q;
  wharf_realign #(.TotalW(TotalW)) realign (
    .clk_i, .rst_i,
    .start_valid_i(begins), .start_ready_o(run_ready), .start_head_i(is_whole ? frame[975:464] : {frame[463:0], 48'd0}),
    .start_held_i(is_whole ? made_start_i + 7'd42 : made_start_i - 7'd22), .start_total_i(rest), .start_skip_i(1'b0),
    .in_valid_i(inline_q || data_valid_i), .in_ready_o(more_ready), .in_data_i(inline_q ? inline_data_q : data_flit_i),
    .out_valid_o(run_valid), .out_ready_i(load), .out_data_o(run_data), .out_bytes_o(run_bytes), .out_last_o(run_last)
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) out_valid_o <= 1'b0;
    else if (load) out_valid_o <= (begins && !is_whole) || run_valid;
    if (load) begin
      out_data_o  <= run_valid ? run_data : frame[975:464];
      out_bytes_o <= run_valid ? run_bytes : (is_short ? made_start_i + 7'd42 : 7'd64);
      out_last_o  <= run_valid ? run_last : is_short;
    end
    if (begins) begin
      inline_q      <= about_inline_i;
      inline_data_q <= {about_data_i, 384'd0};
    end
  end
endmodule
