"""The scripts that run inside Redis, each all or nothing.

Each carries the caller's epoch and installation: a Redis that forgot the epoch, or serves a later leader, answers EPOCH; one
that keeps another installation's leases answers INSTALLATION; both change nothing. Any of them may run twice (clients repeat a
request that got no answer), so each is idempotent.

A table's version is a hash of its history: each grant and each release makes a new one from the old one and its own request.
So equal versions have the same history, and the leader knows beforehand which version it will leave.

KEYS: epoch, counter, versions, leases, builder, installation, beat, adopted, rights. A lease is kept as lines: its token as epoch
and counter, the request that it was granted to, its record; and how far its holder reaches, if that is known.
"""

_INSTALLATION_IS_MINE = """
local installation = redis.call('GET', KEYS[6])
if installation and installation ~= ARGV[2] then
  return {'INSTALLATION', installation}
end
"""

_EPOCH_IS_MINE = (
    _INSTALLATION_IS_MINE
    + """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return {'EPOCH', redis.call('GET', KEYS[1]) or ''}
end
"""
)

# ARGV: epoch, installation, holder, request, record, how many rights, the rights, then table and version in turn, as the leader
# left it. Returns the token. The same request gives the same token again; another one for the same holder is refused.
GRANT = (
    _EPOCH_IS_MINE
    + """
local held = redis.call('HGET', KEYS[4], ARGV[3])
if held then
  local token, request = string.match(held, '^([^\\n]*)\\n([^\\n]*)\\n')
  if request ~= ARGV[4] then
    return {'OTHER', token}
  end
  return {'GRANTED', token}
end
local tables = 7 + tonumber(ARGV[6])
for i = tables, #ARGV, 2 do
  local version = redis.call('HGET', KEYS[3], ARGV[i]) or ''
  if version ~= ARGV[i + 1] then
    return {'STALE', ARGV[i], version}
  end
end
for i = 7, tables - 1 do
  local holder = redis.call('HGET', KEYS[9], ARGV[i])
  if holder then
    return {'HELD', ARGV[i], holder}
  end
end
for i = 7, tables - 1 do
  redis.call('HSET', KEYS[9], ARGV[i], ARGV[3])
end
for i = tables, #ARGV, 2 do
  redis.call('HSET', KEYS[3], ARGV[i], redis.sha1hex(ARGV[i + 1] .. ' ' .. ARGV[4]))
end
local token = ARGV[1] .. ' ' .. redis.call('INCR', KEYS[2])
redis.call('HSET', KEYS[4], ARGV[3], token .. '\\n' .. ARGV[4] .. '\\n' .. ARGV[5])
return {'GRANTED', token}
"""
)

# ARGV: epoch, installation, holder, token, how many rights, the rights, then the tables. Returns the tables' versions after it.
RELEASE = (
    _EPOCH_IS_MINE
    + """
local held = redis.call('HGET', KEYS[4], ARGV[3])
local released = held and string.match(held, '^([^\\n]*)\\n') == ARGV[4]
local tables = 6 + tonumber(ARGV[5])
if released then
  redis.call('HDEL', KEYS[4], ARGV[3])
  for i = 6, tables - 1 do
    if redis.call('HGET', KEYS[9], ARGV[i]) == ARGV[3] then
      redis.call('HDEL', KEYS[9], ARGV[i])
    end
  end
end
local answer = {'RELEASED'}
for i = tables, #ARGV do
  local version = redis.call('HGET', KEYS[3], ARGV[i]) or ''
  if released then
    version = redis.sha1hex(version .. ' ' .. ARGV[4])
    redis.call('HSET', KEYS[3], ARGV[i], version)
  end
  answer[#answer + 1] = version
end
return answer
"""
)

# ARGV: new epoch, installation, builder, the leader's beat, how many rights, then right, holder, and so on, then holder, value,
# and so on. Only a higher epoch may take over;
# the same one only if the same request came twice, which must not undo what was granted since. Redis belongs to whoever
# rebuilds first.
REBUILD = (
    _INSTALLATION_IS_MINE
    + """
local epoch = tonumber(redis.call('GET', KEYS[1]) or '0')
if epoch == tonumber(ARGV[1]) and redis.call('GET', KEYS[5]) == ARGV[3] then
  return {'REBUILT'}
end
if epoch >= tonumber(ARGV[1]) then
  return {'EPOCH', tostring(epoch)}
end
redis.call('DEL', KEYS[2], KEYS[3], KEYS[4], KEYS[8], KEYS[9])
local holders = 6 + 2 * tonumber(ARGV[5])
for i = 6, holders - 1, 2 do
  redis.call('HSET', KEYS[9], ARGV[i], ARGV[i + 1])
end
for i = holders, #ARGV, 2 do
  redis.call('HSET', KEYS[4], ARGV[i], ARGV[i + 1])
end
redis.call('SET', KEYS[5], ARGV[3])
redis.call('SET', KEYS[6], ARGV[2])
redis.call('SET', KEYS[7], ARGV[4])
redis.call('SET', KEYS[1], ARGV[1])
return {'REBUILT'}
"""
)

# ARGV: epoch, installation, then holder, token and how far it reaches, and so on.
REACH = (
    _EPOCH_IS_MINE
    + """
for i = 3, #ARGV, 3 do
  local held = redis.call('HGET', KEYS[4], ARGV[i]) or ''
  local token, request, record = string.match(held, '^([^\\n]*)\\n([^\\n]*)\\n([^\\n]*)')
  if token == ARGV[i + 1] then
    redis.call('HSET', KEYS[4], ARGV[i], table.concat({token, request, record, ARGV[i + 2]}, '\\n'))
  end
end
return {'NOTED'}
"""
)

# ARGV: epoch, installation, beat.
BEAT = (
    _EPOCH_IS_MINE
    + """
redis.call('SET', KEYS[7], ARGV[3])
return {'NOTED'}
"""
)

# ARGV: the installation that it is taken from, the one that takes it. The rebuild that follows holds what nothing explains.
ADOPT = """
local installation = redis.call('GET', KEYS[6]) or ''
if installation == ARGV[2] then
  return {'ADOPTED'}
end
if installation ~= ARGV[1] then
  return {'INSTALLATION', installation}
end
redis.call('SET', KEYS[6], ARGV[2])
redis.call('SET', KEYS[8], ARGV[1])
return {'ADOPTED'}
"""
