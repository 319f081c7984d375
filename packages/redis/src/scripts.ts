/**
 * The Lua scripts. Each declares every key that it accesses, checks all preconditions before it applies a change, and
 * never parses record bodies. Numbers are formatted with `%.0f`, because Lua's `tostring` loses digits from 1e15.
 */
import { createHash } from "node:crypto"

export interface Script {
  readonly lua: string
  readonly sha: string
}

/**
 * `RateLimit.ts` of the core in Lua: `amount` is cost × interval, `capacity` is burst × interval. Returns the new state,
 * or nil and the microseconds after which to retry.
 */
const takeFunction = `
local function take(key, full_at, now, amount, capacity)
  if full_at > now + capacity then
    -- The server's clock was set back, or this server took over from one whose clock was ahead. The limit is empty.
    full_at = now + capacity
    redis.call('SET', key, format_integer(full_at), 'KEEPTTL')
  end
  local next_full_at = math.max(full_at, now) + amount
  local excess = next_full_at - now - capacity
  if excess > 0 then return nil, excess end
  return next_full_at
end
`

export const makeScript = (lua: string): Script => ({ lua, sha: createHash("sha1").update(lua).digest("hex") })

/**
 * Applies one commit.
 *
 * KEYS: records, unique keys, sequence, expiring, the replay key, then terms and counters, to which changes
 * refer by position.
 * ARGV: the data to store after the result for replays, its TTL, its member of `expiring` (or ""), the caller's time in
 * microseconds (or "" for the server's), the number of changes, and the changes, each as a letter and its fields: P put,
 * D delete, C check, L at most, A add, R raise, T take. A list is its length followed by its items.
 */
