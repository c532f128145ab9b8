-- SPDX-License-Identifier: Apache-2.0
-- PCIe transaction layer packets in Wireshark, in captures of link type USER1: a record is one packet from its first
-- prefix or header to its data or digest. Layouts are those of PCIe Base 5.0 2.2, and what is proposed for order, as
-- docs/protocol/pcie-tlp.md has them; what `wharf dissect` refuses is refused here with the same words.
-- Wireshark tells scripts of its own folder of plugins nothing of where they are.
local here = __DIR__ or debug.getinfo(1, "S").source:match("^@?(.*)[/\\]")
local common = dofile(here .. "/wharf_reader.lua")
local names = dofile(here .. "/wharf_names.lua").pcie
local number = common.number
local tlp = common.protocol("tlp", "PCIe Transaction Layer Packet")
if not tlp then return end

local function id_text(id)
  return string.format("%02x:%02x.%d", math.floor(id / 256), math.floor(id / 8) % 32, id % 8)
end
local function id(range) return id_text(range:uint()) end

-- What the packet is that is being read, for conditions of rows: set by packet().
local current

-- Prefixes [2.2.10] ------------------------------------------------------------------------------------------------

local function prefix(word, title, rows)
  return tlp.header("prefix." .. word, "prefix " .. title, 4, rows)
end
local VALUE = {"value", "value", 1, 3, "hex"}
local PREFIX = {
  [0x8e] = prefix("local0", names.prefix[0x8e], {VALUE}),
  [0x8f] = prefix("local1", names.prefix[0x8f], {VALUE}),
  [0x90] = prefix("tph", names.prefix[0x90], {VALUE}),
  [0x91] = prefix("pasid", names.prefix[0x91], {
    {"privileged", "privileged mode requested", 1, 1, "flag", mask = 0x20},
    {"execute", "execute requested", 1, 1, "flag", mask = 0x10},
    {"id", "PASID", 1, 3, "hex", mask = 0x0fffff},
  }),
  [0x9e] = prefix("order", names.prefix[0x9e], {
    {"code", "ordering code (proposed)", 1, 1, "dec", mask = 0xf0},
    {"thread", "thread (proposed)", 1, 3, "dec", mask = 0x0fffff},
  }),
  [0x9f] = prefix("sequence", names.prefix[0x9f], {
    {"back", "back (proposed)", 1, 1, "dec"},
    {"number", "sequence number (proposed)", 2, 2, "dec"},
  }),
}

-- Order, as the bits ask for it today and as proposed --------------------------------------------------------------

local function order_today(word)
  if word.ro and current.type == "MWr" then return "relaxed ordering" end
  if word.ido then return "ID-based" end
  return word.ro and "relaxed ordering" or "strong"
end

-- Codes of the ordering prefix from 1 on.
local ORDERS = {"strong", "relaxed ordering", "ID-based", "relaxed", "acquire", "release", "ascending", "read-release"}

local function order_proposed(word)
  local atomic = current.rules.atomic
  local acquire = word.spare and (current.type == "MRd" or atomic)
  local release = word.ro and (current.type == "MWr" or atomic)
  if acquire and release then return nil end
  local order, thread = order_today(word), 0
  if current.order then
    thread, order = current.order % 0x100000, "relaxed"
    local code = math.floor(current.order / 0x100000) % 16
    if code ~= 0 and (not ORDERS[code] or acquire or release) then return nil end
    order = code ~= 0 and ORDERS[code] or order
  end
  if acquire then order = "acquire" end
  if release then order = "release" end
  local text = thread ~= 0 and string.format("%s, thread %d", order, thread) or order
  if current.sequence then
    local sequence, back = current.sequence % 0x10000, math.floor(current.sequence / 0x10000) % 256
    text = string.format("%s, number %d", text, sequence)
    if back ~= 255 then text = string.format("%s after all below %d", text, (sequence - back) % 0x10000) end
  end
  return text
end

-- Headers [2.2.4 to 2.2.9] -----------------------------------------------------------------------------------------

