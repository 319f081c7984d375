/**
 * The Lua scripts. Each declares every key that it accesses, checks all preconditions before it applies a change, and
 * never parses record bodies. Numbers are formatted with `%.0f`, because Lua's `tostring` loses digits from 1e15.
 */
import { createHash } from "node:crypto"
import { postingsInPiece } from "@tollgate/store"

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

/** Reads the items from `first` on, with several calls of `read` if one cannot take so many arguments. */
const readInChunksFunction = `
-- Lua limits the number of arguments of a call to a few thousand.
local max_arguments = 4000
local function read_in_chunks(items, first, read)
  local last = #items
  if first > last then return {} end
  if last - first < max_arguments then return read(unpack(items, first)) end
  local values = {}
  for from = first, last, max_arguments do
    local part = read(unpack(items, from, math.min(from + max_arguments - 1, last)))
    for i = 1, #part do values[from - first + i] = part[i] end
  end
  return values
end
`

/** The digits of a place in a member of the sorted set of search terms. */
export const placeDigits = 16

/** A member begins with its term, and U+0000 comes before all that terms contain: the members of a term come before longer ones. */
export const searchFunction = `
local function make_match(term, created, owner)
  return term .. '\\0' .. string.format('%0${placeDigits}.0f', ${Number.MAX_SAFE_INTEGER} - tonumber(created)) .. owner
end
`

export const makeScript = (lua: string): Script => ({ lua, sha: createHash("sha1").update(lua).digest("hex") })

/**
 * Applies one commit.
 *
 * KEYS: records, unique keys, sequence, expiring, the replay key, then terms and counters, to which changes
 * refer by position.
 * ARGV: the data to store after the result for replays, its TTL, its member of `expiring` (or ""), the caller's time in
 * microseconds (or "" for the server's), the position of the key of search terms (or 0 if none change), the number of changes, and
 * the changes, each as a letter and its fields: P put, D delete, C check, L at most, A add, R raise, T take, E check of a
 * counter. A list is its length followed by its items. No other command runs between the checks and the changes.
 */