export const commit = makeScript(`
local records, unique_keys, sequence, expiring, replay_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local replay = redis.call('GET', replay_key)
if replay then
  -- Write it again, so that a WAIT after this script also covers the replayed result.
  redis.call('SET', replay_key, replay, 'KEEPTTL')
  return {'replay', replay}
end

local position = 5
local function next_arg()
  position = position + 1
  return ARGV[position]
end
local function next_list()
  local items = {}
  for i = 1, tonumber(next_arg()) do items[i] = next_arg() end
  return items
end
local function next_key() return KEYS[tonumber(next_arg())] end
local function next_keys()
  local items = {}
  for i = 1, tonumber(next_arg()) do items[i] = next_key() end
  return items
end
local function format_integer(n) return string.format('%.0f', n) end
${takeFunction}
local server_time
local function get_server_time()
  if not server_time then
    local time = redis.call('TIME')
    server_time = time[1] * 1000000 + time[2]
  end
  return server_time
end

local changes, replaced, puts = {}, {}, 0
for i = 1, tonumber(ARGV[5]) do
  local change = { tag = next_arg() }
  if change.tag == 'P' or change.tag == 'D' or change.tag == 'C' then
    change.key, change.expect = next_arg(), next_arg()
    if change.tag ~= 'C' then
      replaced[change.key] = true
      change.removed_terms, change.removed_unique_keys = next_keys(), next_list()
    end
    if change.tag == 'P' then
      puts = puts + 1
      change.body, change.owner, change.added_terms, change.unique_keys = next_arg(), next_arg(), next_keys(), next_list()
    end
  elseif change.tag == 'L' then
    change.key, change.at_most, change.name = next_key(), next_arg(), next_arg()
  else
    change.key, change.amount, change.bound, change.ttl, change.name =
      next_key(), tonumber(next_arg()), tonumber(next_arg()), next_arg(), next_arg()
    change.is_counter = true
  end
  changes[i] = change
end

local new_owners = {}
for _, change in ipairs(changes) do
  if change.tag == 'L' then
    if redis.call('ZCARD', change.key) > tonumber(change.at_most) then return {'too-many-records', change.name} end
  elseif change.is_counter then
    local value = tonumber(redis.call('GET', change.key) or '0')
    if change.tag == 'A' then
      change.value = math.max(0, value + change.amount)
      if change.amount > 0 and change.value > change.bound then return {'counter-exceeded', change.name} end
    elseif change.tag == 'R' then
      change.value = math.max(value, change.amount)
    else
      local now = tonumber(ARGV[4]) or get_server_time()
      local full_at, retry_after = take(change.key, value, now, change.amount, change.bound)
      if not full_at then return {'rate-limited', change.name, format_integer(retry_after)} end
      change.value, change.total = full_at, full_at - now
    end
  else
    local stored = redis.call('HGET', records, change.key)
    local version = stored and string.match(stored, '^%d+') or '0'
    if version ~= change.expect then return {'stale', change.key} end
    change.created = stored and string.match(stored, '^%d+ (%d+)')
    if change.tag == 'P' then
      for _, unique_key in ipairs(change.unique_keys) do
        local owner = redis.call('HGET', unique_keys, unique_key)
        local is_taken = false
        if owner then
          local colon = string.find(owner, ':', 1, true)
          local owner_key = string.sub(owner, colon + 1, colon + tonumber(string.sub(owner, 1, colon - 1)))
          is_taken = not replaced[owner_key]
        end
        local new_owner = new_owners[unique_key]
        if is_taken or (new_owner and new_owner ~= change.key) then return {'unique-key', unique_key} end
        new_owners[unique_key] = change.key
      end
    end
  end
end

local last_version = puts > 0 and redis.call('INCRBY', sequence, puts) - puts or 0
-- Remove old unique keys before adding new ones: one commit may move a unique key from one record to another.
for _, change in ipairs(changes) do
  for _, unique_key in ipairs(change.removed_unique_keys or {}) do redis.call('HDEL', unique_keys, unique_key) end
end

local now
local function add_expiring(member, ttl)
  if not now then
    now = math.floor(get_server_time() / 1000)
    local expired = redis.call('ZRANGEBYSCORE', expiring, '-inf', format_integer(now), 'LIMIT', 0, 100)
    if #expired > 0 then redis.call('ZREM', expiring, unpack(expired)) end
  end
  redis.call('ZADD', expiring, 'GT', format_integer(now + tonumber(ttl)), member)
end

local versions, totals = {}, {}
for _, change in ipairs(changes) do
  if change.tag == 'P' then
    last_version = last_version + 1
    local version = format_integer(last_version)
    local created = change.created or version
    redis.call('HSET', records, change.key, version .. ' ' .. created .. ' ' .. change.body)
    for _, term in ipairs(change.removed_terms) do redis.call('ZREM', term, change.key) end
    for _, term in ipairs(change.added_terms) do redis.call('ZADD', term, created, change.key) end
    for _, unique_key in ipairs(change.unique_keys) do
      redis.call('HSET', unique_keys, unique_key, change.owner)
    end
    versions[#versions + 1] = version
  elseif change.tag == 'D' then
    redis.call('HDEL', records, change.key)
    for _, term in ipairs(change.removed_terms) do redis.call('ZREM', term, change.key) end
  elseif change.is_counter then
    totals[#totals + 1] = format_integer(change.total or change.value)
    if change.tag == 'A' and change.amount < 0 and change.value == 0 then
      redis.call('DEL', change.key)
      redis.call('ZREM', expiring, 'counter:' .. change.name)
    else
      redis.call('SET', change.key, format_integer(change.value), 'KEEPTTL')
      if redis.call('PTTL', change.key) < tonumber(change.ttl) then redis.call('PEXPIRE', change.key, change.ttl) end
      add_expiring('counter:' .. change.name, change.ttl)
    end
  end
end

local result = table.concat(versions, ' ') .. '\\n' .. table.concat(totals, ' ')
redis.call('SET', replay_key, result .. '\\n' .. ARGV[1], 'PX', ARGV[2])
if ARGV[3] ~= '' then add_expiring(ARGV[3], ARGV[2]) end
return {'done', result}
`)

/**
 * Applies several commits that only check records and change counters, each independently and in order. Every metered
 * request runs it, so it makes few Redis calls and allocates few tables.
 *
 * KEYS: records, expiring, the replay key, then the counters.
 * ARGV: the TTL of the replay, a JSON array of the checked keys, their expected versions, and the commits as one list
 * of numbers, and the caller's time in microseconds (or "" for the server's). A commit is the number of checks and their
 * positions, the number of counter changes, and each of these as four numbers: the position of the counter, an amount, a
 * bound and the TTL. A bound of 0 or more is the maximum of an add, -1 marks a raise, and a lower bound is
 * -1 - burst × interval of a take, whose amount is cost × interval. The member of a counter in `expiring` is the
 * counter's key without the prefix of the partition.
 * Returns for each commit 0 and the totals; or, for a conflict, "s" (stale) or "e" (exceeded) and a position, or "r"
 * (rate limited), a position, a space and the microseconds after which to retry.
 */
