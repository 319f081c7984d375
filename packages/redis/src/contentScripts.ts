/**
 * The Lua scripts that read and write everything in a partition.
 */
import { makeScript, searchFunction } from "./scripts.ts"

/**
 * One step of a scan of the records. KEYS: records. ARGV: the cursor. Returns the next cursor, then the key and the
 * creation sequence of each record. Bodies stay on the server.
 */
export const scanRecords = makeScript(`
local scanned = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', 200)
local fields, reply = scanned[2], { scanned[1] }
for i = 1, #fields, 2 do
  reply[i + 1] = fields[i]
  reply[i + 2] = string.match(fields[i + 1], '^%d+ (%d+)')
end
return reply
`)

/**
 * Reads records until their size reaches a limit. KEYS: records. ARGV: the limit in bytes, then keys of records. Returns
 * an encoded record or false for each key that it reached.
 */
export const readRecords = makeScript(`
local replies, size = {}, 0
for i = 2, #ARGV do
  local record = redis.call('HGET', KEYS[1], ARGV[i])
  replies[#replies + 1] = record
  size = size + #ARGV[i] + (record and #record or 0)
  if size >= tonumber(ARGV[1]) then break end
end
return replies
`)

/**
 * Reads counters and idempotency records until their size reaches a limit. KEYS: their keys. ARGV: the limit in bytes.
 * Returns for each key that it reached its value, or false, and its expiry in milliseconds since the epoch.
 */
export const readExpiring = makeScript(`
local replies, size = {}, 0
for i, key in ipairs(KEYS) do
  local value = redis.call('GET', key)
  replies[#replies + 1] = value
  replies[#replies + 1] = redis.call('PEXPIRETIME', key)
  size = size + #key + (value and #value or 0)
  if size >= tonumber(ARGV[1]) then break end
end
return replies
`)

/**
 * Raises the sequence number, and adds records that do not exist. KEYS: records, unique keys, sequence, totals, then the
 * key of search terms if there are any, and terms, to which records refer by position. ARGV: the sequence number, the
 * position of the key of search terms or 0, the number of records, and for each its key, version, encoded body and encoded
 * owner, then its terms, its unique keys and its search terms, each as a list.
 *
 * Nothing else writes to the partition, so the number of records is the creation sequence of the last one. It never
 * exceeds the sequence number, because each record has a version of its own.
 */
export const writeRecords = makeScript(`
local records, unique_keys, sequence, search = KEYS[1], KEYS[2], KEYS[3], KEYS[tonumber(ARGV[2])]
${searchFunction}
-- The sequence number may stay the same, so the totals would seem to be valid.
redis.call('UNLINK', KEYS[4])
local position = 3
local function next_arg()
  position = position + 1
  return ARGV[position]
end
local function next_list()
  local items = {}
  for i = 1, tonumber(next_arg()) do items[i] = next_arg() end
  return items
end

if tonumber(ARGV[1]) > tonumber(redis.call('GET', sequence) or '0') then redis.call('SET', sequence, ARGV[1]) end
for _ = 1, tonumber(ARGV[3]) do
  local key, version, body, owner = next_arg(), next_arg(), next_arg(), next_arg()
  local terms, new_unique_keys, search_terms = next_list(), next_list(), next_list()
  if redis.call('HEXISTS', records, key) == 0 then
    local created = string.format('%.0f', redis.call('HLEN', records) + 1)
    redis.call('HSET', records, key, version .. ' ' .. created .. ' ' .. body)
    for _, term in ipairs(terms) do redis.call('ZADD', KEYS[tonumber(term)], created, key) end
    for _, unique_key in ipairs(new_unique_keys) do redis.call('HSET', unique_keys, unique_key, owner) end
    for _, term in ipairs(search_terms) do redis.call('ZADD', search, 0, make_match(term, created, owner)) end
  end
end
return redis.status_reply('OK')
`)

/**
 * Sets counters and idempotency records. KEYS: expiring, then their keys. ARGV: for each key its member of `expiring`, its
 * value and its expiry in milliseconds since the epoch. Redis drops a value that has expired.
 */
export const writeExpiring = makeScript(`
for i = 2, #KEYS do
  local member, value, expires = ARGV[i * 3 - 5], ARGV[i * 3 - 4], ARGV[i * 3 - 3]
  redis.call('SET', KEYS[i], value, 'PXAT', expires)
  if redis.call('EXISTS', KEYS[i]) == 1 then redis.call('ZADD', KEYS[1], expires, member) end
end
return redis.status_reply('OK')
`)