export const commit = makeScript(`
local records, unique_keys, sequence, expiring, replay_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local search = KEYS[tonumber(ARGV[5])]

local replay = redis.call('GET', replay_key)
if replay then
  -- Write it again, so that a WAIT after this script also covers the replayed result.
  redis.call('SET', replay_key, replay, 'KEEPTTL')
  return {'replay', replay}
end

local position = 6
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
${takeFunction}${searchFunction}
local server_time
local function get_server_time()
  if not server_time then
    local time = redis.call('TIME')
    server_time = time[1] * 1000000 + time[2]
  end
  return server_time
end

local changes, replaced, puts = {}, {}, 0
for i = 1, tonumber(ARGV[6]) do
  local change = { tag = next_arg() }
  if change.tag == 'P' or change.tag == 'D' or change.tag == 'C' then
    change.key, change.expect = next_arg(), next_arg()
    if change.tag ~= 'C' then
      replaced[change.key] = true
      change.removed_terms, change.removed_unique_keys = next_keys(), next_list()
      change.removed_search_terms, change.previous_owner = next_list(), next_arg()
    end
    if change.tag == 'P' then
      puts = puts + 1
      change.body, change.owner, change.added_terms, change.unique_keys = next_arg(), next_arg(), next_keys(), next_list()
      change.added_search_terms = next_list()
    end
  elseif change.tag == 'L' then
    change.key, change.at_most, change.name = next_key(), next_arg(), next_arg()
  elseif change.tag == 'E' then
    change.key, change.expect, change.name = next_key(), tonumber(next_arg()), next_arg()
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
  elseif change.tag == 'E' then
    if tonumber(redis.call('GET', change.key) or '0') ~= change.expect then return {'stale', change.name} end
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

local function remove_search_terms(change)
  for _, term in ipairs(change.removed_search_terms) do
    redis.call('ZREM', search, make_match(term, change.created, change.previous_owner))
  end
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
    remove_search_terms(change)
    for _, term in ipairs(change.added_search_terms) do
      redis.call('ZADD', search, 0, make_match(term, created, change.owner))
    end
    for _, unique_key in ipairs(change.unique_keys) do
      redis.call('HSET', unique_keys, unique_key, change.owner)
    end
    versions[#versions + 1] = version
  elseif change.tag == 'D' then
    redis.call('HDEL', records, change.key)
    for _, term in ipairs(change.removed_terms) do redis.call('ZREM', term, change.key) end
    remove_search_terms(change)
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
 * request runs it, so it makes few Redis calls, and decodes what most commits share only once.
 *
 * KEYS: records, expiring, the replay key, then the counters.
 * ARGV: the TTL of the replay; a JSON array of the checked keys, their expected versions, the kinds of counter changes,
 * and the counter changes of each commit; a JSON array of the checks of each commit; and the caller's time in microseconds
 * (or "" for the server's). Each of the last two lists is one list of numbers for all commits: the number of checks and
 * their positions; the number of counter changes, and for each the positions of its counter and of its kind. A kind is
 * three numbers: an amount, a bound and the TTL. A bound of 0 or more is the maximum of an add, -1 marks a raise, and a
 * lower bound is -1 - burst × interval of a take, whose amount is cost × interval. The member of a counter in `expiring`
 * is the counter's key without the prefix of the partition.
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
local keys, versions, kinds, commits = batch[1], batch[2], batch[3], batch[4]
local function format_integer(n) return string.format('%.0f', n) end
${takeFunction}${readInChunksFunction}
local is_stale, is_any_stale = {}, false
local stored_records = read_in_chunks(keys, 1, function(...) return redis.call('HMGET', records, ...) end)
for i = 1, #keys do
  local stored = stored_records[i]
  if (stored and tonumber(string.match(stored, '^%d+')) or 0) ~= versions[i] then
    is_stale[i], is_any_stale = true, true
  end
end

-- The first stale check of each commit.
local stale_checks = {}
if is_any_stale then
  local checks, position, commit = cjson.decode(ARGV[3]), 1, 1
  while position <= #checks do
    local last = position + checks[position]
    for i = last, position + 1, -1 do
      if is_stale[checks[i]] then stale_checks[commit] = checks[i] end
    end
    position, commit = last + 1, commit + 1
  end
end

local first_counter = 3
local stored_values = read_in_chunks(KEYS, first_counter + 1, function(...) return redis.call('MGET', ...) end)
local values = {}
for i = 1, #stored_values do values[i] = tonumber(stored_values[i] or '0') end

local server_time, now
if #values > 0 then
  local time = redis.call('TIME')
  server_time = time[1] * 1000000 + time[2]
  now = tonumber(ARGV[4]) or server_time
end

-- The counters that have changed, and the TTL of each; 0 if it is removed.
local changed, ttls = {}, {}
local outcomes, outcome_count, is_any_applied, position, commit = {}, 0, false, 1, 1
while position <= #commits do
  local from, to = position + 1, position + commits[position] * 2
  local conflict = stale_checks[commit] and 's' .. stale_checks[commit]
  local new_values, totals, count = {}, {}, 0
  if not conflict then
    for i = from, to, 2 do
      local counter, kind = commits[i], commits[i + 1]
      local amount, bound, value = kinds[kind], kinds[kind + 1], values[counter]
      count = count + 1
      if bound >= 0 then
        value = value + amount
        if amount > 0 and value > bound then conflict = 'e' .. counter break end
        if value < 0 then value = 0 end
        totals[count] = value
      elseif bound == -1 then
        if amount > value then value = amount end
        totals[count] = value
      else
        local full_at, retry_after = take(KEYS[first_counter + counter], value, now, amount, -1 - bound)
        if not full_at then conflict = 'r' .. counter .. ' ' .. format_integer(retry_after) break end
        value = full_at
        totals[count] = full_at - now
      end
      new_values[count] = value
    end
  end
  outcome_count = outcome_count + 1
  outcomes[outcome_count] = conflict or 0
  if not conflict then
    is_any_applied = true
    for i = 1, count do
      local counter, kind = commits[from + 2 * i - 2], commits[from + 2 * i - 1]
      local value, total, ttl = new_values[i], totals[i], kinds[kind + 2]
      values[counter] = value
      if not ttls[counter] then changed[#changed + 1] = counter end
      if value == 0 and kinds[kind] < 0 then
        -- A later commit that changes the counter starts a new one, with its own TTL.
        ttls[counter], stored_values[counter] = 0, false
      elseif ttl > (ttls[counter] or 0) then ttls[counter] = ttl end
      -- Return larger totals as strings, which clients read exactly.
      outcomes[outcome_count + i] = total < 1e15 and total or format_integer(total)
    end
    outcome_count = outcome_count + count
  end
  position, commit = to + 1, commit + 1
end
if not is_any_applied then return outcomes end

if #changed > 0 then
  local milliseconds = math.floor(server_time / 1000)
  local expired = redis.call('ZRANGEBYSCORE', expiring, '-inf', format_integer(milliseconds), 'LIMIT', 0, 100)
  if #expired > 0 then redis.call('ZREM', expiring, unpack(expired)) end
  local prefix_length = #expiring - #'expiring'
  for i = 1, #changed do
    local counter = changed[i]
    local key, ttl = KEYS[first_counter + counter], ttls[counter]
    if ttl == 0 then
      redis.call('DEL', key)
      redis.call('ZREM', expiring, string.sub(key, prefix_length + 1))
    elseif stored_values[counter] and redis.call('PTTL', key) >= ttl then
      redis.call('SET', key, format_integer(values[counter]), 'KEEPTTL')
    else
      -- Extend the TTL a little further, so that the next changes need not extend it again.
      ttl = ttl + math.floor(math.min(ttl / 8, 60000))
      redis.call('SET', key, format_integer(values[counter]), 'PX', format_integer(ttl))
      redis.call('ZADD', expiring, format_integer(milliseconds + ttl), string.sub(key, prefix_length + 1))
    end
  end
end
redis.call('SET', replay_key, cmsgpack.pack(outcomes), 'PX', ARGV[1])
return outcomes
`)