export const countBatch = makeScript(`
local records, expiring, replay_key = KEYS[1], KEYS[2], KEYS[3]

local replay = redis.call('GET', replay_key)
if replay then
  -- Write it again, so that a WAIT after this script also covers the replayed result.
  redis.call('SET', replay_key, replay, 'KEEPTTL')
  return cmsgpack.unpack(replay)
end

local batch = cjson.decode(ARGV[2])
local keys, versions, commits = batch[1], batch[2], batch[3]
local function format_integer(n) return string.format('%.0f', n) end
${takeFunction}
-- Lua limits the number of arguments of a call to a few thousand.
local max_arguments = 4000
local function read_in_chunks(items, read)
  if #items == 0 then return {} end
  if #items <= max_arguments then return read(unpack(items)) end
  local values = {}
  for from = 1, #items, max_arguments do
    local part = read(unpack(items, from, math.min(from + max_arguments - 1, #items)))
    for i = 1, #part do values[from + i - 1] = part[i] end
  end
  return values
end

local stored_records = read_in_chunks(keys, function(...) return redis.call('HMGET', records, ...) end)
local is_current = {}
for i = 1, #keys do
  local stored = stored_records[i]
  is_current[i] = (stored and tonumber(string.match(stored, '^%d+')) or 0) == versions[i]
end

local counters = {}
for i = 4, #KEYS do counters[i - 3] = KEYS[i] end
local stored_values = read_in_chunks(counters, function(...) return redis.call('MGET', ...) end)
-- The TTL of each counter that has changed; 0 if it is removed.
local values, ttls = {}, {}
for i = 1, #counters do values[i] = tonumber(stored_values[i] or '0') end

local server_time, now
if #counters > 0 then
  local time = redis.call('TIME')
  server_time = time[1] * 1000000 + time[2]
  now = tonumber(ARGV[3]) or server_time
end

local outcomes, is_any_applied, position, last = {}, false, 1, #commits
while position <= last do
  local conflict
  local count = position + commits[position] + 1
  for i = position + 1, count - 1 do
    if not conflict and not is_current[commits[i]] then conflict = 's' .. commits[i] end
  end
  local from, to = count + 1, count + commits[count] * 4
  for i = from, to, 4 do
    if conflict then break end
    local counter, amount, bound = commits[i], commits[i + 1], commits[i + 2]
    if bound >= 0 then
      if amount > 0 and values[counter] + amount > bound then conflict = 'e' .. counter end
    elseif bound < -1 then
      local full_at, retry_after = take(counters[counter], values[counter], now, amount, -1 - bound)
      if not full_at then conflict = 'r' .. counter .. ' ' .. format_integer(retry_after) end
    end
  end
  outcomes[#outcomes + 1] = conflict or 0
  if not conflict then
    is_any_applied = true
    for i = from, to, 4 do
      local counter, amount, bound, ttl = commits[i], commits[i + 1], commits[i + 2], commits[i + 3]
      local value = values[counter]
      local total
      if bound >= 0 then value = math.max(0, value + amount)
      elseif bound == -1 then value = math.max(value, amount)
      else
        value = take(counters[counter], value, now, amount, -1 - bound)
        total = value - now
      end
      values[counter] = value
      if bound >= 0 and amount < 0 and value == 0 then
        -- A later commit that changes the counter starts a new one, with its own TTL.
        ttls[counter], stored_values[counter] = 0, false
      elseif ttl > (ttls[counter] or 0) then ttls[counter] = ttl end
      total = total or value
      -- Return larger totals as strings, which clients read exactly.
      outcomes[#outcomes + 1] = total < 1e15 and total or format_integer(total)
    end
  end
  position = to + 1
end
if not is_any_applied then return outcomes end

if next(ttls) then
  local milliseconds = math.floor(server_time / 1000)
  local expired = redis.call('ZRANGEBYSCORE', expiring, '-inf', format_integer(milliseconds), 'LIMIT', 0, 100)
  if #expired > 0 then redis.call('ZREM', expiring, unpack(expired)) end
  local prefix_length, members = #expiring - #'expiring', {}
  for i = 1, #counters do members[i] = string.sub(counters[i], prefix_length + 1) end
  local expiries = read_in_chunks(members, function(...) return redis.call('ZMSCORE', expiring, ...) end)
  for counter, ttl in pairs(ttls) do
    local key, value = counters[counter], format_integer(values[counter])
    if ttl == 0 then
      redis.call('DEL', key)
      redis.call('ZREM', expiring, members[counter])
    elseif not stored_values[counter] or milliseconds + ttl > tonumber(expiries[counter] or 0) then
      -- Extend the TTL a little further, so that the next changes need not extend it again.
      ttl = ttl + math.floor(math.min(ttl / 8, 60000))
      redis.call('SET', key, value, 'PX', format_integer(ttl))
      redis.call('ZADD', expiring, format_integer(milliseconds + ttl), members[counter])
    else
      redis.call('SET', key, value, 'KEEPTTL')
    end
  end
end
redis.call('SET', replay_key, cmsgpack.pack(outcomes), 'PX', ARGV[1])
return outcomes
`)

/** Removes members of `expiring` and their keys. KEYS: expiring, then the keys of the members. ARGV: the members. */
export const deleteExpiring = makeScript(`
for i, member in ipairs(ARGV) do
  redis.call('UNLINK', KEYS[i + 1])
  redis.call('ZREM', KEYS[1], member)
end
return #ARGV
`)

