/**
 * The Lua scripts. Each declares every key it touches, judges everything before it writes anything, and leaves
 * bodies alone. Numbers are printed by `%.0f`, since Lua's own printing loses digits from 1e15.
 */
import { createHash } from "node:crypto"

export interface Script {
  readonly lua: string
  readonly sha: string
}

const script = (lua: string): Script => ({ lua, sha: createHash("sha1").update(lua).digest("hex") })

/**
 * KEYS: records, claims, sequence, expiring, memory, then terms and counters, which changes name by their number.
 * ARGV: what to remember behind the result, for how long, the member that lists the memory (or ""), how many changes,
 * and the changes, each as a letter and its fields; a list is its length and its items.
 */
export const commit = script(`
local records, claims, sequence, expiring, memory = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local seen = redis.call('GET', memory)
if seen then
  -- Written again, so that whoever waits for replicas waits for this too.
  redis.call('SET', memory, seen, 'KEEPTTL')
  return {'seen', seen}
end

local at = 4
local function take()
  at = at + 1
  return ARGV[at]
end
local function list()
  local items = {}
  for i = 1, tonumber(take()) do items[i] = take() end
  return items
end
local function key() return KEYS[tonumber(take())] end
local function keys()
  local items = {}
  for i = 1, tonumber(take()) do items[i] = key() end
  return items
end
local function digits(n) return string.format('%.0f', n) end

local changes, rewritten, puts = {}, {}, 0
for i = 1, tonumber(ARGV[4]) do
  local change = { tag = take() }
  if change.tag == 'P' or change.tag == 'D' or change.tag == 'C' then
    change.key, change.expect = take(), take()
    if change.tag ~= 'C' then
      rewritten[change.key] = true
      change.leave, change.release = keys(), list()
    end
    if change.tag == 'P' then
      puts = puts + 1
      change.tail, change.holder, change.join, change.claims = take(), take(), keys(), list()
    end
  elseif change.tag == 'L' then
    change.key, change.atMost, change.name = key(), take(), take()
  else
    change.key, change.by, change.max, change.ttl, change.name = key(), take(), take(), take(), take()
  end
  changes[i] = change
end

local taken = {}
for _, change in ipairs(changes) do
  if change.tag == 'L' then
    if redis.call('ZCARD', change.key) > tonumber(change.atMost) then return {'limit', change.name} end
  elseif change.tag == 'A' then
    local value = tonumber(redis.call('GET', change.key) or '0')
    if value + tonumber(change.by) > tonumber(change.max) then return {'exceeded', change.name} end
  else
    local stored = redis.call('HGET', records, change.key)
    local version = stored and string.match(stored, '^%d+') or '0'
    if version ~= change.expect then return {'stale', change.key} end
    change.created = stored and string.match(stored, '^%d+ (%d+)')
    if change.tag == 'P' then
      for _, claim in ipairs(change.claims) do
        local held = redis.call('HGET', claims, claim)
        if held then
          local colon = string.find(held, ':', 1, true)
          local holder = string.sub(held, colon + 1, colon + tonumber(string.sub(held, 1, colon - 1)))
          held = not rewritten[holder]
        end
        if held or (taken[claim] and taken[claim] ~= change.key) then return {'unique-key', claim} end
        taken[claim] = change.key
      end
    end
  end
end

local last = puts > 0 and redis.call('INCRBY', sequence, puts) - puts or 0
for _, change in ipairs(changes) do
  for _, claim in ipairs(change.release or {}) do redis.call('HDEL', claims, claim) end
end

local now
local function list_expiring(member, ttl)
  if not now then
    local time = redis.call('TIME')
    now = time[1] * 1000 + math.floor(time[2] / 1000)
    local gone = redis.call('ZRANGEBYSCORE', expiring, '-inf', digits(now), 'LIMIT', 0, 100)
    if #gone > 0 then redis.call('ZREM', expiring, unpack(gone)) end
  end
  redis.call('ZADD', expiring, 'GT', digits(now + tonumber(ttl)), member)
end

local versions, totals = {}, {}
for _, change in ipairs(changes) do
  if change.tag == 'P' then
    last = last + 1
    local version = digits(last)
    local created = change.created or version
    redis.call('HSET', records, change.key, version .. ' ' .. created .. ' ' .. change.tail)
    for _, term in ipairs(change.leave) do redis.call('ZREM', term, change.key) end
    for _, term in ipairs(change.join) do redis.call('ZADD', term, created, change.key) end
    for _, claim in ipairs(change.claims) do redis.call('HSET', claims, claim, change.holder) end
    versions[#versions + 1] = version
  elseif change.tag == 'D' then
    redis.call('HDEL', records, change.key)
    for _, term in ipairs(change.leave) do redis.call('ZREM', term, change.key) end
  elseif change.tag == 'A' then
    totals[#totals + 1] = digits(redis.call('INCRBY', change.key, change.by))
    if redis.call('PTTL', change.key) < tonumber(change.ttl) then redis.call('PEXPIRE', change.key, change.ttl) end
    list_expiring('counter:' .. change.name, change.ttl)
  end
end

local result = table.concat(versions, ' ') .. '\\n' .. table.concat(totals, ' ')
redis.call('SET', memory, result .. '\\n' .. ARGV[1], 'PX', ARGV[2])
if ARGV[3] ~= '' then list_expiring(ARGV[3], ARGV[2]) end
return {'done', result}
`)