local function length_of(range) return (range:bitfield(6, 10) - 1) % 1024 + 1 end
local function byte_count(range) return (range:bitfield(4, 12) - 1) % 4096 + 1 end
local function enables(shift)
  return function(range)
    local bits = math.floor(range:uint() / shift)
    local text = ""
    for bit = 3, 0, -1 do text = text .. math.floor(bits / 2 ^ bit) % 2 end
    return (text:gsub("%.0", ""))
  end
end
local function is(property)
  return function() return current.rules[property] end
end
local function hinted() return current.hints end
local function write_hinted() return current.hints and current.type == "MWr" end
local function other_hinted() return current.hints and current.type ~= "MWr" end
local function has_enables() return not current.rules.atomic and not other_hinted() end
local function tag_of() return current.tag end

local first_word = {
  {"fmt", "Fmt", 0, 1, "dec", mask = 0xe0},
  {"type", "Type", 0, 1, "hex", mask = 0x1f},
  {"tc", "TC", 1, 1, "dec", mask = 0x70},
  {"ido", "IDO", 1, 1, "flag", mask = 0x04},
  {"acquire", "bit 1 of byte 1 (acquire as proposed, LN in 3.1 to 5.0)", 1, 1, "flag", mask = 0x02},
  {"th", "TH", 1, 1, "flag", mask = 0x01, value = function() return current.hints end},
  {"td", "TD", 2, 1, "flag", mask = 0x80},
  {"ep", "EP", 2, 1, "flag", mask = 0x40},
  {"ro", "RO", 2, 1, "flag", mask = 0x20},
  {"ns", "NS", 2, 1, "flag", mask = 0x10},
  {"at", "AT", 2, 1, "dec", mask = 0x0c, names = names.address_type, when = is("memory")},
  {"length", "Length", 2, 2, "dec", value = length_of, when = is("length")},
  {"order_today", "order today", 1, 2, "text", when = is("memory"),
   value = function() return order_today(current.word) end},
  {"order_proposed", "order as proposed", 1, 2, "text", when = is("memory"),
   value = function() return order_proposed(current.word) or "bits that contradict one another" end},
}
local requester_rows = {
  {"requester", "requester", 4, 2, "text", value = id},
  {"tag", "tag", 6, 1, "dec", width = 2, value = tag_of, when = function() return not write_hinted() end},
}
local request_rows = {
  {"steering_tag", "steering tag", 6, 1, "hex", when = write_hinted},
  {"steering_tag", "steering tag", 7, 1, "hex", when = other_hinted},
  {"last_be", "last byte enables", 7, 1, "text", value = enables(16), when = has_enables},
  {"first_be", "first byte enables", 7, 1, "text", value = enables(1), when = has_enables},
}
local function header(length, ...)
  local rows = {}
  for _, part in ipairs({first_word, ...}) do for _, row in ipairs(part) do table.insert(rows, row) end end
  return tlp.header("", "header", length, rows)
end
-- An address ends with the hint of its processing.
local function address(length)
  local function aligned(range)
    local low = range(length - 4, 4):uint()
    local high = length == 8 and range(0, 4):uint() or 0
    return UInt64(low - low % 4, high)
  end
  return {
    {"address", "address", 8, length, "hex", width = 8, value = aligned},
    {"ph", "PH", 7 + length, 1, "dec", mask = 0x03, when = hinted},
  }, aligned
end
local short_address, aligned_short = address(4)
local long_address, aligned_long = address(8)
local REQUEST_SHORT = header(12, requester_rows, request_rows, short_address)
local REQUEST_LONG = header(16, requester_rows, request_rows, long_address)
local CONFIG = header(12, requester_rows, request_rows, {
  {"destination", "destination", 8, 2, "text", value = id},
  {"register", "register", 10, 2, "hex", value = function(range) return 4 * range:bitfield(4, 10) end},
})
local COMPLETION = header(12, {
  {"completer", "completer", 4, 2, "text", value = id},
  {"status", "status", 6, 1, "dec", mask = 0xe0, names = names.status},
  {"bcm", "BCM", 6, 1, "flag", mask = 0x10},
  {"byte_count", "byte count", 6, 2, "dec", value = byte_count},
  {"requester", "requester", 8, 2, "text", value = id},
  {"tag", "tag", 10, 1, "dec", width = 2, value = tag_of},
  {"lower_address", "lower address", 11, 1, "hex", mask = 0x7f},
})
local function by_id() return current.routing == 2 end
local MESSAGE = header(16, {
  {"routing", "routing", 0, 1, "dec", mask = 0x07, names = names.routing},
  {"requester", "requester", 4, 2, "text", value = id},
  {"tag", "tag", 6, 1, "dec", width = 2},
  {"message_code", "message code", 7, 1, "hex", names = names.message},
  {"destination", "destination", 8, 2, "text", value = id, when = by_id},
  {"message", "bytes 8 to 15", 8, 8, "bytes"},
})
local DATA = tlp.field("data", "data", "bytes")
local ECRC = tlp.field("ecrc", "ECRC", "bytes")

