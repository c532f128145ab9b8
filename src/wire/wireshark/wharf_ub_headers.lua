-- SPDX-License-Identifier: Apache-2.0
-- The headers of Unified Bus as lists of fields, in all three profiles. [UB-Base 2.0.1 5 to 8; OpenURMA 5.2]
-- ub.lua loads it; Wireshark does too, to no effect.
local names, ub = ...
if not ub then return end
local H = {}

-- Network headers --------------------------------------------------------------------------------------------------

local function cc_text(range)
  local mode = range:bitfield(0, 3)
  if mode == 0 then
    return string.format("C-AQM, enabled %d, C %d, I %d, hint %d", range:bitfield(5, 1), range:bitfield(6, 1),
                         range:bitfield(7, 1), range:bitfield(8, 8))
  end
  if mode == 2 then
    return string.format("FECN_RTT, timestamp %d, FECN %d", range:bitfield(4, 10), range:bitfield(14, 2))
  end
  if mode == 4 then return "FECN " .. range:bitfield(14, 2) end
  return "reserved mode " .. mode
end

-- CC, 16 bits [5.2]: its text, then its parts as fields of their own.
local function cc_rows(offset, rows)
  local function mode_is(...)
    local wanted = {...}
    return function(reader)
      local mode = reader:bits(8 * offset, 3)
      for _, each in ipairs(wanted) do if each == mode then return true end end
      return false
    end
  end
  local parts = {
    {"cc", "CC", offset, 2, "text", value = cc_text},
    {"cc.mode", "CC mode", offset, 1, "dec", mask = 0xe0, names = names.congestion_mode},
    {"cc.location", "CC location", offset, 1, "flag", mask = 0x10, when = mode_is(0, 2, 4)},
    {"cc.enabled", "CC enabled", offset, 1, "flag", mask = 0x04, when = mode_is(0)},
    {"cc.congested", "CC congested (C)", offset, 1, "flag", mask = 0x02, when = mode_is(0)},
    {"cc.increase", "CC increase (I)", offset, 1, "flag", mask = 0x01, when = mode_is(0)},
    {"cc.hint", "CC hint", offset + 1, 1, "dec", when = mode_is(0)},
    {"cc.timestamp", "CC timestamp", offset, 2, "dec", mask = 0x0ffc, when = mode_is(2)},
    {"cc.fecn", "CC FECN", offset + 1, 1, "dec", mask = 0x03, when = mode_is(2, 4)},
  }
  for _, row in ipairs(rows) do table.insert(parts, row) end
  return parts
end

local function cna_rows(first, address, mask_rows)
  local at = first + 2 * address
  local rows = cc_rows(at, {
    {"lb", "LB", at + 2, 1, "dec"},
    {"sl", "SL", at + 3, 1, "dec", mask = 0xf0},
    {"management", "management", at + 3, 1, "flag", mask = 0x08},
    {"nlp", "NLP", at + 3, 1, "dec", mask = 0x07, names = names.nth_next},
  })
  table.insert(rows, 1, {"scna", "SCNA", first, address, "hex"})
  table.insert(rows, 2, {"dcna", "DCNA", first + address, address, "hex"})
  for _, row in ipairs(mask_rows or {}) do table.insert(rows, 1, row) end
  return rows
end