/**
 * Several commits that only check and count, each judged and applied by itself, in order. It is run for every use that is
 * counted, so it makes few calls, and no tables that it can do without.
 *
 * KEYS: records, expiring, memory, then the counters. ARGV: how long to remember, and as JSON the keys that are checked,
 * their versions, and the commits as numbers in a row: how many checks, their numbers, how many counters, and of each its
 * number, what to add, the maximum, and how long it is kept. The answer has for each commit 0 and the totals; or a
 * letter, and the number of what refused it.
 */
export const countBatch = script(`
local records, expiring, memory = KEYS[1], KEYS[2], KEYS[3]

local seen = redis.call('GET', memory)
if seen then
  -- Written again, so that whoever waits for replicas waits for this too.
  redis.call('SET', memory, seen, 'KEEPTTL')
  return cmsgpack.unpack(seen)
end

local sent = cjson.decode(ARGV[2])
local keys, versions, commits = sent[1], sent[2], sent[3]
local function digits(n) return string.format('%.0f', n) end

-- A call takes some thousands of arguments, and no more.
local most = 4000
local function ask(items, read)
  if #items == 0 then return {} end
  if #items <= most then return read(unpack(items)) end
  local found = {}
  for from = 1, #items, most do
    local some = read(unpack(items, from, math.min(from + most - 1, #items)))
    for i = 1, #some do found[from + i - 1] = some[i] end
  end
  return found
end

local is_so = ask(keys, function(...) return redis.call('HMGET', records, ...) end)
for i = 1, #keys do
  local stored = is_so[i]
  is_so[i] = (stored and tonumber(string.match(stored, '^%d+')) or 0) == versions[i]
end

local counters = {}
for i = 4, #KEYS do counters[i - 3] = KEYS[i] end
local known = ask(counters, function(...) return redis.call('MGET', ...) end)
local values, raised, ttls = {}, {}, {}
for i = 1, #counters do values[i] = tonumber(known[i] or '0') end

local outcomes, is_applied, at, last = {}, false, 1, #commits
while at <= last do
  local refusal
  local adds = at + commits[at] + 1
  for i = at + 1, adds - 1 do
    if not refusal and not is_so[commits[i]] then refusal = 's' .. commits[i] end
  end
  local from, to = adds + 1, adds + commits[adds] * 4
  for i = from, to, 4 do
    local counter = commits[i]
    if not refusal and values[counter] + commits[i + 1] > commits[i + 2] then refusal = 'e' .. counter end
  end
  outcomes[#outcomes + 1] = refusal or 0
  if not refusal then
    is_applied = true
    for i = from, to, 4 do
      local counter, by, ttl = commits[i], commits[i + 1], commits[i + 3]
      values[counter] = values[counter] + by
      raised[counter] = (raised[counter] or 0) + by
      if ttl > (ttls[counter] or 0) then ttls[counter] = ttl end
      -- Clients read larger numbers less exactly than texts.
      outcomes[#outcomes + 1] = values[counter] < 1e15 and values[counter] or digits(values[counter])
    end
  end
  at = to + 1
end
if not is_applied then return outcomes end

if next(raised) then
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local gone = redis.call('ZRANGEBYSCORE', expiring, '-inf', digits(now), 'LIMIT', 0, 100)
  if #gone > 0 then redis.call('ZREM', expiring, unpack(gone)) end
  local base, members = #expiring - #'expiring', {}
  for i = 1, #counters do members[i] = string.sub(counters[i], base + 1) end
  local kept = ask(members, function(...) return redis.call('ZMSCORE', expiring, ...) end)
  for counter, by in pairs(raised) do
    local key, ttl = counters[counter], ttls[counter]
    redis.call('INCRBY', key, by)
    if not known[counter] or now + ttl > tonumber(kept[counter] or 0) then
      -- A little longer, so that the next uses need not prolong it again.
      ttl = ttl + math.floor(math.min(ttl / 8, 60000))
      redis.call('PEXPIRE', key, digits(ttl))
      redis.call('ZADD', expiring, digits(now + ttl), members[counter])
    end
  end
end
redis.call('SET', memory, cmsgpack.pack(outcomes), 'PX', ARGV[1])
return outcomes
`)

