// SPDX-License-Identifier: Apache-2.0
// The headers of Unified Bus packets to and from bytes: profile P1 (RTPH or UTPH, 8-byte transaction headers), without
// entities. Reference: src/wire/ub_codec.h. Source: UB-Base 2.0.1, 6.2, 7.2, 7.3. Description: README.md.
module wharf_ub_codec #(
  parameter int unsigned LengthW = 14  // Bits of a packet's length in bytes, 8 to 16.
) (
  input  logic                   clk_i,
  input  logic                   rst_i,

  // Packets that came: the first 80 bytes from the transport header on, byte 0 highest.
  input  logic                   wire_valid_i,
  output logic                   wire_ready_o,
  input  logic [LengthW-1:0]     wire_length_i,   // Of the packet, data and pad included.
  input  logic [639:0]           wire_bytes_i,    // What lies beyond the length is not looked at.

  // Two cycles later: what they say.
  output logic                   read_valid_o,
  input  logic                   read_ready_i,
  output logic [3:0]             read_drop_o,     // wharf_pkg::Drop*; with one of them nothing else counts.
  output wharf_pkg::ub_headers_t read_headers_o,  // What is not there is zero.
  output logic [6:0]             read_start_o,    // Bytes before the data,
  output logic [LengthW-1:0]     read_payload_o,  // of the data,
  output logic [1:0]             read_pad_o,      // and after it.

  // Packets to be sent.
  input  logic                   send_valid_i,
  output logic                   send_ready_o,
  input  wharf_pkg::ub_headers_t send_headers_i,
  input  logic [LengthW-1:0]     send_payload_i,  // Bytes of the data.

  // A cycle later: their headers.
  output logic                   made_valid_o,
  input  logic                   made_ready_i,
  output logic [639:0]           made_bytes_o,    // Zero beyond
  output logic [6:0]             made_start_o,    // so many bytes.
  output logic [1:0]             made_pad_o
);
  if (LengthW < 8 || LengthW > 16) begin : gen_refuse
    $error("wharf_ub_codec: LengthW must be 8 to 16");
  end

  // ---------------------------------------------------------------- Reading, first cycle: the transport header

  logic [1:0]         tp_version, tp_pad;
  logic [3:0]         tp_next;
  logic               is_unreliable, is_data, is_ack, is_notice, has_echo, has_sack;
  assign tp_version    = wire_bytes_i[631:630];
  assign tp_pad        = wire_bytes_i[629:628];
  assign tp_next       = wire_bytes_i[627:624];
  assign is_unreliable = wire_bytes_i[638:632] == 7'd0;
  assign is_data       = wire_bytes_i[638:632] == 7'd1;
  assign is_ack        = wire_bytes_i[638:632] >= 7'd2 && wire_bytes_i[638:632] <= 7'd6;
  assign is_notice     = wire_bytes_i[638:632] == 7'd8;
  assign has_echo      = wire_bytes_i[638:632] == 7'd3 || wire_bytes_i[638:632] == 7'd6;
  assign has_sack      = wire_bytes_i[638:632] == 7'd5 || wire_bytes_i[638:632] == 7'd6;

  // What stands next, after each header that is there.
  logic [511:0]       at_echo, at_sack, at_rest;
  logic [6:0]         after_echo, after_fixed, after_sack;  // Bytes up to there.
  logic [5:0]         bitmap;                               // Bytes of it.
  logic               bad_sack, long_sack;
  assign at_echo   = wire_bytes_i[511:0];
  assign at_sack   = has_echo ? {at_echo[447:0], 64'd0} : at_echo;
  assign after_echo  = has_echo ? 7'd24 : 7'd16;
  assign after_fixed = has_echo ? 7'd28 : 7'd20;
  assign bad_sack  = at_sack[511:504] > 8'd4;
  assign long_sack = at_sack[506:504] > 3'd2;
  assign bitmap    = 6'd8 << at_sack[505:504];
  always_comb begin
    at_rest = at_sack;
    if (has_sack) begin
      unique case (at_sack[505:504])
        2'd0:    at_rest = {at_sack[415:0], 96'd0};
        2'd1:    at_rest = {at_sack[351:0], 160'd0};
        default: at_rest = {at_sack[223:0], 288'd0};
      endcase
    end
  end
  assign after_sack = has_sack ? after_fixed + 7'(bitmap) : after_echo;

  logic [3:0] drop_tp;
  always_comb begin
    drop_tp = wharf_pkg::DropNone;
    if (wire_length_i < LengthW'(16)) drop_tp = wharf_pkg::DropTruncated;
    else if (tp_version != '0) drop_tp = wharf_pkg::DropBadTransportVersion;
    else if (!is_unreliable && !is_data && !is_ack && !is_notice) drop_tp = wharf_pkg::DropUnknownTransport;
    else if (has_echo && wire_length_i < LengthW'(24)) drop_tp = wharf_pkg::DropTruncated;
    else if (has_sack && wire_length_i < LengthW'(after_fixed)) drop_tp = wharf_pkg::DropTruncated;
    else if (has_sack && bad_sack) drop_tp = wharf_pkg::DropBadSackSize;
    else if (has_sack && long_sack) drop_tp = wharf_pkg::DropNotHere;
    else if (has_sack && wire_length_i < LengthW'(after_sack)) drop_tp = wharf_pkg::DropTruncated;
    else if (tp_next == 4'd1) drop_tp = wharf_pkg::DropNotHere;
    else if (tp_next != 4'd0) drop_tp = wharf_pkg::DropUnknownNextHeader;
    else if (is_notice) begin
      if (tp_pad != '0) drop_tp = wharf_pkg::DropBadPadding;
      else if (wire_length_i < LengthW'(32)) drop_tp = wharf_pkg::DropTruncated;
      else if (wire_length_i != LengthW'(32)) drop_tp = wharf_pkg::DropBadPayloadLength;
    end
  end

  logic [255:0] bitmap_mask;
  for (genvar i = 0; i < 8; i++) begin : gen_mask
    assign bitmap_mask[255-32*i -: 32] = {32{bitmap > 6'(4 * i)}};
  end

  wharf_pkg::ub_headers_t heard;
  always_comb begin
    heard           = '0;
    heard.last      = wire_bytes_i[639];
    heard.tp_opcode = wire_bytes_i[638:632];
    if (!is_unreliable) begin
      heard.source_tpn          = wire_bytes_i[623:600];
      heard.destination_tpn     = wire_bytes_i[599:576];
      heard.acknowledge_request = wire_bytes_i[575];
      heard.flag                = wire_bytes_i[574];
      heard.psn                 = wire_bytes_i[567:544];
      heard.tp_status           = wire_bytes_i[543:541];
      heard.tp_info             = wire_bytes_i[540:536];
      heard.tpmsn               = wire_bytes_i[535:512];
    end
    if (has_echo) begin
      heard.acknowledged_bytes = at_echo[511:480];
      heard.echo_location      = at_echo[473];
      heard.echo_increase      = at_echo[472];
      heard.echo_packets       = at_echo[471:464];
      heard.echo_hint          = at_echo[463:448];
    end
    if (has_sack) begin
      heard.sack_size    = at_sack[506:504];
      heard.max_received = at_sack[503:480];
      heard.sack_bitmap  = at_sack[479:224] & bitmap_mask;
    end
    if (is_notice) begin
      heard.notice_ecn      = at_echo[511:510];
      heard.notice_location = at_echo[509];
    end
  end

  logic                   read_load, mid_load, mid_q, ack_q, notice_q;
  logic [3:0]             drop_q;
  logic [1:0]             pad_q;
  logic [LengthW-1:0]     length_q;
  logic [6:0]             after_sack_q;
  logic [511:0]           at_transaction;  // A register, too.
  wharf_pkg::ub_headers_t seen_q;
  assign mid_load     = !mid_q || read_load;
  assign wire_ready_o = mid_load;
  always_ff @(posedge clk_i) begin
    if (rst_i) mid_q <= 1'b0;
    else if (mid_load) mid_q <= wire_valid_i;
    if (mid_load) begin
      ack_q          <= is_ack;
      notice_q       <= is_notice;
      drop_q         <= drop_tp;
      pad_q          <= tp_pad;
      length_q       <= wire_length_i;
      after_sack_q   <= after_sack;
      at_transaction <= at_rest;
      seen_q         <= heard;
    end
  end

  // ---------------------------------------------------------------- Reading, second cycle: the transaction

  logic [511:0] at_address, at_token, at_target, at_block;
  logic [6:0]   after_extension, after_block;
  logic       known, is_response, has_address, names_target, has_operand, has_compare, has_mask, has_payload;
  logic [4:0] fixed_block;
  wharf_ub_layout layout (
    .opcode_i(at_transaction[511:504]),
    .known_o(known),
    .response_o(is_response),
    .address_o(has_address),
    .target_o(names_target),
    .operand_o(has_operand),
    .compare_o(has_compare),
    .byte_enable_o(has_mask),
    .payload_o(has_payload),
    .block_o(fixed_block)
  );

  logic response_follows, takes_payload, has_token, has_target, bad_width;
  assign response_follows = length_q >= LengthW'(after_sack_q) + LengthW'(8) && is_response;
  assign has_token        = known && !is_response && at_transaction[499];
  assign has_target       = known && !is_response && (names_target || at_transaction[475]);
  assign takes_payload    = !known || (has_payload && !ack_q);

  assign at_address = {at_transaction[447:0], 64'd0};
  assign at_token   = has_address ? {at_address[383:0], 128'd0} : at_address;
  assign at_target  = has_token ? {at_token[479:0], 32'd0} : at_token;
  assign at_block   = has_target ? {at_target[479:0], 32'd0} : at_target;

  logic [4:0]         extension;
  logic [5:0]         block;  // Bytes of it.
  logic [LengthW-1:0] left_data;
  assign extension       = {has_address, 4'd0} + {2'd0, has_token, 2'd0} + {2'd0, has_target, 2'd0};
  assign bad_width       = at_address[415:384] != 32'd4 && at_address[415:384] != 32'd8 && at_address[415:384] != 32'd16;
  assign block           = has_operand ? {1'b0, at_address[388:384]} << has_compare : {1'b0, fixed_block};
  assign after_extension = after_sack_q + 7'd8 + (is_response ? 7'd0 : 7'(extension));
  assign after_block     = after_extension + (is_response ? 7'd0 : 7'(block));
  assign left_data       = length_q - LengthW'(after_block);

  // Data of a Write_with_be and its mask, one bit a byte in words.
  logic [32:0] masked;
  assign masked = 33'(at_address[415:384]) + ((33'(at_address[415:384]) + 33'd31) >> 5 << 2);

  logic [3:0]         drop;
  logic               has_transaction;
  logic [LengthW-1:0] payload;
  assign has_transaction = !notice_q && (!ack_q || response_follows);
  assign payload         = left_data - LengthW'(pad_q);
  always_comb begin
    drop = wharf_pkg::DropNone;
    if (drop_q != wharf_pkg::DropNone || notice_q) begin
      drop = drop_q;
    end else if (!has_transaction) begin
      if (pad_q != '0) drop = wharf_pkg::DropBadPadding;
      else if (length_q != LengthW'(after_sack_q)) drop = wharf_pkg::DropBadPayloadLength;
    end else if (length_q < LengthW'(after_sack_q) + LengthW'(8)) drop = wharf_pkg::DropTruncated;
    else if (at_transaction[503:502] != '0) drop = wharf_pkg::DropBadTransportVersion;
    else if (at_transaction[469:468] == 2'd3) drop = wharf_pkg::DropBadRequesterType;
    else if (!is_response && at_transaction[496]) drop = wharf_pkg::DropUnsupportedHeader;
    else if (!is_response && length_q < LengthW'(after_extension)) drop = wharf_pkg::DropTruncated;
    else if (has_operand && bad_width) drop = wharf_pkg::DropBadPayloadLength;
    else if (!is_response && length_q < LengthW'(after_block)) drop = wharf_pkg::DropTruncated;
    else if (!takes_payload) begin
      if (pad_q != '0) drop = wharf_pkg::DropBadPadding;
      else if (length_q != LengthW'(after_block)) drop = wharf_pkg::DropBadPayloadLength;
    end else if (LengthW'(pad_q) > left_data || left_data[1:0] != '0) drop = wharf_pkg::DropBadPadding;
    else if (has_mask && 33'(payload) != masked) drop = wharf_pkg::DropBadPayloadLength;
  end

  // The bytes of a block that count: its reserved bits do not.
  logic [255:0] block_mask;
  always_comb begin
    for (int unsigned i = 0; i < 8; i++) block_mask[255-32*i -: 32] = {32{block > 6'(4 * i)}};
    unique case (at_transaction[511:504])
      8'h02:   block_mask[255:224] = 32'h0fff_ff00;
      8'h05:   block_mask[191:160] = 32'h0fff_ff00;
      8'h10:   block_mask[239:236] = 4'h0;
      default: ;
    endcase
  end

  wharf_pkg::ub_headers_t seen;
  always_comb begin
    seen = seen_q;
    if (has_transaction) begin
      seen.kind           = is_response ? wharf_pkg::UbResponse : wharf_pkg::UbRequest;
      seen.opcode         = at_transaction[511:504];
      seen.poison         = at_transaction[498];
      seen.tassn          = at_transaction[495:480];
      seen.requester_type = at_transaction[469:468];
      seen.requester_id   = at_transaction[467:448];
      if (is_response) begin
        seen.sequence_valid = at_transaction[499];
        seen.status         = at_transaction[479:477];
        seen.info           = at_transaction[476:472];
      end else begin
        seen.environment    = at_transaction[501:500];
        seen.token_present  = at_transaction[499];
        seen.target_hint    = at_transaction[497];
        seen.no_acknowledge = at_transaction[479];
        seen.order          = at_transaction[478:476];
        seen.target_present = at_transaction[475];
        seen.solicited      = at_transaction[474];
        seen.retry          = at_transaction[473];
        seen.allocate       = at_transaction[472];
        seen.exclusive      = at_transaction[470];
        if (has_address) begin
          seen.address  = at_address[511:448];
          seen.token_id = at_address[443:424];
          seen.length   = at_address[415:384];
        end
        if (has_token) seen.token_value = at_token[511:480];
        if (has_target) begin
          seen.target_group_hint = at_target[511:504];
          seen.target_type       = at_target[503:502];
          seen.target_id         = at_target[499:480];
        end
        seen.block = at_block[511:256] & block_mask;
      end
    end
  end

  assign read_load = !read_valid_o || read_ready_i;
  always_ff @(posedge clk_i) begin
    if (rst_i) read_valid_o <= 1'b0;
    else if (read_load) read_valid_o <= mid_q;
    if (read_load) begin
      read_drop_o    <= drop;
      read_headers_o <= seen;
      read_pad_o     <= pad_q;
      read_payload_o <= has_transaction && takes_payload ? payload : '0;
      read_start_o   <= notice_q ? 7'd32 : (has_transaction ? after_block : after_sack_q);
    end
  end

  // ---------------------------------------------------------------- Writing, from the last header to the first

  logic       w_known, w_response, w_address, w_names_target, w_operand, w_compare, w_mask, w_payload;
  logic [4:0] w_fixed;
  wharf_ub_layout send_layout (
    .opcode_i(send_headers_i.opcode),
    .known_o(w_known),
    .response_o(w_response),
    .address_o(w_address),
    .target_o(w_names_target),
    .operand_o(w_operand),
    .compare_o(w_compare),
    .byte_enable_o(w_mask),
    .payload_o(w_payload),
    .block_o(w_fixed)
  );
  // Reserved bits, and what the sender of data knows by itself.
  logic unused;
  assign unused = &{wire_bytes_i[573:568], at_transaction[471], at_block[255:0], from_address[63:0],
                    send_payload_i[LengthW-1:2], w_mask, w_payload, w_response};

  logic w_request, w_token, w_target, w_unreliable, w_echo, w_sack, w_notice;
  assign w_request    = send_headers_i.kind == wharf_pkg::UbRequest && w_known;
  assign w_token      = w_request && send_headers_i.token_present;
  assign w_target     = w_request && (w_names_target || send_headers_i.target_present);
  assign w_unreliable = send_headers_i.tp_opcode == 7'd0;
  assign w_echo       = send_headers_i.tp_opcode == 7'd3 || send_headers_i.tp_opcode == 7'd6;
  assign w_sack       = send_headers_i.tp_opcode == 7'd5 || send_headers_i.tp_opcode == 7'd6;
  assign w_notice     = send_headers_i.tp_opcode == 7'd8;

  logic [1:0]   pad;
  logic [5:0]   w_block, w_bitmap;
  logic [511:0] from_block, from_target, from_token, from_address, from_transaction, from_sack, from_echo, after_tp;
  assign pad      = 2'd0 - send_payload_i[1:0];
  assign w_block  = w_operand ? {1'b0, send_headers_i.length[4:0]} << w_compare : {1'b0, w_fixed};
  assign w_bitmap = 6'd8 << send_headers_i.sack_size[1:0];

  logic [255:0] w_block_mask;
  for (genvar i = 0; i < 8; i++) begin : gen_block
    assign w_block_mask[255-32*i -: 32] = {32{w_block > 6'(4 * i)}};
  end

  logic [63:0] btah, atah;
  assign btah = {send_headers_i.opcode, 2'd0, send_headers_i.environment, send_headers_i.token_present,
                 send_headers_i.poison, send_headers_i.target_hint, 1'b0, send_headers_i.tassn,
                 send_headers_i.no_acknowledge, send_headers_i.order, send_headers_i.target_present,
                 send_headers_i.solicited, send_headers_i.retry, send_headers_i.allocate, 1'b0,
                 send_headers_i.exclusive, send_headers_i.requester_type, send_headers_i.requester_id};
  assign atah = {send_headers_i.opcode, 4'd0, send_headers_i.sequence_valid, send_headers_i.poison, 2'd0,
                 send_headers_i.tassn, send_headers_i.status, send_headers_i.info, 2'd0,
                 send_headers_i.requester_type, send_headers_i.requester_id};

  assign from_block   = w_request ? {send_headers_i.block & w_block_mask, 256'd0} : '0;
  assign from_target  = w_target ? {send_headers_i.target_group_hint, send_headers_i.target_type, 2'd0,
                                    send_headers_i.target_id, from_block[511:32]} : from_block;
  assign from_token   = w_token ? {send_headers_i.token_value, from_target[511:32]} : from_target;
  assign from_address = w_request && w_address ? {send_headers_i.address, 4'd0, send_headers_i.token_id, 8'd0,
                                                  send_headers_i.length, from_token[511:128]} : from_token;
  always_comb begin
    from_transaction = '0;
    if (send_headers_i.kind == wharf_pkg::UbRequest) from_transaction = {btah, from_address[511:64]};
    else if (send_headers_i.kind == wharf_pkg::UbResponse) from_transaction = {atah, 448'd0};
  end
  always_comb begin
    from_sack = from_transaction;
    if (w_sack) begin
      unique case (send_headers_i.sack_size[1:0])
        2'd0:    from_sack = {5'd0, send_headers_i.sack_size, send_headers_i.max_received, send_headers_i.sack_bitmap[255:192],
                              from_transaction[511:96]};
        2'd1:    from_sack = {5'd0, send_headers_i.sack_size, send_headers_i.max_received, send_headers_i.sack_bitmap[255:128],
                              from_transaction[511:160]};
        default: from_sack = {5'd0, send_headers_i.sack_size, send_headers_i.max_received, send_headers_i.sack_bitmap,
                              from_transaction[511:288]};
      endcase
    end
  end
  assign from_echo = w_echo ? {send_headers_i.acknowledged_bytes, 6'd0, send_headers_i.echo_location,
                               send_headers_i.echo_increase, send_headers_i.echo_packets,
                               send_headers_i.echo_hint, from_sack[511:64]} : from_sack;
  assign after_tp  = w_notice ? {send_headers_i.notice_ecn, send_headers_i.notice_location, 509'd0} : from_echo;

  logic [127:0] tph;
  always_comb begin
    tph = {send_headers_i.last, send_headers_i.tp_opcode, 2'd0, pad, 4'd0, send_headers_i.source_tpn,
           send_headers_i.destination_tpn, send_headers_i.acknowledge_request, send_headers_i.flag, 6'd0,
           send_headers_i.psn, send_headers_i.tp_status, send_headers_i.tp_info, send_headers_i.tpmsn};
    if (w_unreliable) tph[111:0] = '0;
  end

  logic [6:0] start;
  always_comb begin
    start = 7'd16 + (w_echo ? 7'd8 : 7'd0) + (w_sack ? 7'(w_bitmap) + 7'd4 : 7'd0);
    if (w_notice) begin
      start = 7'd32;
    end else if (send_headers_i.kind != wharf_pkg::UbNone) begin
      start = start + 7'd8 + (w_request && w_address ? 7'd16 : 7'd0) + (w_token ? 7'd4 : 7'd0) +
              (w_target ? 7'd4 : 7'd0) + (w_request ? 7'(w_block) : 7'd0);
    end
  end

  logic made_load;
  assign made_load    = !made_valid_o || made_ready_i;
  assign send_ready_o = made_load;
  always_ff @(posedge clk_i) begin
    if (rst_i) made_valid_o <= 1'b0;
    else if (made_load) made_valid_o <= send_valid_i;
    if (made_load) begin
      made_bytes_o <= {tph, after_tp};
      made_start_o <= start;
      made_pad_o   <= pad;
    end
  end
endmodule
