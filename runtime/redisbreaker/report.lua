-- report: how a call ended. ARGV[7] is the generation that admitted it,
-- ARGV[8] its outcome: success, failure or neutral.

local admitted, outcome = tonumber(ARGV[7]), ARGV[8]

local ends = tonumber(h['slot:' .. token] or '0')
local held = ends > now
if ends > 0 then redis.call('HDEL', key, 'slot:' .. token) end

-- A call that was admitted without a hash belongs to the CLOSED time that
-- began without one, unless it is so old that another may have come and gone.
local current
if admitted < 0 then
  current = (h.state == nil or h.fresh == '1') and now + admitted < ttl
else
  current = h.generation ~= nil and tonumber(h.generation) == admitted
end
if not current or (state == 'half_open' and not held) then return answer(0, 0) end

if state == 'half_open' then
  if outcome == 'failure' then
    if recovery(number('level')) < cap then set('level', text(number('level') + 1)) end
    open()
  elseif outcome == 'success' then
    set('successes', text(number('successes') + 1))
    if number('successes') >= probes then
      become('closed')
      set('closed_at', text(now))
    end
  end
elseif outcome == 'failure' then
  if h.state == nil then
    become('closed')
    set('fresh', '1')
  end
  set('failures', text(number('failures') + 1))
  if number('failures') >= threshold then
    local level, healthy = number('level'), now - number('closed_at')
    while level > 0 and healthy >= recovery(level) do
      healthy = healthy - recovery(level)
      level = level - 1
    end
    set('level', text(level))
    open()
  end
elseif outcome == 'success' and number('failures') > 0 then
  set('failures', '0')
end

local left = 0
if state == 'open' then left = number('open_until') - now end
return answer(1, left)
