// SPDX-License-Identifier: Apache-2.0

package hidden

import (
	"context"

	"example.com/app/mydb"
)

func work(context.Context) error { return nil }

// The name of the package is hidden, so there is no fix.
func hidden(ctx context.Context, trace string) error {
	if mydb.Gate.On(mydb.BitQuery) {
		ctx, span := mydb.Tracer.Start(ctx, trace) // want `ctx is declared again in the block`
		defer span.End()
		mydb.Query(ctx)
	}
	return work(ctx)
}
