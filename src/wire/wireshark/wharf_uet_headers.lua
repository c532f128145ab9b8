-- SPDX-License-Identifier: Apache-2.0
-- The headers of Ultra Ethernet as lists of fields. [UE 1.0 3.4, 3.5.10, 3.7]
-- uet.lua loads it; Wireshark does too, to no effect.
local names, uet = ...
if not uet then return end
local H = {}

local YES_NO = {"yes", "no"}

-- Packet delivery sublayer [3.5.10] --------------------------------------------------------------------------------

-- Flags that a type has, and what it is.
local function type_of(reader) return reader:bits(0, 5) end
local function rules_of(reader) return names.pds_rules[type_of(reader)] end
local function has_flag(mask)
  return function(reader) return math.floor(rules_of(reader).flags / mask) % 2 == 1 end
end
local function both(first, second)
  return function(reader) return first(reader) and second(reader) end
end
local function is_ack(reader) return rules_of(reader).kind == "ack" end
local function is_nack(reader) return rules_of(reader).kind == "nack" end
local function is_control(reader) return rules_of(reader).kind == "control" end
local function is_request(reader) return not (is_ack(reader) or is_nack(reader)) end
local function no(condition)
  return function(reader) return not condition(reader) end
end
local function has_syn(reader) return has_flag(0x04)(reader) and is_request(reader) and reader:bits(13, 1) == 1 end

local function pds(length, rows)
  local all = {
    {"type", "type", 0, 1, "dec", mask = 0xf8, names = names.pds_type},
    {"control", "control type", 0, 2, "dec", mask = 0x0780, names = names.control, when = is_control},
    {"next", "next header", 0, 2, "dec", mask = 0x0780, names = names.next_header, when = no(is_control)},
    {"isrod", "ordered PDC (ISROD)", 1, 1, "flag", mask = 0x20, names = YES_NO,
     when = both(has_flag(0x20), is_control)},
    {"marked", "ECN marked (M)", 1, 1, "flag", mask = 0x20, names = YES_NO,
     when = both(has_flag(0x20), no(is_control))},
    {"retx", "retransmitted (RETX)", 1, 1, "flag", mask = 0x10, names = YES_NO, when = has_flag(0x10)},
    {"probe_answer", "answers a probe (P)", 1, 1, "flag", mask = 0x08, names = YES_NO,
     when = both(has_flag(0x08), is_ack)},
    {"nt", "names a RUDI packet (NT)", 1, 1, "flag", mask = 0x08, names = YES_NO,
     when = both(has_flag(0x08), is_nack)},
    {"ar", "acknowledge request (AR)", 1, 1, "flag", mask = 0x08, names = YES_NO,
     when = both(has_flag(0x08), is_request)},
    {"req", "target asks for (REQ)", 1, 1, "dec", mask = 0x06, names = names.ack_request, when = is_ack},
    {"syn", "opens a PDC (SYN)", 1, 1, "flag", mask = 0x04, names = YES_NO,
     when = both(has_flag(0x04), is_request)},
  }
  for _, row in ipairs(rows) do table.insert(all, row) end
  return uet.header("pds", "PDS", length, all)
end

-- A sequence number moved by a signed offset, modulo 2^32.
local function moved(psn, offset) return string.format("%.0f", (psn + offset) % 2 ^ 32) end
local function psn_of(reader) return reader.tvb(reader.start + 4, 4):uint() end

local function pdcid_rows(rest)
  local rows = {
    {"spdcid", "source PDCID", 8, 2, "hex"},
    {"dpdcid", "destination PDCID", 10, 2, "hex", when = no(has_syn)},
    {"pdc_info", "PDC info", 10, 1, "hex", mask = 0xf0, when = has_syn},
    {"psn_offset", "PSN offset", 10, 2, "dec", mask = 0x0fff, when = has_syn},
  }
  for _, row in ipairs(rest) do table.insert(rows, row) end
  return rows
end
local function request_rows(rest)
  local rows = {
    {"clear_psn_offset", "clear PSN offset", 2, 2, "signed",
     note = function(range, reader) return "(CLEAR_PSN " .. moved(psn_of(reader), range:int()) .. ")" end},
    {"psn", "PSN", 4, 4, "dec"},
  }
  for _, row in ipairs(pdcid_rows(rest)) do table.insert(rows, row) end
  return rows
end

