"""The scripts that run inside Redis, each all or nothing.

Every one carries the caller's epoch: a Redis that forgot it, or serves a later leader, answers EPOCH and changes
nothing. Any of them may run twice (clients repeat what they heard no answer to), so each is idempotent.

KEYS: epoch, counter, versions, leases, builder.
A lease is kept as three lines: its token as epoch and counter, its hash, its record.
"""

_EPOCH_IS_MINE = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return {'EPOCH', redis.call('GET', KEYS[1]) or ''}
end
"""

# ARGV: epoch, holder, hash, record, then table and version in turn. Gives the token and the versions after it.
GRANT = (
    _EPOCH_IS_MINE
    + """
local answer = {'GRANTED', ''}
local held = redis.call('HGET', KEYS[4], ARGV[2])
if held then
  local token, hash = string.match(held, '^([^\\n]*)\\n([^\\n]*)\\n')
  if hash ~= ARGV[3] then
    return {'OTHER', hash}
  end
  answer[2] = token
else
  for i = 5, #ARGV, 2 do
    local version = redis.call('HGET', KEYS[3], ARGV[i]) or '0'
    if version ~= ARGV[i + 1] then
      return {'STALE', ARGV[i], version}
    end
  end
  for i = 5, #ARGV, 2 do
    redis.call('HINCRBY', KEYS[3], ARGV[i], 1)
  end
  answer[2] = ARGV[1] .. ' ' .. redis.call('INCR', KEYS[2])
  redis.call('HSET', KEYS[4], ARGV[2], answer[2] .. '\\n' .. ARGV[3] .. '\\n' .. ARGV[4])
end
for i = 5, #ARGV, 2 do
  answer[#answer + 1] = redis.call('HGET', KEYS[3], ARGV[i]) or '0'
end
return answer
"""
)

# ARGV: epoch, holder, then the tables. Gives the tables' versions after it.
RELEASE = (
    _EPOCH_IS_MINE
    + """
local released = redis.call('HDEL', KEYS[4], ARGV[2])
local answer = {'RELEASED'}
for i = 3, #ARGV do
  if released == 1 then
    redis.call('HINCRBY', KEYS[3], ARGV[i], 1)
  end
  answer[#answer + 1] = redis.call('HGET', KEYS[3], ARGV[i]) or '0'
end
return answer
"""
)

# ARGV: new epoch, builder, then holder, value, and so on. Only a higher epoch may take over; the same one only if
# it is the same request come twice, which must not undo what was granted since.
REBUILD = """
local epoch = tonumber(redis.call('GET', KEYS[1]) or '0')
if epoch == tonumber(ARGV[1]) and redis.call('GET', KEYS[5]) == ARGV[2] then
  return {'REBUILT'}
end
if epoch >= tonumber(ARGV[1]) then
  return {'EPOCH', tostring(epoch)}
end
redis.call('DEL', KEYS[2], KEYS[3], KEYS[4])
for i = 3, #ARGV, 2 do
  redis.call('HSET', KEYS[4], ARGV[i], ARGV[i + 1])
end
redis.call('SET', KEYS[5], ARGV[2])
redis.call('SET', KEYS[1], ARGV[1])
return {'REBUILT'}
"""
