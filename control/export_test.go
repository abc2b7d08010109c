// SPDX-License-Identifier: Apache-2.0

package control

import "time"

// Settle puts d in place of the time for which a watched file must stay as it is. With a very
// short one or a very long one, no test depends on how fast the machine is.
func Settle(d time.Duration) Option { return func(o *options) { o.settle = d } }
