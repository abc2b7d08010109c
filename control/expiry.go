// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"time"

	"github.com/spangate/spangate/control/wire"
)

// errNothing is an expiry with nothing to expire.
var errNothing = errors.New("nothing has ended")

// arm sets the timer that calls expire when the first lease ends. There is one timer, however
// many leases there are, and none runs while there is no lease.
func (c *Controller) arm(at time.Time) {
	if len(c.wanted.leases) == 0 {
		if c.timer != nil {
			c.timer.Stop()
		}
		return
	}
	left := c.wanted.leases[0].end.Sub(at)
	if c.timer == nil {
		c.timer = time.AfterFunc(left, c.expire)
	} else {
		c.timer.Reset(left)
	}
}

// expire ends the leases whose time has passed, all in one change.
//
// It may find none: the timer can fire while another change, which renews or releases the
// lease that was due, holds the lock. Either way update arms the timer for the next one.
func (c *Controller) expire() {
	_ = c.update(author{}, func(at time.Time) (cause, error) {
		ended := c.wanted.leases.ended(at)
		if len(ended) == 0 {
			return cause{}, errNothing
		}
		owners, which := ended.describe()
		c.drop(ended...)
		return cause{wire.KindExpiry, owners, which + " ended"}, nil
	})
}