/**
 * Removes members of `expiring` and their keys, and the totals. KEYS: expiring, totals, then the keys of the members. ARGV:
 * the members.
 */
export const deleteExpiring = makeScript(`
redis.call('UNLINK', KEYS[2])
for i, member in ipairs(ARGV) do
  redis.call('UNLINK', KEYS[i + 2])
  redis.call('ZREM', KEYS[1], member)
end
return #ARGV
`)

/**
 * KEYS: records, unique keys. ARGV: unique keys. Returns one list: for each unique key that has a record, its record's key
 * and record, then the parent's key and record, or false for each that does not exist; for another unique key, false.
 */
export const getByUniqueKey = makeScript(`
${readInChunksFunction}
local owners = read_in_chunks(ARGV, 1, function(...) return redis.call('HMGET', KEYS[2], ...) end)
local keys, parents, names = {}, {}, {}
for i = 1, #owners do
  local owner = owners[i]
  if owner then
    local colon = string.find(owner, ':', 1, true)
    local last = colon + tonumber(string.sub(owner, 1, colon - 1))
    keys[i] = string.sub(owner, colon + 1, last)
    names[#names + 1] = keys[i]
    if last < #owner then
      parents[i] = string.sub(owner, last + 2)
      names[#names + 1] = parents[i]
    end
  end
end

local records = read_in_chunks(names, 1, function(...) return redis.call('HMGET', KEYS[1], ...) end)
local replies, count, position = {}, 0, 0
for i = 1, #owners do
  local key, parent, record, parent_record = keys[i], parents[i], false, false
  if key then
    position = position + 1
    record = records[position]
  end
  if parent then
    position = position + 1
    parent_record = records[position]
  end
  if record then
    replies[count + 1], replies[count + 2] = key, record
    replies[count + 3], replies[count + 4] = parent or false, parent_record
    count = count + 4
  else
    count = count + 1
    replies[count] = false
  end
end
return replies
`)