local function answers_probe(reader) return reader:bits(12, 1) == 1 end
local function ack_rows(rest)
  local rows = {
    {"probe_opaque", "probe opaque", 2, 2, "hex", when = answers_probe},
    {"ack_psn_offset", "ACK PSN offset", 2, 2, "signed", when = no(answers_probe),
     note = function(range, reader) return "(ACK_PSN " .. moved(psn_of(reader), range:int()) .. ")" end},
    {"cack_psn", "CACK PSN", 4, 4, "dec"},
  }
  for _, row in ipairs(pdcid_rows(rest)) do table.insert(rows, row) end
  return rows
end

-- Congestion state of ACK_CC and ACK_CCX [3.6.13, 3.6.14].
local function cc_type_is(wanted)
  return function(reader) return reader:bits(96, 4) == wanted end
end
local function other_cc_type(reader) return reader:bits(96, 4) > 1 end
local function times_256() return "x 256" end
local function cc_rows(rest)
  local rows = {
    {"cc_type", "CC type", 12, 1, "dec", mask = 0xf0, names = names.cc_type},
    {"cc_flags", "CC flags", 12, 1, "hex", mask = 0x0f},
    {"mpr", "maximum PSN range", 13, 1, "dec",
     note = function(range) return string.format("(%d PSNs)", 128 * range:uint()) end},
    {"sack_psn_offset", "SACK PSN offset", 14, 2, "signed",
     note = function(range, reader) return "(base " .. moved(psn_of(reader), range:int()) .. ")" end},
    {"sack_bitmap", "SACK bitmap", 16, 8, "hex"},
    {"nscc.service_time", "service time", 24, 2, "dec", when = cc_type_is(0),
     note = function(range) return string.format("(%d ns)", 128 * range:uint()) end},
    {"nscc.restore_cwnd", "restore window", 26, 1, "flag", mask = 0x80, names = YES_NO, when = cc_type_is(0)},
    {"nscc.rcv_cwnd_pend", "receiver penalty", 26, 1, "dec", mask = 0x7f, when = cc_type_is(0)},
    {"nscc.rcvd_bytes", "received bytes", 27, 3, "dec", when = cc_type_is(0), note = times_256},
    {"credit", "credit", 24, 3, "dec", when = cc_type_is(1), note = times_256},
    {"ooo_count", "out of order", 30, 2, "dec", when = no(other_cc_type)},
    {"cc_state", "CC state", 24, 8, "hex", when = other_cc_type},
  }
  for _, row in ipairs(rest) do table.insert(rows, row) end
  return ack_rows(rows)
end

local function names_rudi(reader) return reader:bits(12, 1) == 1 end
local function new_start(reader) return reader:bits(16, 8) == 0x17 end
-- 60 bits.
local function nccx_state(range)
  return UInt64(range(4, 4):uint(), range(0, 4):bitfield(4, 28))
end
local function nack_rows(rest)
  local rows = {
    {"nack_code", "NACK code", 2, 1, "hex", names = names.nack},
    {"vendor_code", "vendor code", 3, 1, "dec"},
    {"nack_pkt_id", "packet id", 4, 4, "dec", when = names_rudi},
    {"nack_psn", "NACK PSN", 4, 4, "dec", when = no(names_rudi)},
  }
  local tail = {
    {"new_start_psn", "new start PSN", 12, 4, "dec", when = new_start},
    {"payload", "payload", 12, 4, "dec", when = no(new_start)},
  }
  for _, row in ipairs(rest) do table.insert(tail, row) end
  for _, row in ipairs(pdcid_rows(tail)) do table.insert(rows, row) end
  return rows
end

