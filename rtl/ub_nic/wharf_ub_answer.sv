// SPDX-License-Identifier: Apache-2.0
// What a packet of a response says of the request that it answers. No state. Reference: Initiator::receive(),
// step_response() and answer() of src/engine/ub/initiator_responses.cc. Description: README.md.
module wharf_ub_answer #(
  parameter int unsigned LengthW           = 11,
  parameter int unsigned NotReadyAttempts  = 7,   // As of wharf_ub_receiver.
  parameter int unsigned PageFaultAttempts = 16
) (
  input  wharf_pkg::ub_headers_t      packet_i,
  input  logic [LengthW-1:0]          length_i,   // Of its data.
  input  wharf_pkg::nic_transaction_t found_i,    // The request, with what has come before.
  output wharf_pkg::nic_transaction_t found_o,    // And with this packet.
  output logic                        fits_o,     // Its kind is one that the request wants.
  output logic                        wants_o,    // Its data goes to memory.
  output logic                        repeats_o,  // The request is to be asked again.
  output logic [7:0]                  outcome_o   // How it ends, if it does.
);
  logic [31:0] got;      // Bytes of a Read with this packet.
  logic        is_reading, is_well, is_good, is_too_long, may_repeat;
  logic [7:0]  ended;    // How it ends by what the peer says.
  wharf_pkg::nic_request_t asked;
  assign asked      = found_i.request;
  assign is_reading = asked.operation == wharf_pkg::OperationRead;
  assign is_well    = packet_i.status == wharf_pkg::StatusSuccess;
  assign is_good    = is_well && !packet_i.poison;
  // Any request may be refused by an acknowledgement; another response of the wrong kind answers nothing.
  always_comb begin
    if (packet_i.opcode == wharf_pkg::TaAcknowledge) fits_o = !is_well || asked.operation < wharf_pkg::OperationRead;
    else if (packet_i.opcode == wharf_pkg::TaReadResponse) fits_o = is_reading;
    else fits_o = packet_i.opcode == wharf_pkg::TaAtomicResponse && asked.operation >= wharf_pkg::OperationCompareSwap;
  end
  assign got         = found_i.got + 32'(length_i);
  assign is_too_long = got > asked.length;

  // The peer's first answer that was not good, this one included.
  logic [2:0] status;
  logic [4:0] status_info;
  assign {status, status_info} = found_i.status == wharf_pkg::StatusSuccess && !is_good ? {packet_i.status, packet_i.info}
                                                                                      : {found_i.status, found_i.info};
  always_comb begin
    // It could not, this time.
    may_repeat = (status == wharf_pkg::StatusNotReady &&
                  (NotReadyAttempts == 7 || 32'(found_i.not_ready) < NotReadyAttempts)) ||
                 (status == wharf_pkg::StatusPageFault && 32'(found_i.page_faults) < PageFaultAttempts);
    unique case (status)
      wharf_pkg::StatusSuccess:   ended = wharf_pkg::CompletionSuccess;
      wharf_pkg::StatusNotReady:  ended = wharf_pkg::CompletionNotReady;
      wharf_pkg::StatusPageFault: ended = wharf_pkg::CompletionRemoteAccess;
      wharf_pkg::StatusError: unique case (status_info)
        wharf_pkg::InfoUnsupportedOpcode: ended = wharf_pkg::CompletionUnsupported;
        wharf_pkg::InfoAccess:            ended = wharf_pkg::CompletionRemoteAccess;
        wharf_pkg::InfoPoison:            ended = wharf_pkg::CompletionRemotePoison;
        default:                          ended = wharf_pkg::CompletionRemoteError;
      endcase
      default: ended = wharf_pkg::CompletionRemoteError;
    endcase
  end

  // What is wrong with it besides. An operand counts while the request may still end well.
  logic [1:0] wrong;
  logic       is_short, is_operand;
  assign is_short   = packet_i.last && status == wharf_pkg::StatusSuccess && is_reading && got != asked.length;
  assign is_operand = packet_i.opcode == wharf_pkg::TaAtomicResponse && is_well &&
                      (!packet_i.last || status == wharf_pkg::StatusSuccess || may_repeat);
  always_comb begin
    wrong = found_i.wrong;
    if (found_i.wrong == wharf_pkg::WrongNothing) begin
      if (is_well && packet_i.poison) wrong = wharf_pkg::WrongPoison;
      else if (is_good && is_reading && (is_too_long || is_short)) wrong = wharf_pkg::WrongLength;
      else if (is_operand && length_i != LengthW'(8)) wrong = wharf_pkg::WrongLength;
    end
  end
  always_comb begin
    unique case (wrong)
      wharf_pkg::WrongNothing: outcome_o = ended;
      wharf_pkg::WrongPoison:  outcome_o = wharf_pkg::CompletionRemotePoison;
      default:                 outcome_o = wharf_pkg::CompletionResponseLength;
    endcase
  end
  assign repeats_o = packet_i.last && wrong == wharf_pkg::WrongNothing && may_repeat;
  assign wants_o = is_good && packet_i.opcode != wharf_pkg::TaAcknowledge && wrong == wharf_pkg::WrongNothing && length_i != '0 &&
                   (!packet_i.last || status == wharf_pkg::StatusSuccess || may_repeat);

  always_comb begin
    found_o        = found_i;
    found_o.wrong  = wrong;
    found_o.status = status;
    found_o.info   = status_info;
    // What is too long is not counted, as it is not placed.
    if (is_good && packet_i.opcode == wharf_pkg::TaReadResponse && !is_too_long) found_o.got = got;
  end
  logic unused;
  assign unused = &{1'b0, packet_i, asked};
endmodule