/** Parts of the scripts that list. */
const listFunctions = `
local chunk_size = 1000
-- Sorts the terms by size, and by name if several have the same. Returns the sizes.
local function sort_by_size(terms)
  local sizes = {}
  for _, term in ipairs(terms) do sizes[term] = redis.call('ZCARD', term) end
  table.sort(terms, function(left, right)
    if sizes[left] == sizes[right] then return left < right end
    return sizes[left] < sizes[right]
  end)
  return sizes
end

-- The keys that have the other terms as well. The terms are sorted by size, and the keys have the first.
local function filter_all(keys, terms)
  for i = 2, #terms do
    if #keys == 0 then break end
    local matches = {}
    for first = 1, #keys, chunk_size do
      local last = math.min(first + chunk_size - 1, #keys)
      for j, score in ipairs(redis.call('ZMSCORE', terms[i], unpack(keys, first, last))) do
        if score then matches[#matches + 1] = keys[first + j - 1] end
      end
    end
    keys = matches
  end
  return keys
end
`

/**
 * A reply ends with the record with which it has this size. Until the client has read a reply, all later ones wait. A
 * thousand ordinary records fit into one.
 */
const maxReplyBytes = 1024 * 1024

const readFunctions = `
local reply_bytes, read_size = 0, 50
local function read_records(records_key, keys)
  local records = {}
  for first = 1, #keys, read_size do
    if reply_bytes >= ${maxReplyBytes} then return records end
    local last = math.min(first + read_size - 1, #keys)
    for _, record in ipairs(redis.call('HMGET', records_key, unpack(keys, first, last))) do
      if reply_bytes >= ${maxReplyBytes} then return records end
      records[#records + 1] = record
      reply_bytes = reply_bytes + (record and #record or 0)
    end
  end
  return records
end`

/** Reads records. KEYS: records. ARGV: their keys. Returns the first of them, as many as a reply may have. */
export const readRecords = makeScript(`
${readFunctions}
return read_records(KEYS[1], ARGV)
`)

/**
 * Lists pages of records. KEYS: records, sequence and totals if a query has several terms, then terms. ARGV: for each query
 * the positions of its terms, as a list, then its offset, its limit, 1 if it is descending or 0, and the creation sequence
 * after which it begins, or "". Returns for each its total, its keys, the records of the first of them, and 1 if there are
 * more keys or 0. `readRecords` reads the rest of the records.
 *
 * A query with several terms that would compare more than `postingsInPiece` postings is not answered, because a script
 * blocks the server for all: it returns its total if that is known, or -1, then the name and the state of the total, no
 * records, and 2. `listPiece` then reads it in pieces, and `keepTotal` keeps its total with the state that it was counted
 * in: the sequence number and the size of each term. A put advances the sequence number, and a delete makes the terms
 * smaller, so while the state is the same, so is the total. (`writeRecords` removes the totals.) The server keeps it,
 * because after a failover to a replica that lacks the last writes, sequence numbers repeat. Such a replica also lacks the
 * totals of those writes.
 */
