-- What both scripts share. All times are microseconds of the server's clock.
-- ARGV: failure threshold, probes, recovery time, its cap, lease, token.
--
-- The hash exists only while there is something to remember: no hash is
-- CLOSED without failures. Its fields:
--   state        closed | open | half_open
--   generation   the time when the state began; it never repeats
--   fresh        1 when CLOSED began without a hash
--   failures     in a row, in CLOSED
--   successes    of probes, in HALF_OPEN
--   open_until   end of the recovery time, in OPEN
--   level        how often the recovery time is doubled
--   closed_at    when the breaker last closed
--   slot:<token> end of the lease of a call that is bounded

local key = KEYS[1]
local threshold, probes = tonumber(ARGV[1]), tonumber(ARGV[2])
local base, cap, lease = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local token = ARGV[6]

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

-- Longer than any state needs: the rest of a recovery time and a probe's
-- lease, or the time in which a grown recovery time falls back.
local ttl = 2 * cap + lease

local function text(n) return string.format('%.0f', n) end

local h = {}
local all = redis.call('HGETALL', key)
for i = 1, #all, 2 do h[all[i]] = all[i + 1] end
local state = h.state or 'closed'

local function number(field) return tonumber(h[field] or 0) end

local function set(...)
  local pairs = {...}
  for i = 1, #pairs, 2 do h[pairs[i]] = pairs[i + 1] end
  redis.call('HSET', key, ...)
  redis.call('PEXPIRE', key, text(math.ceil(ttl / 1000)))
end

local function recovery(level) return math.min(cap, base * 2 ^ level) end

-- become starts a state, without the slots of the one before.
local function become(to)
  local generation = math.max(now, number('generation') + 1)
  local level, closed_at = h.level or '0', h.closed_at or '0'
  redis.call('DEL', key)
  h, state = {}, to
  set('state', to, 'generation', text(generation), 'failures', '0', 'successes', '0',
    'open_until', '0', 'level', level, 'closed_at', closed_at)
end

local function open()
  become('open')
  set('open_until', text(now + recovery(number('level'))))
end

-- slots returns how many leases run, and the earliest end; it drops the rest.
local function slots()
  local live, first = 0, nil
  for field, value in pairs(h) do
    if string.sub(field, 1, 5) == 'slot:' then
      local ends = tonumber(value)
      if ends > now then
        live = live + 1
        first = math.min(first or ends, ends)
      else
        redis.call('HDEL', key, field)
      end
    end
  end
  return live, first
end

-- answer is the reply: yes or no, the state, its generation (negative without
-- a hash: then it is the time), the time until it is worth asking again, and
-- the failures counted.
local function answer(yes, wait)
  local generation = h.generation or text(-now)
  return {yes, state, tonumber(generation), math.ceil(wait), number('failures')}
end