local ccx = {{"cc_state_extension", "CC state extension", 32, 8, "hex"}}
local cc_request = {
  {"ccc_id", "CCC id", 12, 1, "dec"},
  {"credit_target", "credit target", 13, 3, "dec"},
}
local rudi = {{"pkt_id", "packet id", 4, 4, "dec"}}
H.PDS = {
  [2] = pds(12, request_rows({})),
  [4] = pds(8, rudi),
  [6] = pds(4, {}),
  [7] = pds(12, ack_rows({})),
  [8] = pds(32, cc_rows({})),
  [9] = pds(40, cc_rows(ccx)),
  [10] = pds(16, nack_rows({})),
  [11] = pds(16, {
    {"probe_opaque", "probe opaque", 2, 2, "hex"},
    {"psn", "PSN", 4, 4, "dec"},
    {"spdcid", "source PDCID", 8, 2, "hex"},
    {"dpdcid", "destination PDCID", 10, 2, "hex", when = no(has_syn)},
    {"pdc_info", "PDC info", 10, 1, "hex", mask = 0xf0, when = has_syn},
    {"psn_offset", "PSN offset", 10, 2, "dec", mask = 0x0fff, when = has_syn},
    {"payload", "payload", 12, 4, "dec"},
  }),
  [12] = pds(32, nack_rows({
    {"nccx_type", "NCCX type", 16, 1, "dec", mask = 0xf0},
    {"nccx_state", "CC state", 16, 8, "hex", value = nccx_state},
    {"nccx_state_extension", "CC state extension", 24, 8, "hex"},
  })),
  [13] = pds(16, request_rows(cc_request)),
}
H.PDS[3], H.PDS[5], H.PDS[14] = H.PDS[2], H.PDS[4], H.PDS[13]

-- Transport security sublayer [3.7] --------------------------------------------------------------------------------

local function tss(length, rows)
  local all = {
    {"sp", "source identifier present (SP)", 0, 1, "flag", mask = 0x04, names = YES_NO},
    {"an", "association number (AN)", 0, 1, "flag", mask = 0x01},
    {"sdi", "secure domain (SDI)", 1, 3, "dec"},
  }
  for _, row in ipairs(rows) do table.insert(all, row) end
  table.insert(all, {"epoch", "epoch", length - 8, 2, "dec"})
  table.insert(all, {"tsc", "packet counter (TSC)", length - 6, 6, "dec"})
  return uet.header("tss", "TSS", length, all)
end
H.TSS = tss(12, {})
H.TSS_SOURCE = tss(16, {{"ssi", "source identifier (SSI)", 4, 4, "hex"}})

-- Semantic sublayer [3.4] ------------------------------------------------------------------------------------------

local function opcode_is(...)
  local wanted = {...}
  return function(reader)
    local opcode = reader:bits(2, 6)
    for _, each in ipairs(wanted) do if each == opcode then return true end end
    return false
  end
end
local has_tokens = opcode_is(0x08, 0x0b)
local restarts = opcode_is(0x0c)
local function is_first(reader) return reader:bits(15, 1) == 1 end
local function has_header_data(reader) return reader:bits(13, 1) == 1 end

local function ses(title_rows, length)
  return uet.header("ses", "SES", length, title_rows)
end
local function request_start(second, rest)
  local rows = {
    {"opcode", "opcode", 0, 1, "hex", mask = 0x3f, names = names.opcode},
    {"version", "version", 1, 1, "dec", mask = 0xc0},
    {"dc", "deliver complete (DC)", 1, 1, "flag", mask = 0x20, names = YES_NO},
    {"ie", "initiator error (IE)", 1, 1, "flag", mask = 0x10, names = YES_NO},
    {"rel", "relative (REL)", 1, 1, "flag", mask = 0x08, names = YES_NO},
    {"hd", "header data valid (HD)", 1, 1, "flag", mask = 0x04, names = YES_NO},
    {"eom", "end of message (EOM)", 1, 1, "flag", mask = 0x02, names = YES_NO},
    {"som", "start of message (SOM)", 1, 1, "flag", mask = 0x01, names = YES_NO},
    second,
    {"ri_generation", "RI generation", 4, 1, "dec"},
    {"job_id", "job id", 5, 3, "dec"},
    {"pid_on_fep", "PID on FEP", 8, 2, "dec", mask = 0x0fff},
    {"resource_index", "resource index", 10, 2, "hex", mask = 0x0fff},
  }
  for _, row in ipairs(rest) do table.insert(rows, row) end
  return rows
end
local function offset_rows(with_header_data)
  local hidden = with_header_data and has_header_data or function() return false end
  local rows = {
    {"initiator_token", "initiator restart token", 12, 4, "hex", when = both(has_tokens, no(hidden))},
    {"target_token", "target restart token", 16, 4, "hex", when = both(has_tokens, no(hidden))},
    {"buffer_offset", "buffer offset", 12, 8, "hex", when = both(no(has_tokens), no(hidden))},
  }
  if with_header_data then
    table.insert(rows, 1, {"header_data", "header data", 12, 8, "hex", when = has_header_data})
  end
  return rows