export const list = makeScript(`
local records_key, sequence, totals = KEYS[1], KEYS[2], KEYS[3]
local position = 0
local function next_number()
  position = position + 1
  return tonumber(ARGV[position])
end
${listFunctions}
${readFunctions}
local function read_ranks(term, first, count, is_descending)
  if is_descending then return redis.call('ZRANGE', term, first, first + count - 1, 'REV') end
  return redis.call('ZRANGE', term, first, first + count - 1)
end

-- How many records of a term a query passes before it begins.
local function count_passed(term, after, is_descending)
  if after == '' then return 0 end
  if is_descending then return redis.call('ZCOUNT', term, after, '+inf') end
  return redis.call('ZCOUNT', term, '-inf', after)
end

-- The terms are sorted by size.
local function describe_large(terms, sizes)
  local names, state = {}, redis.call('GET', sequence) or '0'
  for i, term in ipairs(terms) do
    names[i] = #term .. ':' .. term
    state = state .. ' ' .. sizes[term]
  end
  local field = redis.sha1hex(table.concat(names))
  local kept = redis.call('HGET', totals, field)
  local is_known = kept and string.match(kept, '^(.*) %d+$') == state
  return { is_known and tonumber(string.match(kept, '%d+$')) or -1, { field, state }, {}, 2 }
end

-- The terms are sorted by size. Reads the smallest from where the page begins, and looks up each record in the others.
local function list_intersection(terms, size, offset, count, is_descending, after)
  local total, page = redis.call('ZINTERCARD', #terms, unpack(terms)), {}
  if count == 0 or total == 0 then return page, total end
  local rank = count_passed(terms[1], after, is_descending)
  if total == size then return read_ranks(terms[1], rank + offset, count, is_descending), total end
  while #page < count and rank < size do
    for _, key in ipairs(filter_all(read_ranks(terms[1], rank, chunk_size, is_descending), terms)) do
      if offset > 0 then offset = offset - 1
      elseif #page < count then page[#page + 1] = key end
    end
    rank = rank + chunk_size
  end
  return page, total
end

local pages = {}
while position < #ARGV do
  local terms = {}
  for i = 1, next_number() do terms[i] = KEYS[next_number()] end
  local offset, limit, is_descending = next_number(), next_number(), next_number() == 1
  position = position + 1
  local after = ARGV[position]
  -- One more than the page has, which tells whether there are more.
  local keys, total, count, large = {}, nil, limit > 0 and limit + 1 or 0, nil
  local sizes = #terms > 1 and sort_by_size(terms)
  if sizes and sizes[terms[1]] * #terms > ${postingsInPiece} then large = describe_large(terms, sizes)
  elseif sizes then keys, total = list_intersection(terms, sizes[terms[1]], offset, count, is_descending, after)
  else
    total = redis.call('ZCARD', terms[1])
    local first = count_passed(terms[1], after, is_descending) + offset
    if limit > 0 then keys = read_ranks(terms[1], first, count, is_descending) end
  end
  local has_more = #keys > limit and 1 or 0
  if has_more == 1 then keys[#keys] = nil end
  pages[#pages + 1] = large or { total, keys, read_records(records_key, keys), has_more }
end
return pages
`)

/**
 * Reads a piece of a list. KEYS: the terms. ARGV: the number of records of the smallest term to look at, the creation
 * sequence after which to begin, or "", 1 if it is descending or 0, how many matches to skip, and how many to return.
 * Returns the number of matches, their keys, and the creation sequence at which the next piece begins, or "".
 */
export const listPiece = makeScript(`
local size, after, is_descending, skip, wanted =
  tonumber(ARGV[1]), ARGV[2], ARGV[3] == '1', tonumber(ARGV[4]), tonumber(ARGV[5])
local terms = {}
for i, term in ipairs(KEYS) do terms[i] = term end
${listFunctions}
sort_by_size(terms)
local smallest, keys = terms[1], nil
if is_descending then
  local from = after == '' and '+inf' or '(' .. after
  keys = redis.call('ZRANGE', smallest, from, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, size)
else
  local from = after == '' and '-inf' or '(' .. after
  keys = redis.call('ZRANGE', smallest, from, '+inf', 'BYSCORE', 'LIMIT', 0, size)
end
local end_of_piece = #keys == size and redis.call('ZSCORE', smallest, keys[#keys]) or ''
local matches, page = filter_all(keys, terms), {}
for i = skip + 1, math.min(#matches, skip + wanted) do page[#page + 1] = matches[i] end
return { #matches, page, end_of_piece }
`)

/** Keeps the total of a large list. KEYS: totals. ARGV: its name, its state, and the total. */
export const keepTotal = makeScript(`
local max_kept_totals, kept_ms = 100, 600000
-- A server that is out of memory or lacks replicas rejects writes, but still lists.
if redis.call('HLEN', KEYS[1]) >= max_kept_totals then redis.pcall('DEL', KEYS[1]) end
redis.pcall('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. ARGV[3])
redis.pcall('PEXPIRE', KEYS[1], kept_ms)
`)

/**
 * Finds search terms. KEYS: search. ARGV: for each query its prefix, the term after which it begins, or "", and its limit.
 * Returns the members of each. U+0001 comes after the members of a term and before all longer ones; no text in UTF-8
 * contains the byte 255.
 */
export const search = makeScript(`
local replies = {}
for i = 1, #ARGV, 3 do
  local prefix, after, limit = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local from = after == '' and prefix or after .. '\\1'
  replies[#replies + 1] =
    redis.call('ZRANGE', KEYS[1], '[' .. from, '(' .. prefix .. '\\255', 'BYLEX', 'LIMIT', 0, limit)
end
return replies
`)
