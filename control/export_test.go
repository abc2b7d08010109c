// SPDX-License-Identifier: Apache-2.0

package control

import "time"

// DefaultInterval is the time between two looks at a watched file without [Interval].
const DefaultInterval = defaultInterval

// Patience is how long a look waits for a file system that does not answer.
func Patience(d time.Duration) WatchOption { return func(o *watchOptions) { o.patience = d } }