-- Packets ----------------------------------------------------------------------------------------------------------

-- The prefixes; what they say of order goes to `current`.
local function prefixes(reader)
  local local_ones, end_to_end, spaces = 0, 0, 0
  while reader:left() >= 4 and reader.tvb(reader.at, 1):bitfield(0, 3) == 4 do
    local kind = reader.tvb(reader.at, 1):uint()
    if not names.prefix[kind] then reader:refuse("unknown prefix") end
    if kind >= 0x90 then
      end_to_end = end_to_end + 1
      if end_to_end > 4 then reader:refuse("too many prefixes") end
    elseif end_to_end ~= 0 then
      reader:refuse("local prefix behind an end-to-end one")
    elseif local_ones == 2 then
      reader:refuse("too many prefixes")
    else
      local_ones = local_ones + 1
    end
    local value = reader.tvb(reader.at + 1, 3):uint()
    reader:header(PREFIX[kind], number(value, 6))
    if kind == 0x91 then spaces = spaces + 1 end
    if kind == 0x9e then current.order = current.order or value end
    if kind == 0x9f then current.sequence = current.sequence or value end
  end
  return spaces
end

-- Bits of one byte that are set from the first 1 on without a hole, and so on: [2.2.5].
local function enables_allowed(first, last, dwords, where)
  if dwords == 1 then return last == 0 end
  if first == 0 or last == 0 then return false end
  if dwords == 2 and where % 8 == 0 then return true end
  local to_its_end = first == 15 or first == 14 or first == 12 or first == 8
  local from_its_start = last == 15 or last == 7 or last == 3 or last == 1
  return to_its_end and from_its_start
end

local function check_message(reader, with_data, class)
  local code = reader.tvb(reader.start + 7, 1):uint()
  local rule = names.message_rules[code]
  if not rule then return end
  local allowed = with_data and rule.with_data or not with_data and rule.without_data
  if not rule.routings[current.routing] or not allowed or (class ~= 0 and not rule.any_class) then
    reader:refuse("message with routing, class or data that its code forbids")
  end
end

-- The rules that a memory, I/O or configuration request keeps; `low` are the lower bits of its address.
local function check_request(reader, dwords, first, last, low, word)
  if not current.rules.memory then
    if not enables_allowed(first, last, dwords, low) and dwords == 1 then reader:refuse("bad byte enables") end
    if word.class ~= 0 or word.ro or word.ns or word.ido or word.at ~= 0 or dwords ~= 1 then
      reader:refuse("I/O or configuration request with a field that must be fixed")
    end
    return
  end
  if current.rules.atomic then
    if word.at == 1 or word.at == 3 then reader:refuse("bad address type") end
    local operands = current.type == "CAS" and 2 or 1
    local operand = 4 * dwords / operands
    if operand ~= 4 and operand ~= 8 and not (operand == 16 and operands == 2) then
      reader:refuse("bad operand size")
    end
    if low % operand ~= 0 then reader:refuse("misaligned atomic") end
    return
  end
  if word.at ~= 1 and low % 4096 + 4 * dwords > 4096 then reader:refuse("crosses a 4 KiB boundary") end
  if not enables_allowed(first, last, dwords, low) then reader:refuse("bad byte enables") end
  if word.at == 3 or (word.at == 1 and current.type ~= "MRd") then reader:refuse("bad address type") end