/** KEYS: expiring, then what its members stand for. ARGV: the members. Removes both. */
export const deleteReplays = script(`
for i, member in ipairs(ARGV) do
  redis.call('UNLINK', KEYS[i + 1])
  redis.call('ZREM', KEYS[1], member)
end
return #ARGV
`)

/** KEYS: records, claims. ARGV: the claims. For each: key, record, parent's key, parent's record; or nothing. */
export const getByUniqueKey = script(`
local found = {}
for i, claim in ipairs(ARGV) do
  local held = redis.call('HGET', KEYS[2], claim)
  found[i] = false
  if held then
    local colon = string.find(held, ':', 1, true)
    local last = colon + tonumber(string.sub(held, 1, colon - 1))
    local key, parent = string.sub(held, colon + 1, last), string.sub(held, last + 1)
    local record = redis.call('HGET', KEYS[1], key)
    if record and parent ~= '' then
      parent = string.sub(parent, 2)
      found[i] = { key, record, parent, redis.call('HGET', KEYS[1], parent) }
    elseif record then
      found[i] = { key, record }
    end
  end
end
return found
`)

/**
 * KEYS: records, then terms. ARGV: for each query the numbers of its terms, as a list, its offset and its limit.
 *
 * The page of an intersection is found by walking the shortest term from the nearer end, and looking up the others;
 * where few of those walked would be on it, by intersecting the whole. Both cost about the same for each record.
 */
export const list = script(`
local at, chunk = 0, 1000
local function take()
  at = at + 1
  return tonumber(ARGV[at])
end

local function carrying_all(keys, terms)
  for _, term in ipairs(terms) do
    if #keys == 0 then break end
    local kept, scores = {}, redis.call('ZMSCORE', term, unpack(keys))
    for i, key in ipairs(keys) do
      if scores[i] then kept[#kept + 1] = key end
    end
    keys = kept
  end
  return keys
end

local function walk(term, others, size, skip, count, backwards)
  local found, rank = {}, 0
  while #found < count and rank < size do
    local some
    if backwards then some = redis.call('ZRANGE', term, rank, rank + chunk - 1, 'REV')
    else some = redis.call('ZRANGE', term, rank, rank + chunk - 1) end
    for _, key in ipairs(carrying_all(some, others)) do
      if skip > 0 then skip = skip - 1
      elseif #found < count then found[#found + 1] = key end
    end
    rank = rank + chunk
  end
  if not backwards then return found end
  local turned = {}
  for i = #found, 1, -1 do turned[#turned + 1] = found[i] end
  return turned
end

local function intersection(terms, offset, limit)
  local total = redis.call('ZINTERCARD', #terms, unpack(terms))
  local count = math.min(limit, total - offset)
  if count <= 0 then return {}, total end

  local sizes = {}
  for _, term in ipairs(terms) do sizes[term] = redis.call('ZCARD', term) end
  table.sort(terms, function(left, right) return sizes[left] < sizes[right] end)
  local shortest = table.remove(terms, 1)
  local size = sizes[shortest]

  local behind = total - offset - count
  local backwards = behind < offset
  local skip = backwards and behind or offset
  if (skip + count) * size <= total * total then
    return walk(shortest, terms, size, skip, count, backwards), total
  end
  local all = redis.call('ZINTER', #terms + 1, shortest, unpack(terms))
  local page = {}
  for i = offset + 1, offset + count do page[#page + 1] = all[i] end
  return page, total
end

local pages = {}
while at < #ARGV do
  local terms = {}
  for i = 1, take() do terms[i] = KEYS[take()] end
  local offset, limit = take(), take()
  local keys, total
  if #terms > 1 then keys, total = intersection(terms, offset, limit)
  else
    total = redis.call('ZCARD', terms[1])
    keys = limit > 0 and redis.call('ZRANGE', terms[1], offset, offset + limit - 1) or {}
  end
  local records = {}
  for first = 1, #keys, chunk do
    local some = redis.call('HMGET', KEYS[1], unpack(keys, first, math.min(first + chunk - 1, #keys)))
    for i = 1, #some do records[first + i - 1] = some[i] end
  end
  pages[#pages + 1] = { total, keys, records }
end
return pages
`)
