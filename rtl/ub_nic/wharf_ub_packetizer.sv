// SPDX-License-Identifier: Apache-2.0
// Cuts requests and responses into packets: headers for the codec, and where the data of each comes from.
// Source: UB-Base 2.0.1, 6.3 and 7.2. Description: README.md.
module wharf_ub_packetizer #(
  parameter int unsigned Mtu     = 1024,             // Data of a packet at most: a power of two from 128 to 16384.
  parameter int unsigned LengthW = $clog2(Mtu) + 1
) (
  input  logic                   clk_i,
  input  logic                   rst_i,
  input  wharf_pkg::ub_route_t   route_i,

  input  logic                   job_valid_i,
  output logic                   job_ready_o,
  input  wharf_pkg::ub_job_t     job_i,

  // A number for each packet, from the channel.
  input  logic                   number_valid_i,
  output logic                   number_ready_o,
  input  logic [23:0]            number_i,

  // To the codec: headers, and how long the data is.
  output logic                   send_valid_o,
  input  logic                   send_ready_i,
  output wharf_pkg::ub_headers_t send_headers_o,
  output logic [LengthW-1:0]     send_length_o,

  // To the frame writer: the same length, and the data when it is inline.
  output logic                   about_valid_o,
  input  logic                   about_ready_i,
  output logic [LengthW-1:0]     about_length_o,
  output logic                   about_inline_o,
  output logic [127:0]           about_data_o,

  // To the memory reader.
  output logic                   ask_valid_o,
  input  logic                   ask_ready_i,
  output logic [63:0]            ask_address_o,
  output logic [LengthW-1:0]     ask_length_o
);
  if (Mtu < 128 || Mtu > 16384 || (Mtu & (Mtu - 1)) != 0) begin : gen_refuse
    $error("wharf_ub_packetizer: Mtu must be a power of two from 128 to 16384");
  end

  // Of the job that is being cut: what has gone.
  logic [31:0] gone_q, left;
  logic [23:0] tpmsn_q;
  logic        is_last;
  logic [LengthW-1:0] chunk;
  assign left    = job_i.length - gone_q;
  assign is_last = !job_i.has_data || left <= 32'(Mtu);
  assign chunk   = !job_i.has_data ? '0 : (is_last ? left[LengthW-1:0] : LengthW'(Mtu));

  // A packet leaves when all that it needs is there. Both queues only fill by packets, so an offer stays.
  logic about_room, ask_room, from_memory, offers, goes;
  logic [2:0] abouts, asks;
  assign from_memory    = job_i.has_data && !job_i.is_inline && chunk != '0;
  assign offers         = job_valid_i && number_valid_i && about_room && ask_room;
  assign send_valid_o   = offers;
  assign goes           = offers && send_ready_i;
  assign number_ready_o = goes;
  assign job_ready_o    = goes && is_last;
  assign send_length_o  = chunk;

  wharf_fifo #(.Width(LengthW + 129), .Depth(4)) about (
    .clk_i, .rst_i,
    .in_valid_i(goes), .in_ready_o(about_room), .in_data_i({chunk, job_i.is_inline, job_i.data}),
    .out_valid_o(about_valid_o), .out_ready_i(about_ready_i),
    .out_data_o({about_length_o, about_inline_o, about_data_o}), .level_o(abouts)
  );
  wharf_fifo #(.Width(64 + LengthW), .Depth(4)) ask (
    .clk_i, .rst_i,
    .in_valid_i(goes && from_memory), .in_ready_o(ask_room), .in_data_i({job_i.address + 64'(gone_q), chunk}),
    .out_valid_o(ask_valid_o), .out_ready_i(ask_ready_i), .out_data_o({ask_address_o, ask_length_o}), .level_o(asks)
  );

  logic has_immediate;
  assign has_immediate = job_i.opcode == wharf_pkg::TaSendImmediate || job_i.opcode == wharf_pkg::TaWriteImmediate;
  always_comb begin
    send_headers_o                     = '0;
    send_headers_o.last                = is_last;
    send_headers_o.tp_opcode           = 7'd1;
    send_headers_o.source_tpn          = route_i.own_tpn;
    send_headers_o.destination_tpn     = route_i.peer_tpn;
    send_headers_o.acknowledge_request = 1'b1;
    send_headers_o.psn                 = number_i;
    send_headers_o.tpmsn               = tpmsn_q;
    send_headers_o.kind                = job_i.kind;
    send_headers_o.opcode              = job_i.opcode;
    send_headers_o.tassn               = job_i.tassn;
    send_headers_o.requester_type      = 2'd1;
    send_headers_o.requester_id        = job_i.requester_id;
    if (job_i.kind == wharf_pkg::UbResponse) begin
      send_headers_o.status = job_i.status;
      send_headers_o.info   = job_i.info;
      send_headers_o.poison = job_i.status == wharf_pkg::StatusError && job_i.info == wharf_pkg::InfoPoison;
    end else begin
      // The address and length of a packet with data are its own.
      send_headers_o.token_present = 1'b1;
      send_headers_o.address       = job_i.remote_address + 64'(gone_q);
      send_headers_o.token_id      = job_i.token_id;
      send_headers_o.length        = job_i.has_data ? 32'(chunk) : job_i.length;
      send_headers_o.token_value   = job_i.token_value;
      send_headers_o.order         = {1'b0, job_i.order};
      send_headers_o.retry         = job_i.retry;
      send_headers_o.target_type   = 2'd1;  // A jetty.
      send_headers_o.target_id     = job_i.target;
      send_headers_o.block         = has_immediate ? {job_i.immediate, 192'd0} : {job_i.data, 128'd0};
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      gone_q  <= '0;
      tpmsn_q <= '0;
    end else if (goes) begin
      gone_q  <= is_last ? '0 : gone_q + 32'(Mtu);
      tpmsn_q <= tpmsn_q + 24'(is_last);
    end
  end
  logic unused;
  assign unused = &{1'b0, abouts, asks, route_i};
endmodule
