// SPDX-License-Identifier: Apache-2.0

package hoisted

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/trace"

	"example.com/app/mydb"
)

func work(context.Context) {}

type client struct {
	traced bool
	wanted bool
}

func newClient(wanted bool) *client {
	return &client{traced: mydb.Gate.On(mydb.BitQuery), wanted: wanted} // want `the answer of mydb.Gate.On\(mydb.BitQuery\) is kept in traced \(a field\)`
}

func (c *client) query(ctx context.Context) {
	if c.traced {
		var span trace.Span
		ctx, span = mydb.Tracer.Start(ctx, "query")
		defer span.End()
	}
	if c.wanted { // not a decision
		_, span := mydb.Tracer.Start(ctx, "wanted")
		span.End()
	}
	work(ctx)
}

var enabled = mydb.QueryOn() // want `kept in enabled \(a package variable\)`

func packageVariable(ctx context.Context) {
	if !enabled {
		return
	}
	_, span := mydb.Tracer.Start(ctx, "query")
	defer span.End()
}

func handler() http.Handler {
	on := mydb.Gate.On(mydb.BitQuery) // want `kept in on \(for later calls of a closure\)`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if on {
			_, span := mydb.Tracer.Start(r.Context(), "query")
			defer span.End()
		}
	})
}

func loop(ctx context.Context, queries []string) {
	on := mydb.On(mydb.BitCache) // want `kept in on \(for all rounds of a loop\)`
	for _, q := range queries {
		if on {
			_, span := mydb.Tracer.Start(ctx, q)
			span.End()
		}
	}
}

func loaded(ctx context.Context) {
	groups := mydb.Gate.Load() // want `the answer of mydb.Gate.Load\(\) is kept in groups \(for all rounds of a loop\)`
	for range 10 {
		if groups.HasAny(mydb.BitRetry) {
			_, span := mydb.Tracer.Start(ctx, "retry")
			span.End()
		}
		if groups&mydb.BitCache != 0 {
			_, span := mydb.Tracer.Start(ctx, "cache")
			span.End()
		}
	}
}

// A field may be of another gate where it is read.
type session struct{ on bool }

func newSession(c *client) session {
	gate := &mydb.Gate
	return session{on: gate.On(mydb.BitQuery)} // want `kept in on \(a field\)`
}

func (s session) query(ctx context.Context) {
	if s.on {
		_, span := mydb.Tracer.Start(ctx, "query")
		span.End()
	}
}

func once(ctx context.Context) {
	on := mydb.Gate.On(mydb.BitQuery)
	var span trace.Span
	if on {
		ctx, span = mydb.Tracer.Start(ctx, "query")
	}
	work(ctx)
	if on {
		span.End()
	}
}

func onceEachTime(ctx context.Context, queries []string) {
	for _, q := range queries {
		on := mydb.Gate.On(mydb.BitQuery)
		if on {
			_, span := mydb.Tracer.Start(ctx, q)
			span.End()
		}
	}
}

func closureThatIsCalledHere(ctx context.Context) {
	on := mydb.Gate.On(mydb.BitQuery)
	func() {
		if on {
			_, span := mydb.Tracer.Start(ctx, "query")
			span.End()
		}
	}()
}

type status struct{ on bool }

func report() status { return status{on: mydb.Gate.On(mydb.BitQuery)} } // decides no span

func askedAgainInLoop(ctx context.Context) {
	var on bool
	for range 3 {
		on = mydb.Gate.On(mydb.BitQuery)
		if on {
			_, span := mydb.Tracer.Start(ctx, "query")
			span.End()
		}
	}
	on = mydb.Gate.On(mydb.BitQuery)
	if on {
		_, span := mydb.Tracer.Start(ctx, "query")
		span.End()
	}
}

type options struct{ each func() }

func run(o options) { o.each() }

func optionsOfCall(ctx context.Context) {
	on := mydb.Gate.On(mydb.BitQuery)
	run(options{each: func() {
		if on {
			_, span := mydb.Tracer.Start(ctx, "query")
			span.End()
		}
	}})
}