H.LPH = ub.header("lph", "LPH", 4, {
  {"credit", "credit", 0, 1, "flag", mask = 0x80},
  {"ack", "acknowledge", 0, 1, "flag", mask = 0x40},
  {"credit_lane", "credit target lane", 0, 1, "dec", mask = 0x3c},
  {"lane", "virtual lane", 0, 2, "dec", mask = 0x01e0},
  {"config", "config", 1, 1, "dec", mask = 0x0f, names = names.link_config},
  {"per_packet", "load balance per packet", 2, 1, "flag", mask = 0x80},
  {"shortest", "shortest paths only", 2, 1, "flag", mask = 0x40},
  {"blocks", "length in blocks", 2, 1, "dec", mask = 0x3c},
  {"last_block", "last block", 2, 2, "dec", mask = 0x03e0},
  {"tail", "tail", 3, 1, "dec", mask = 0x1f},
})
-- The two bytes before it, which say that an OPtag is here, are Ethernet's.
H.OPTAG = ub.header("optag", "OPtag", 6, cc_rows(0, {
  {"ctrl", "CTRL", 2, 1, "dec", mask = 0xf0},
  {"rm", "RM", 2, 1, "dec", mask = 0x0c},
  {"npi", "NPI", 2, 4, "hex", mask = 0x03ffffff},
}))
H.NTH_IP = ub.header("nth", "NTH", 6, cc_rows(0, {{"npi", "NPI", 2, 4, "hex", mask = 0x01ffffff}}))
H.NTH_CNA16 = ub.header("nth", "NTH", 8, cna_rows(0, 2))
H.NTH_CNA24 = ub.header("nth", "NTH", 10, cna_rows(0, 3))
H.NTH_OPENURMA = ub.header("nth", "NTH", 12, cna_rows(1, 3, {{"rt", "RT", 0, 1, "dec", mask = 0xc0}}))

-- Transport headers [6.2] ------------------------------------------------------------------------------------------

H.RTPH = ub.header("rtph", "RTPH", 16, {
  {"last", "last", 0, 1, "flag", mask = 0x80},
  {"opcode", "TPOpcode", 0, 1, "hex", mask = 0x7f, names = names.tp_opcode},
  {"version", "TPVer", 1, 1, "dec", mask = 0xc0},
  {"pad", "Pad", 1, 1, "dec", mask = 0x30},
  {"nlp", "NLP", 1, 1, "dec", mask = 0x0f, names = names.tph_next},
  {"source_tpn", "source TPN", 2, 3, "dec"},
  {"destination_tpn", "destination TPN", 5, 3, "dec"},
  {"ack_request", "acknowledge request", 8, 1, "flag", mask = 0x80},
  {"f", "F", 8, 1, "flag", mask = 0x40},
  {"psn", "PSN", 9, 3, "dec"},
  {"rspst", "RSPST", 12, 1, "dec", mask = 0xe0, names = names.status},
  {"rspinfo", "RSPINFO", 12, 1, "dec", mask = 0x1f, names = names.info},
  {"tpmsn", "TPMSN", 13, 3, "dec"},
})
H.UTPH = ub.header("utph", "UTPH", 16, {
  {"last", "last", 0, 1, "flag", mask = 0x80},
  {"version", "TPVer", 1, 1, "dec", mask = 0xc0},
  {"pad", "Pad", 1, 1, "dec", mask = 0x30},
  {"nlp", "NLP", 1, 1, "dec", mask = 0x0f, names = names.tph_next},
})
H.CTPH = ub.header("ctph", "CTPH", 1, {
  {"opcode", "TPOpcode", 0, 1, "dec", mask = 0xc0, names = names.ctp_opcode},
  {"pad", "Pad", 0, 1, "dec", mask = 0x30},
  {"nlp", "NLP", 0, 1, "dec", mask = 0x0f, names = names.tph_next},
})
H.CETPH = ub.header("cetph", "CETPH", 8, {
  {"ack_sequence", "AckSequence", 0, 4, "dec"},
  {"location", "location", 4, 1, "flag", mask = 0x02},
  {"increase", "increase", 4, 1, "flag", mask = 0x01},
  {"congested", "congested packets", 5, 1, "dec"},
  {"hint", "hint", 6, 2, "dec"},
})
local function saetph(bitmap)
  return ub.header("saetph", "SAETPH", 4 + bitmap, {
    {"size", "BitMapSize", 0, 1, "dec", mask = 0x07},
    {"max_received", "highest PSN received", 1, 3, "dec"},
    {"bitmap", "bitmap", 4, bitmap, "bytes"},
  })