/**
 * KEYS: records, unique keys. ARGV: unique keys. Returns for each its record's key and record, then the
 * parent's key and record if there is a parent; or false.
 */
export const getByUniqueKey = makeScript(`
local replies = {}
for i, unique_key in ipairs(ARGV) do
  local owner = redis.call('HGET', KEYS[2], unique_key)
  replies[i] = false
  if owner then
    local colon = string.find(owner, ':', 1, true)
    local last = colon + tonumber(string.sub(owner, 1, colon - 1))
    local key, parent = string.sub(owner, colon + 1, last), string.sub(owner, last + 1)
    local record = redis.call('HGET', KEYS[1], key)
    if record and parent ~= '' then
      parent = string.sub(parent, 2)
      replies[i] = { key, record, parent, redis.call('HGET', KEYS[1], parent) }
    elseif record then
      replies[i] = { key, record }
    end
  end
end
return replies
`)

/**
 * Lists pages of records. KEYS: records, then terms. ARGV: for each query the positions of its terms, as a list, then
 * its offset, its limit, and 1 if it is descending or 0.
 *
 * For a query with several terms, the script scans the smallest term from the nearer end and looks up each record in
 * the other terms. If `total` of its `size` records match, a scan for `skip + count` matches reads about
 * `(skip + count) * size / total` records. When this exceeds `total`, the script computes the whole intersection
 * instead. Both cost about the same per record.
 */
export const list = makeScript(`
local position, chunk_size = 0, 1000
local function next_number()
  position = position + 1
  return tonumber(ARGV[position])
end

local function reverse(items)
  local reversed = {}
  for i = #items, 1, -1 do reversed[#reversed + 1] = items[i] end
  return reversed
end

local function filter_all(keys, terms)
  for _, term in ipairs(terms) do
    if #keys == 0 then break end
    local matches, scores = {}, redis.call('ZMSCORE', term, unpack(keys))
    for i, key in ipairs(keys) do
      if scores[i] then matches[#matches + 1] = key end
    end
    keys = matches
  end
  return keys
end

local function scan(term, others, size, skip, count, is_reversed)
  local page, rank = {}, 0
  while #page < count and rank < size do
    local keys
    if is_reversed then keys = redis.call('ZRANGE', term, rank, rank + chunk_size - 1, 'REV')
    else keys = redis.call('ZRANGE', term, rank, rank + chunk_size - 1) end
    for _, key in ipairs(filter_all(keys, others)) do
      if skip > 0 then skip = skip - 1
      elseif #page < count then page[#page + 1] = key end
    end
    rank = rank + chunk_size
  end
  return is_reversed and reverse(page) or page
end

local function list_intersection(terms, offset, limit, is_descending)
  local total = redis.call('ZINTERCARD', #terms, unpack(terms))
  local count = math.min(limit, total - offset)
  if count <= 0 then return {}, total end
  if is_descending then offset = total - offset - count end

  local sizes = {}
  for _, term in ipairs(terms) do sizes[term] = redis.call('ZCARD', term) end
  table.sort(terms, function(left, right) return sizes[left] < sizes[right] end)
  local smallest = table.remove(terms, 1)
  local size = sizes[smallest]

  local after_page = total - offset - count
  local is_reversed = after_page < offset
  local skip = is_reversed and after_page or offset
  local page = {}
  if (skip + count) * size <= total * total then
    page = scan(smallest, terms, size, skip, count, is_reversed)
  else
    local all = redis.call('ZINTER', #terms + 1, smallest, unpack(terms))
    for i = offset + 1, offset + count do page[#page + 1] = all[i] end
  end
  return is_descending and reverse(page) or page, total
end

local pages = {}
while position < #ARGV do
  local terms = {}
  for i = 1, next_number() do terms[i] = KEYS[next_number()] end
  local offset, limit, is_descending = next_number(), next_number(), next_number() == 1
  local keys, total
  if #terms > 1 then keys, total = list_intersection(terms, offset, limit, is_descending)
  else
    total = redis.call('ZCARD', terms[1])
    if limit == 0 then keys = {}
    elseif is_descending then keys = redis.call('ZRANGE', terms[1], offset, offset + limit - 1, 'REV')
    else keys = redis.call('ZRANGE', terms[1], offset, offset + limit - 1) end
  end
  local records = {}
  for first = 1, #keys, chunk_size do
    local part = redis.call('HMGET', KEYS[1], unpack(keys, first, math.min(first + chunk_size - 1, #keys)))
    for i = 1, #part do records[first + i - 1] = part[i] end
  end
  pages[#pages + 1] = { total, keys, records }
end
return pages
`)
