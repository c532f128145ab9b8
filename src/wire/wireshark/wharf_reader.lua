-- SPDX-License-Identifier: Apache-2.0
-- What the dissectors beside it share: headers as lists of fields, a reader that checks every length before it looks,
-- checksums, and UDP packets whose source port is an entropy value. Wireshark loads this file too, to no effect.
local M = {}

local Reader = {}
Reader.__index = Reader

-- Bits -------------------------------------------------------------------------------------------------------------

-- Lua 5.2 has a library for it, later ones have operators, which Lua 5.2 cannot read.
local xor = bit32 and bit32.bxor or load("return function(a, b) return a ~ b end")()

-- The table of a reflected CRC-32.
local function crc_table(polynomial)
  local entries = {}
  for i = 0, 255 do
    local crc = i
    for _ = 1, 8 do
      local odd = crc % 2 == 1
      crc = math.floor(crc / 2)
      if odd then crc = xor(crc, polynomial) end
    end
    entries[i] = crc
  end
  return entries
end

-- The CRC of the bytes of several strings, one after another: M.crc32c (UET) and M.crc32 (the ECRC of PCIe).
local function crc_of(entries)
  return function(...)
    local crc = 0xffffffff
    for _, text in ipairs({...}) do
      for i = 1, #text do
        crc = xor(math.floor(crc / 256), entries[xor(crc % 256, text:byte(i))])
      end
    end
    return xor(crc, 0xffffffff)
  end
end
M.crc32c = crc_of(crc_table(0x82f63b78))
M.crc32 = crc_of(crc_table(0xedb88320))

-- Headers ----------------------------------------------------------------------------------------------------------

local by_length = {ProtoField.uint8, ProtoField.uint16, ProtoField.uint24, ProtoField.uint32}
by_length[6], by_length[8] = ProtoField.uint64, ProtoField.uint64

local function make_field(abbreviation, row)
  local name, length = row.name, row.width or row.length
  if row.kind == "bytes" then return ProtoField.bytes(abbreviation, name) end
  if row.kind == "text" then return ProtoField.string(abbreviation, name) end
  if row.kind == "flag" then return ProtoField.bool(abbreviation, name, 8, row.names or {"1", "0"}, row.mask) end
  if row.kind == "signed" then return ProtoField.int16(abbreviation, name, base.DEC, row.names, row.mask) end
  local shown = row.kind == "hex" and base.HEX or base.DEC
  return by_length[length](abbreviation, name, shown, row.names, row.mask)
end

-- A protocol whose fields come from header() and field() below; nil where Wireshark has one of that name already.
function M.protocol(name, title)
  local asked, found = pcall(Dissector.get, name)
  if asked and found then return nil end
  local protocol = {proto = Proto(name, title), name = name, fields = {}}

  -- A header of `length` bytes. Each row is {word of the filter, name, offset, length, kind, ...}: `mask` cuts bits
  -- out, `names` gives values their words, `when(reader)` says whether it is there, `value(range)` computes what is
  -- shown (a number of `width` bytes), `note(range, reader)` is put behind it.
  function protocol.header(word, title, length, rows)
    local prefix = word == "" and name or name .. "." .. word
    local header = {length = length, rows = {}}
    header.field = ProtoField.none(name .. "." .. (word == "" and "header" or word), title)
    table.insert(protocol.fields, header.field)
    for _, given in ipairs(rows) do
      local row = {name = given[2], offset = given[3], length = given[4], kind = given[5], mask = given.mask,
                   names = given.names, width = given.width, when = given.when, value = given.value, note = given.note}
      row.field = make_field(prefix .. "." .. given[1], row)
      table.insert(protocol.fields, row.field)
      table.insert(header.rows, row)
    end
    return header
  end

  -- A field that stands by itself.
  function protocol.field(word, title, kind, length)
    local field = make_field(name .. "." .. word, {name = title, kind = kind, length = length})
    table.insert(protocol.fields, field)
    return field
  end

  -- To be called once, after all headers.
  function protocol.finish(dissect)
    protocol.refused = ProtoExpert.new(name .. ".refused", "refused", expert.group.MALFORMED, expert.severity.ERROR)
    protocol.bad_checksum =
        ProtoExpert.new(name .. ".bad_checksum", "bad checksum", expert.group.CHECKSUM, expert.severity.ERROR)
    protocol.proto.fields = protocol.fields
    protocol.proto.experts = {protocol.refused, protocol.bad_checksum}
    protocol.proto.dissector = dissect
  end
  return protocol
end

-- Reading ----------------------------------------------------------------------------------------------------------

-- The item of a protocol in the tree of a frame, which may be empty.
function M.item(protocol, tvb, tree)
  if tvb:len() == 0 then return tree:add(protocol.proto) end
  return tree:add(protocol.proto, tvb())
