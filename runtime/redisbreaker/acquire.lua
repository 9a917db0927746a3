-- acquire: may this call run?

if state == 'open' then
  local left = number('open_until') - now
  if left > 0 then return answer(0, left) end
  become('half_open')
end

local limit
if state == 'half_open' then
  limit = probes - number('successes')
elseif number('failures') > 0 then
  limit = threshold - number('failures')
else
  return answer(1, 0)
end

local live, first = slots()
if live >= limit then return answer(0, (first or now) - now) end
set('slot:' .. token, text(now + lease))
return answer(1, 0)
