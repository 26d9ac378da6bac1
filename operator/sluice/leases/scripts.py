"""The scripts that run inside Redis, each all or nothing.

Each carries the caller's epoch and installation: a Redis that forgot the epoch, or serves a later leader, answers EPOCH; one
that keeps another installation's leases answers INSTALLATION; both change nothing. Any of them may run twice (clients repeat a
request that got no answer), so each is idempotent.

Tables share a bounded number of versions, and what is called a table here is the key of its version. A version is a hash of its
history: each grant and each release makes a new one from the old one and its own request. So equal versions have the same
history, and the leader knows beforehand which version it will leave.

A Redis that is full refuses a script at its first write if that one needs room. REBUILD, BEAT, REACH and a CHANGE that releases
before it grants begin with one that frees, after which they are let through; so leases end, and are told to a next leader. (The
flag that is made for this, allow-oom, is not known to Redis 6.2.)

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

# ARGV: epoch, installation, the changes as JSON, which is read and written faster than many arguments. A change is
# ["GRANT", holder, request, record, rights, tables, their versions as the leader left them], or
# ["RELEASE", holder, token, rights, tables]. Returns an answer for each, as JSON. That to a grant is its token: the same request
# gives the same token again; another one for the same holder is refused. That to a release is its tables' versions after all
# changes.
CHANGE = (
    _EPOCH_IS_MINE
    + """
local function version_of(table)
  return redis.call('HGET', KEYS[3], table) or ''
end

local function grant(holder, request, record, rights, tables, versions)
  local held = redis.call('HGET', KEYS[4], holder)
  if held then
    local token, granted_to = string.match(held, '^([^\\n]*)\\n([^\\n]*)\\n')
    return {granted_to == request and 'GRANTED' or 'OTHER', token}
  end
  for _, right in ipairs(rights) do
    local other = redis.call('HGET', KEYS[9], right)
    if other then
      return {'HELD', right, other}
    end
  end
  for i, table in ipairs(tables) do
    if version_of(table) ~= versions[i] then
      return {'STALE', table}
    end
  end
  local token = ARGV[1] .. ' ' .. redis.call('INCR', KEYS[2])
  for _, right in ipairs(rights) do
    redis.call('HSET', KEYS[9], right, holder)
  end
  for i, table in ipairs(tables) do
    redis.call('HSET', KEYS[3], table, redis.sha1hex(versions[i] .. ' ' .. request))
  end
  redis.call('HSET', KEYS[4], holder, token .. '\\n' .. request .. '\\n' .. record)
  return {'GRANTED', token}
end

local function release(holder, token, rights, tables)
  local held = redis.call('HGET', KEYS[4], holder)
  if held and string.match(held, '^([^\\n]*)\\n') == token then
    redis.call('HDEL', KEYS[4], holder)
    for _, right in ipairs(rights) do
      if redis.call('HGET', KEYS[9], right) == holder then
        redis.call('HDEL', KEYS[9], right)
      end
    end
    for _, table in ipairs(tables) do
      redis.call('HSET', KEYS[3], table, redis.sha1hex(version_of(table) .. ' ' .. token))
    end
  end
  return tables
end

local change = {GRANT = grant, RELEASE = release}
local changes, answers = cjson.decode(ARGV[3]), {}
for i, asked in ipairs(changes) do
  answers[i] = change[asked[1]](unpack(asked, 2))
end
for i, asked in ipairs(changes) do
  if asked[1] == 'RELEASE' then
    for number, table in ipairs(answers[i]) do
      answers[i][number] = version_of(table)
    end
  end
end
return {'CHANGED', cjson.encode(answers)}
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
    redis.call('HDEL', KEYS[4], ARGV[i])
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
redis.call('DEL', KEYS[7])
redis.call('SET', KEYS[7], ARGV[3])
return {'NOTED'}
"""
)

# All that is there, at one moment: a transaction would be refused by a Redis that is full.
FORMER = """
local there = {'THERE'}
for _, key in ipairs({KEYS[6], KEYS[1], KEYS[7], KEYS[8]}) do
  there[#there + 1] = redis.call('GET', key)
end
there[#there + 1] = redis.call('HGETALL', KEYS[4])
return there
"""

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
