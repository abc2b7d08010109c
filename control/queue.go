// SPDX-License-Identifier: Apache-2.0

package control

import (
	"sync"
	"sync/atomic"
	"time"
)

// maxQueued is how many functions wait in a queue at most.
const maxQueued = 4096

// queue calls functions one after the other, in the order in which they were put, on a
// goroutine of its own. The goroutine exists only while there is a function to call, so a queue
// has no Close. Its methods may be called from any goroutine, and by a queued function.
type queue struct {
	report  func(n int)  // queued in place of n functions that were dropped
	dropped atomic.Int64 // all functions that were dropped

	mu      sync.Mutex
	waiting []func()
	missed  int           // dropped since the last report was queued
	held    bool          // no function is called before resume
	idle    chan struct{} // closed when the goroutine ends; nil if there is none
}

// put queues fn, or drops it if maxQueued functions are waiting. It does not wait.
func (q *queue) put(fn func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= maxQueued {
		q.missed++
		q.dropped.Add(1)
		return
	}
	q.reportMissed()
	q.waiting = append(q.waiting, fn)
	q.start()
}

// resume lets a queue that was held call its functions.
func (q *queue) resume() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held = false
	q.start()
}

// wait waits until every function that was queued has returned, but not longer than d, and
// reports whether they have.
func (q *queue) wait(d time.Duration) bool {
	q.mu.Lock()
	idle := q.idle
	q.mu.Unlock()
	if idle == nil {
		return true
	}
	select {
	case <-idle:
		return true
	case <-time.After(d):
		return false
	}
}

// start starts the goroutine if it is needed. mu is held.
func (q *queue) start() {
	if !q.held && q.idle == nil && len(q.waiting) > 0 {
		q.idle = make(chan struct{})
		go q.run()
	}
}

func (q *queue) run() {
	fn := q.next()
	defer func() {
		if fn != nil { // it called runtime.Goexit, as the FailNow of a test does
			go q.run()
		}
	}()
	for ; fn != nil; fn = q.next() {
		fn()
	}
}

// next takes the first function from the queue. It returns nil if there is none: the goroutine
// ends then.
func (q *queue) next() func() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.reportMissed()
	}
	if len(q.waiting) == 0 {
		q.waiting = nil // frees the array
		close(q.idle)
		q.idle = nil
		return nil
	}
	fn := q.waiting[0]
	q.waiting[0] = nil
	q.waiting = q.waiting[1:]
	return fn
}

// reportMissed queues a report of what was dropped since the last one. mu is held.
func (q *queue) reportMissed() {
	if n := q.missed; n > 0 {
		q.missed = 0
		q.waiting = append(q.waiting, func() { q.report(n) })
	}
}