end
local key_rows = {
  {"initiator", "initiator", 20, 4, "dec"},
  {"initiator_token", "initiator restart token", 24, 4, "hex", when = restarts},
  {"target_token", "target restart token", 28, 4, "hex", when = restarts},
  {"memory_key", "memory key or match bits", 24, 8, "hex", when = no(restarts)},
}
local function joined(...)
  local rows = {}
  for _, part in ipairs({...}) do for _, row in ipairs(part) do table.insert(rows, row) end end
  return rows
end
local message_id = {"message_id", "message id", 2, 2, "dec"}
local short_length = {"request_length", "request length", 2, 2, "dec", mask = 0x3fff}
H.REQUEST = {
  [1] = ses(request_start(short_length, offset_rows(false)), 20),
  [2] = ses(request_start(short_length, joined(offset_rows(true), key_rows)), 32),
  [3] = ses(request_start(message_id, joined(offset_rows(false), key_rows, {
    {"header_data", "header data", 32, 8, "hex", when = is_first},
    {"payload_length", "payload length", 34, 2, "dec", mask = 0x3fff, when = no(is_first)},
    {"message_offset", "message offset", 36, 4, "dec", when = no(is_first)},
    {"request_length", "request length", 40, 4, "dec"},
  })), 44),
}
H.RENDEZVOUS = uet.header("ses.rendezvous", "SES rendezvous", 24, {
  {"eager_length", "eager length", 0, 4, "dec"},
  {"ri_generation", "RI generation", 4, 1, "dec"},
  {"pid_on_fep", "PID on FEP", 5, 2, "dec", mask = 0xfff0},
  {"resource_index", "resource index", 6, 2, "hex", mask = 0x0fff},
  {"read_offset", "read offset", 8, 8, "hex"},
  {"memory_key", "memory key", 16, 8, "hex"},
})
local function atomic(length, rest)
  return uet.header("ses.atomic", "SES atomic", length, joined({
    {"opcode", "operation", 0, 1, "hex", names = names.atomic},
    {"datatype", "datatype", 1, 1, "hex", names = names.datatype},
    {"cacheable", "cacheable", 2, 1, "flag", mask = 0x01, names = YES_NO},
    {"coherent", "CPU coherent", 2, 1, "flag", mask = 0x02, names = YES_NO},
  }, rest))
end
H.ATOMIC = atomic(4, {})
H.COMPARE_SWAP = atomic(36, {{"compare", "compare", 4, 16, "bytes"}, {"swap", "swap", 20, 16, "bytes"}})

local function response(length, rest)
  return uet.header("ses", "SES", length, joined({
    {"list", "list", 0, 1, "dec", mask = 0xc0, names = names.list},
    {"response", "opcode", 0, 1, "hex", mask = 0x3f, names = names.response},
    {"version", "version", 1, 1, "dec", mask = 0xc0},
    {"return_code", "return code", 1, 1, "hex", mask = 0x3f, names = names.return_code},
  }, rest))
end
local job_id = {"job_id", "job id", 5, 3, "dec"}
H.RESPONSE = {
  [4] = response(12, {
    message_id, {"ri_generation", "RI generation", 4, 1, "dec"}, job_id,
    {"modified_length", "modified length", 8, 4, "dec"},
  }),
  [5] = response(20, {
    {"response_message_id", "response message id", 2, 2, "dec"}, job_id,
    {"read_request_message_id", "read request message id", 8, 2, "dec"},
    {"payload_length", "payload length", 10, 2, "dec", mask = 0x3fff},
    {"modified_length", "modified length", 12, 4, "dec"},
    {"message_offset", "message offset", 16, 4, "dec"},
  }),
  [6] = response(12, {
    {"payload_length", "payload length", 2, 2, "dec", mask = 0x3fff}, job_id,
    {"original_request_psn", "original request PSN", 8, 4, "dec"},
  }),
}

H.ENTROPY = uet.header("entropy", "entropy header", 4, {
  {"value", "entropy", 0, 2, "dec"},
  {"reserved", "reserved", 2, 2, "hex"},
})
H.PAYLOAD = uet.field("payload", "payload", "bytes")
H.LEFT_OVER = uet.field("left_over", "left over", "bytes")
H.CRC = uet.field("crc", "CRC", "bytes")

H.has_syn = has_syn

return H
