package outbox

import "slices"

// runQueue is a first-in-first-out queue whose memory is used again.
type runQueue struct {
	runs []*run
	head int
}

func (q *runQueue) front() *run {
	if q.head == len(q.runs) {
		return nil
	}
	return q.runs[q.head]
}

func (q *runQueue) popFront() *run {
	r := q.front()
	if r == nil {
		return nil
	}
	q.runs[q.head] = nil
	q.head++
	if q.head == len(q.runs) {
		q.runs, q.head = q.runs[:0], 0
	}
	return r
}

func (q *runQueue) pushBack(r *run) {
	if q.head > 0 && len(q.runs) == cap(q.runs) {
		n := copy(q.runs, q.runs[q.head:])
		clear(q.runs[n:])
		q.runs, q.head = q.runs[:n], 0
	}
	q.runs = append(q.runs, r)
}

func (q *runQueue) pushFront(r *run) {
	if q.head == 0 {
		q.runs = slices.Insert(q.runs, 0, r)
		return
	}
	q.head--
	q.runs[q.head] = r
}

// all are the queued runs, in order; valid until the next change.
func (q *runQueue) all() []*run { return q.runs[q.head:] }