end
H.SAETPH = {}
for code = 0, 4 do H.SAETPH[code] = saetph(math.floor(8 * 2 ^ code)) end
H.CNPETPH = ub.header("cnpetph", "CNPETPH", 16, {
  {"ecn", "ECN", 0, 1, "dec", mask = 0xc0},
  {"location", "location", 0, 1, "flag", mask = 0x20},
})
H.UPIH_FULL = ub.field("upih", "UPIH", "hex", 4)
H.UPIH_COMPACT = ub.field("upih", "UPIH", "hex", 2)
H.EIDH_FULL = ub.header("eidh", "EIDH", 32, {
  {"seid_full", "source EID", 0, 16, "bytes"},
  {"deid_full", "destination EID", 16, 16, "bytes"},
})
H.EIDH_COMPACT = ub.header("eidh", "EIDH", 5, {
  {"seid", "source EID", 0, 3, "hex", mask = 0xfffff0},
  {"deid", "destination EID", 2, 3, "hex", mask = 0x0fffff},
})

-- Transaction headers [7.2] ----------------------------------------------------------------------------------------

local function btah_rows(rest)
  local rows = {
    {"opcode", "TAOpcode", 0, 1, "hex", names = names.ta_opcode},
    {"version", "TAVer", 1, 1, "dec", mask = 0xc0},
    {"ee", "EE", 1, 1, "dec", mask = 0x30},
    {"tv_en", "TV_EN", 1, 1, "flag", mask = 0x08},
    {"poison", "poison", 1, 1, "flag", mask = 0x04},
    {"target_hint", "target hint", 1, 1, "flag", mask = 0x02},
    {"ud_flg", "UD_FLG", 1, 1, "flag", mask = 0x01},
    {"tassn", "INI_TASSN", 2, 2, "dec"},
  }
  for _, row in ipairs(rest) do table.insert(rows, row) end
  return rows
end
local function order_rows(first, rest)
  local rows = {
    {"odr", "ODR", 4, 1, "dec", mask = 0x70},
    {"mt_en", "MT_EN", 4, 1, "flag", mask = 0x08},
    {"fce", "FCE", 4, 1, "flag", mask = 0x04},
    {"retry", "retry", 4, 1, "flag", mask = 0x02},
    {"allocate", "allocate", 4, 1, "flag", mask = 0x01},
  }
  if first then table.insert(rows, 1, first) end
  for _, row in ipairs(rest) do table.insert(rows, row) end
  return btah_rows(rows)
end
H.BTAH = ub.header("btah", "BTAH", 8, order_rows({"no_taack", "No_TAACK", 4, 1, "flag", mask = 0x80}, {
  {"exclusive", "exclusive", 5, 1, "flag", mask = 0x40},
  {"requester_type", "INI_RC_Type", 5, 1, "dec", mask = 0x30, names = names.requester_type},
  {"requester", "INI_RC_ID", 5, 3, "dec", mask = 0x0fffff},
}))
H.BTAH_OPENURMA = ub.header("btah", "BTAH", 16, order_rows(nil, {
  {"exclusive", "exclusive", 5, 1, "flag", mask = 0x80},
  {"requester_type", "INI_RC_Type", 5, 1, "dec", mask = 0x60, names = names.requester_type},
  {"service_mode", "service mode", 5, 1, "dec", mask = 0x03},
  {"requester", "INI_RC_ID", 8, 3, "dec", mask = 0x0fffff},
}))
H.BTAH_COMPACT = ub.header("btah", "compact BTAH", 4, btah_rows({}))

local function atah_rows(sv, rest)
  local rows = {
    {"opcode", "TAOpcode", 0, 1, "hex", names = names.ta_opcode},
    {"version", "TAVer", 1, 1, "dec", mask = 0xc0},
    sv,
    {"poison", "poison", 1, 1, "flag", mask = 0x04},
    {"tassn", "INI_TASSN", 2, 2, "dec"},
  }
  for _, row in ipairs(rest) do table.insert(rows, row) end
  return rows
