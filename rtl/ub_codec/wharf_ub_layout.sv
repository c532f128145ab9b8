// SPDX-License-Identifier: Apache-2.0
// What follows the header of a transaction of one opcode. Reference: ta_layout() of src/wire/ub_opcode.h.
module wharf_ub_layout (
  input  logic [7:0] opcode_i,
  output logic       known_o,
  output logic       response_o,     // ATAH instead of BTAH.
  output logic       address_o,      // MAETAH.
  output logic       target_o,       // MTETAH, whatever MT_EN says.
  output logic       operand_o,      // An operand of MAETAH.Length bytes,
  output logic       compare_o,      // and a second one.
  output logic       byte_enable_o,  // The data begins with a mask.
  output logic       payload_o,
  output logic [4:0] block_o         // Bytes of an immediate, notify, invalidate or message block.
);
  logic [12:0] row;
  assign {known_o, response_o, address_o, target_o, operand_o, compare_o, byte_enable_o, payload_o, block_o} = row;
  always_comb begin
    //                              KRATOCBP
    unique case (opcode_i)
      8'h00:   row = {8'b10010001, 5'd0};   // Send
      8'h01:   row = {8'b10010001, 5'd8};   // Send_imm
      8'h02:   row = {8'b10010001, 5'd8};   // Send_inv
      8'h03:   row = {8'b10100001, 5'd0};   // Write
      8'h04:   row = {8'b10110001, 5'd8};   // Write_imm
      8'h05:   row = {8'b10100001, 5'd24};  // Write_notify
      8'h06:   row = {8'b10100000, 5'd0};   // Read
      8'h07:   row = {8'b10101100, 5'd0};   // Atomic_compare_swap
      8'h08:   row = {8'b10101000, 5'd0};   // Atomic_swap
      8'h09:   row = {8'b10101000, 5'd0};   // Atomic_store
      8'h0a:   row = {8'b10100000, 5'd0};   // Atomic_load
      8'h0b:   row = {8'b10101000, 5'd0};   // Atomic_fetch_add
      8'h0c:   row = {8'b10101000, 5'd0};   // Atomic_fetch_sub
      8'h0d:   row = {8'b10101000, 5'd0};   // Atomic_fetch_and
      8'h0e:   row = {8'b10101000, 5'd0};   // Atomic_fetch_or
      8'h0f:   row = {8'b10101000, 5'd0};   // Atomic_fetch_xor
      8'h10:   row = {8'b10000001, 5'd4};   // Management
      8'h11:   row = {8'b11000000, 5'd0};   // TAACK
      8'h12:   row = {8'b11000001, 5'd0};   // Read_response
      8'h13:   row = {8'b11000001, 5'd0};   // Atomic_response
      8'h14:   row = {8'b10100011, 5'd0};   // Write_with_be
      8'h15:   row = {8'b10100000, 5'd0};   // Prefetch
      8'h16:   row = {8'b10000000, 5'd0};   // Disconnect_scid
      8'h17:   row = {8'b10100001, 5'd0};   // Writeback
      8'h18:   row = {8'b10100011, 5'd0};   // Writeback_with_be
      8'h40:   row = {8'b10100000, 5'd0};   // Load of OpenURMA, and its companions
      8'h41:   row = {8'b10100001, 5'd0};
      8'h42:   row = {8'b11000001, 5'd0};
      8'h43:   row = {8'b11000000, 5'd0};
      default: row = '0;
    endcase
  end
endmodule