end

local function check_completion(reader, dwords)
  if current.type == "Cpl" then return end
  local place = reader.tvb(reader.start + 6, 2)
  local status = place:bitfield(0, 3)
  if status ~= 0 then reader:refuse("data with an unsuccessful status") end
  local lower = reader.tvb(reader.start + 11, 1):bitfield(1, 7)
  local needed = math.floor((lower % 4 + byte_count(place) + 3) / 4)
  if dwords > needed then reader:refuse("more data than the byte count") end
  if dwords < needed and (lower - lower % 4 + 4 * dwords) % 64 ~= 0 then
    reader:refuse("split between completion boundaries")
  end
end

local function trailing_zeros(bits)
  local count = 0
  while bits % 2 == 0 and count < 4 do bits, count = math.floor(bits / 2), count + 1 end
  return count
end
local function bit_width(bits)
  local width = 0
  while bits > 0 do bits, width = math.floor(bits / 2), width + 1 end
  return width
end

-- "64 bytes at 0x1000": from the first to the last enabled byte.
local function access_text(where, dwords, first, last)
  local before = first == 0 and 0 or trailing_zeros(first)
  local bytes
  if dwords == 1 then
    bytes = first == 0 and 0 or bit_width(first) - before
  else
    bytes = 4 * (dwords - 1) - before + bit_width(last)
  end
  return string.format("%d bytes at %s", bytes, number(where + UInt64(before)))
end

local function show_data(reader, pinfo, length)
  if length == 0 then return end
  current.summary = current.summary .. ", data " .. length
  reader:lone(DATA, length, "data", common.preview)
end

-- The ECRC: a CRC-32 from the first end-to-end prefix on, with Type bit 0 and EP of the header as ones. [2.7.1]
local function digest(reader, tree, header_at)
  local range = reader:take(4)
  local from = 0
  while from < header_at and reader.tvb(from, 1):uint() < 0x90 do from = from + 4 end
  local first = reader.tvb(header_at, 4):bytes():raw()
  local function with(text, bit)
    local byte = text:byte()
    return string.char(math.floor(byte / bit) % 2 == 1 and byte or byte + bit)
  end
  local before = header_at > from and reader.tvb(from, header_at - from):bytes():raw() or ""
  local after = reader.tvb(header_at + 4, reader.start - header_at - 4):bytes():raw()
  local computed = common.crc32(before, with(first:sub(1, 1), 1) .. first:sub(2, 2) .. with(first:sub(3, 3), 64) ..
                                    first:sub(4, 4), after)
  local received = range:le_uint()
  local item = tree:add(ECRC, range)
  if received == computed then
    item:set_text(string.format("ECRC: 0x%08x (good)", received))
    return
  end
  item:set_text(string.format("ECRC: 0x%08x (bad: expected 0x%08x)", received, computed))
  item:add_proto_expert_info(tlp.bad_checksum, "bad ECRC")
  current.summary = current.summary .. ", bad ECRC"
end

local function is_ordered() return current.order or current.sequence or current.word.spare end