end
local SV = {"sv", "SV", 1, 1, "flag", mask = 0x08}
local RSPST = {"rspst", "RSPST", 4, 1, "dec", mask = 0xe0, names = names.status}
local RSPINFO = {"rspinfo", "RSPINFO", 4, 1, "dec", mask = 0x1f, names = names.info}
H.ATAH = ub.header("atah", "ATAH", 8, atah_rows(SV, {
  RSPST, RSPINFO,
  {"requester_type", "INI_RC_Type", 5, 1, "dec", mask = 0x30, names = names.requester_type},
  {"requester", "INI_RC_ID", 5, 3, "dec", mask = 0x0fffff},
}))
H.ATAH_OPENURMA = ub.header("atah", "ATAH", 16, atah_rows(SV, {
  RSPST, RSPINFO,
  {"requester_type", "INI_RC_Type", 5, 1, "dec", mask = 0x60, names = names.requester_type},
  {"service_mode", "service mode", 5, 1, "dec", mask = 0x03},
  {"requester", "INI_RC_ID", 8, 3, "dec", mask = 0x0fffff},
}))
H.ATAH_COMPACT = ub.header("atah", "compact ATAH", 4, atah_rows(
  {"rspst", "status", 1, 1, "dec", mask = 0x30, names = names.status}, {}))

-- Extension headers [7.3] ------------------------------------------------------------------------------------------

H.MAETAH = ub.header("maetah", "MAETAH", 16, {
  {"address", "address", 0, 8, "hex"},
  {"token_id", "TokenID", 8, 4, "hex", mask = 0x0fffff00},
  {"length", "length", 12, 4, "dec"},
})
H.MAETAH_OPENURMA = ub.header("maetah", "MAETAH", 16, {
  {"address", "address", 0, 8, "hex"},
  {"token_id", "TokenID", 8, 4, "hex", mask = 0x000fffff},
  {"length", "length", 12, 4, "dec"},
})
-- The address of a compact access: a multiple of 64.
local function line_address(range)
  local low = range(4, 4):uint()
  return UInt64(low - low % 64, range(0, 4):uint())
end
local function compact_length(range) return math.floor(64 * 2 ^ range:bitfield(5, 3)) end
H.MAETAH_COMPACT = ub.header("maetah", "compact MAETAH", 12, {
  {"address", "address", 0, 8, "hex", value = line_address},
  {"affinity", "affinity hint", 7, 1, "dec", mask = 0x30},
  {"strong", "strong order", 7, 1, "flag", mask = 0x08},
  {"length", "length", 7, 1, "dec", width = 4, value = compact_length},
  {"token_id", "TokenID", 8, 4, "hex", mask = 0x0fffff00},
})
H.TVETAH = ub.field("tvetah", "TVETAH", "hex", 4)
H.MTETAH = ub.header("mtetah", "MTETAH", 4, {
  {"hint", "hint", 0, 1, "hex"},
  {"target_type", "target type", 1, 1, "dec", mask = 0xc0, names = names.target_type},
  {"target", "target", 1, 3, "dec", mask = 0x0fffff},
})
H.IMMEDIATE = ub.field("immediate", "immediate", "hex", 8)
H.NOTIFY = ub.header("notify", "notify", 24, {
  {"address", "address", 0, 8, "hex"},
  {"token_id", "TokenID", 8, 4, "hex", mask = 0x0fffff00},
  {"token_value", "TokenValue", 12, 4, "hex"},
  {"data", "data", 16, 8, "hex"},
})
H.INVALIDATE = ub.header("invalidate", "invalidate", 8, {
  {"token_id", "TokenID", 0, 4, "hex", mask = 0x0fffff00},
  {"token_value", "TokenValue", 4, 4, "hex"},
})
H.MESSAGE = ub.header("message", "message", 4, {
  {"sub_code", "sub code", 0, 1, "dec", mask = 0xf0},
  {"code", "code", 0, 1, "dec", mask = 0x0e},
  {"response", "kind", 0, 1, "flag", mask = 0x01, names = {"response", "request"}},
  {"status", "status", 1, 1, "dec"},
  {"payload_length", "payload length", 2, 2, "dec", mask = 0x0fff},
})
H.OPERAND = ub.field("operand", "operand", "bytes")
H.COMPARE = ub.field("compare", "compare", "bytes")
H.PAYLOAD = ub.field("payload", "payload", "bytes")
H.PAD = ub.field("pad", "pad", "bytes")
H.FILL = ub.field("padding", "Ethernet padding", "bytes")

H.line_address = line_address
H.compact_length = compact_length

return H