end

-- A reader of the bytes `from` to `to` (exclusive) of `tvb`. Without a tree it only checks.
function M.reader(protocol, tvb, tree, from, to)
  return setmetatable({protocol = protocol, tvb = tvb, tree = tree, at = from or 0, to = to or tvb:len()}, Reader)
end

-- Ends the dissection: the packet is none, for this reason.
function Reader:refuse(reason) error({refused = reason}, 0) end

function Reader:left() return self.to - self.at end

-- The next bytes, which must be there.
function Reader:take(length)
  if length > self:left() then self:refuse("truncated") end
  self.start = self.at
  self.at = self.at + length
  return self.tvb(self.start, length)
end

-- A number of the header that was taken last: `length` bits from bit `position` on, counted from its first.
function Reader:bits(position, length)
  local first = self.start + math.floor(position / 8)
  local bytes = math.floor((position % 8 + length + 7) / 8)
  return self.tvb(first, bytes):bitfield(position % 8, length)
end

-- Takes a header and shows its fields under "TITLE: value".
function Reader:header(header, value)
  local range = self:take(header.length)
  if not self.tree then return end
  local item = self.tree:add(header.field, range)
  if value then item:append_text(": " .. (type(value) == "function" and value(self) or value)) end
  self.item = item
  for _, row in ipairs(header.rows) do
    if not row.when or row.when(self) then
      local place = self.tvb(self.start + row.offset, row.length)
      local shown
      if row.value then
        shown = item:add(row.field, place, row.value(place, self))
      else
        shown = item:add(row.field, place)
      end
      if row.note then shown:append_text(" " .. row.note(place, self)) end
    end
  end
end

-- A field by itself, as "TITLE: text" where there is a text.
function Reader:lone(field, length, title, text)
  local range = self:take(length)
  if not self.tree then return range end
  if length == 0 then return range end
  self.item = self.tree:add(field, range)
  if text then self.item:set_text(title .. ": " .. (type(text) == "function" and text(range) or text)) end
  return range
end

local function hex(range) return range:bytes():tohex(true) end
M.hex = hex

-- The first bytes of data, for people.
function M.preview(range)
  local length = range:len()
  if length <= 16 then return length .. " bytes: " .. hex(range) end
  return length .. " bytes: " .. hex(range(0, 16)) .. "..."
end

-- "0x1f", of a number or UInt64; `digits` fills it up.
function M.number(value, digits)
  local text = type(value) == "userdata" and value:tohex() or string.format("%x", value)
  text = text:gsub("^0+", "")
  if text == "" then text = "0" end
  return "0x" .. string.rep("0", (digits or 0) - #text) .. text
end

-- Runs `parse`; the reason when it refused, else what it returned. Mistakes of our own stay errors.
function M.attempt(parse)
  local good, outcome = pcall(parse)
  if good then return nil, outcome end
  if type(outcome) == "table" and outcome.refused then return outcome.refused end
  error(outcome, 0)
end

-- Says in tree and Info column that a packet is refused, and why.
function M.show_refusal(protocol, tree, pinfo, reason, summary)
  tree:add_proto_expert_info(protocol.refused, reason)
  pinfo.cols.info:set((summary and summary ~= "" and summary .. " " or "") .. "[refused: " .. reason .. "]")
end

-- Runs another dissector. Where it finds its packet malformed, it has said so in the tree, as it does without us: what
-- Lua is told besides is no mistake of ours.
function M.hand_over(call)
  local good, outcome = pcall(call)
  if good then return outcome end
  if not tostring(outcome):find("Malformed frame", 1, true) then error(outcome, 0) end
end

-- UDP --------------------------------------------------------------------------------------------------------------

-- Makes `dissector` (a Proto) the one of UDP `port`. Wireshark asks the lower of both ports first, and the source port
-- of a packet that is sent through a fabric is an entropy value: whoever else has it must not get packets to `port`,
-- but for `spared`, a port of ours that sees to this itself.
function M.claim_udp_port(port, proto, spared)
  local ports = DissectorTable.get("udp.port")
  ports:add(port, proto)
  local name = proto.name:lower() .. "_any_source"
  local owners = {}
  local any_source = Proto(name, proto.description .. ", whatever the source port")
  function any_source.dissector(tvb, pinfo, tree)
    local owner = pinfo.dst_port == port and proto.dissector or owners[pinfo.match_uint]
    return M.hand_over(function() return owner:call(tvb, pinfo, tree) end)
  end
  for other = 1, port - 1 do
    local owner = ports:get_dissector(other)
    if owner and other ~= spared then
      owners[other] = owner
      ports:add(other, any_source)
    end
  end
end

return M
