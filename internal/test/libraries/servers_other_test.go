// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !race

package libraries

import "testing"

func postgres(t *testing.T) string {
	t.Skip("PostgreSQL is started on Linux only")
	return ""
}

func redisServer(t *testing.T) string {
	t.Skip("Redis is started on Linux only")
	return ""
}