local function packet(reader, pinfo, tree)
  local spaces = prefixes(reader)
  if reader:left() < 4 then reader:refuse("truncated") end
  local code = reader.tvb(reader.at, 1):uint()
  local rules = names.codes[code] or (code < 0x80 and "reserved type" or "reserved format")
  if type(rules) == "string" then reader:refuse(rules) end
  current.rules, current.type = names.types[rules.type], rules.type
  local wide, form = rules.wide, current.rules.form
  local length = wide and 16 or 12
  if reader:left() < length then reader:refuse("truncated") end

  local at = reader.at
  local place = reader.tvb(at, length)
  local word = {
    class = place:bitfield(9, 3), ido = place:bitfield(13, 1) == 1, spare = place:bitfield(14, 1) == 1,
    ro = place:bitfield(18, 1) == 1, ns = place:bitfield(19, 1) == 1, at = place:bitfield(20, 2),
  }
  current.word = word
  current.hints = current.rules.memory and place:bitfield(15, 1) == 1
  current.routing = place:bitfield(5, 3)
  local posted = current.rules.posted
  local tag_high = posted and 0 or 512 * place:bitfield(8, 1) + 256 * place:bitfield(12, 1)
  current.tag = tag_high + place(form == "completion" and 10 or 6, 1):uint()
  if write_hinted() then current.tag = 0 end
  local dwords = current.rules.length and length_of(place(2, 2)) or 0
  current.summary = current.type

  local headers = {
    address = wide and REQUEST_LONG or REQUEST_SHORT, config = CONFIG, completion = COMPLETION, message = MESSAGE,
  }
  reader:header(headers[form], nil)
  reader.item:set_text(current.type .. ": " .. (wide and "4" or "3") .. " double words")

  local data = current.rules.data and 4 * dwords or 0
  local has_digest = place:bitfield(16, 1) == 1
  local allowed = current.rules.memory or form == "message"
  if spaces > 1 or (spaces == 1 and not allowed) then reader:refuse("prefix that this packet may not have") end
  if reader:left() ~= data + (has_digest and 4 or 0) then reader:refuse("length does not match the bytes") end

  if form == "completion" then
    check_completion(reader, dwords)
    local status = names.status[place:bitfield(48, 3)] or "reserved"
    pinfo.cols.src:set(id(place(4, 2)))
    pinfo.cols.dst:set(id(place(8, 2)))
    current.summary = current.summary .. string.format(", %s, byte count %d, lower address 0x%x, tag %d", status,
                                                       byte_count(place(6, 2)), place:bitfield(89, 7), current.tag)
  elseif form == "message" then
    check_message(reader, current.rules.data, word.class)
    pinfo.cols.src:set(id(place(4, 2)))
    local routing = names.routing[current.routing]
    pinfo.cols.dst:set(by_id() and id(place(8, 2)) or routing)
    current.summary = current.summary .. ", " .. (names.message[place(7, 1):uint()] or "reserved") .. ", " .. routing
  else
    local first, last = 15, dwords == 1 and 0 or 15
    if has_enables() then first, last = place:bitfield(60, 4), place:bitfield(56, 4) end
    pinfo.cols.src:set(id(place(4, 2)))
    if form == "config" then
      check_request(reader, dwords, first, last, 0, word)
      local register = 4 * place:bitfield(84, 10)
      pinfo.cols.dst:set(id(place(8, 2)))
      current.summary = current.summary .. string.format(", register 0x%x, tag %d", register, current.tag)
    else
      local bytes = place(8, length - 8)
      local where = wide and aligned_long(bytes) or aligned_short(bytes)
      if wide and current.rules.memory and bytes(0, 4):uint() == 0 then
        reader:refuse("long header for an address below 4 GiB")
      end
      check_request(reader, dwords, first, last, bytes(length - 12, 4):uint() - bytes(length - 12, 4):uint() % 4, word)
      pinfo.cols.dst:set(current.rules.memory and "memory" or "I/O")
      current.summary = current.summary .. ", " .. access_text(where, dwords, first, last)
      if not posted then current.summary = current.summary .. ", tag " .. current.tag end
      if is_ordered() then
        current.summary = current.summary .. ", " .. (order_proposed(word) or "contradictory order")
      end
    end
  end
  if place:bitfield(17, 1) == 1 then current.summary = current.summary .. ", poisoned" end
  show_data(reader, pinfo, data)
  if has_digest then digest(reader, tree, at) end
end

tlp.finish(function(tvb, pinfo, tree)
  pinfo.cols.protocol:set("PCIe")
  current = {summary = ""}
  local item = common.item(tlp, tvb, tree)
  local reader = common.reader(tlp, tvb, item)
  local reason = common.attempt(function() packet(reader, pinfo, item) end)
  if tvb:len() < tvb:reported_len() then reason = "truncated" end
  if reason then
    common.show_refusal(tlp, item, pinfo, reason, current.summary)
  else
    pinfo.cols.info:set(current.summary)
  end
end)
-- Link type USER1 is taken from whatever the user's preferences give it to.
DissectorTable.get("wtap_encap"):add(wtap.USER1, tlp.proto)
