package redisbreaker

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Age makes what is stored under a key older by d, which must not be 0: the
// same as waiting.
func Age(ctx context.Context, client *redis.Client, key string, d time.Duration) error {
	return client.Eval(ctx, `
		local all = redis.call('HGETALL', KEYS[1])
		for i = 1, #all, 2 do
			local f = all[i]
			if f == 'open_until' or f == 'closed_at' or string.sub(f, 1, 5) == 'slot:' then
				redis.call('HINCRBY', KEYS[1], f, '-' .. ARGV[1])
			end
		end
		return 0`, []string{key}, d.Microseconds()).Err()
}
