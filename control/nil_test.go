// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"context"
	"flag"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/registry"
)

type nilProvider struct{ noop.MeterProvider }

// TestNilAndZeroControllersRefuse calls every method of the controller, with zero and with valid
// arguments.
func TestNilAndZeroControllersRefuse(t *testing.T) {
	valid := map[reflect.Type]reflect.Value{
		reflect.TypeFor[context.Context]():      reflect.ValueOf(context.Background()),
		reflect.TypeFor[string]():               reflect.ValueOf("x"),
		reflect.TypeFor[time.Duration]():        reflect.ValueOf(time.Minute),
		reflect.TypeFor[control.LeaseRequest](): reflect.ValueOf(control.LeaseRequest{Owner: "me", Spec: "job", TTL: time.Minute}),
		reflect.TypeFor[control.Baseline]():     reflect.ValueOf(control.Baseline{Spec: "job"}),
	}
	for name, c := range map[string]*control.Controller{"nil": nil, "zero": new(control.Controller)} {
		v := reflect.ValueOf(c)
		for i := range v.NumMethod() {
			method := v.Type().Method(i).Name
			t.Run(name+"/"+method, func(t *testing.T) {
				fn := v.Method(i)
				for _, zero := range []bool{true, false} {
					var args []reflect.Value
					for j := range fn.Type().NumIn() {
						if fn.Type().IsVariadic() && j == fn.Type().NumIn()-1 {
							break
						}
						arg, ok := valid[fn.Type().In(j)]
						if zero || !ok {
							arg = reflect.Zero(fn.Type().In(j))
						}
						args = append(args, arg)
					}
					out := fn.Call(args)
					switch method {
					case "Begin", "Admit":
						require.Nil(t, out[0].Interface())
						continue
					case "Offer":
						require.Equal(t, context.Background(), out[0].Interface())
						continue
					case "State":
						s := out[0].Interface().(control.State)
						require.Empty(t, s.Enabled)
						require.NotNil(t, s.Groups, "a list is never nil")
						continue
					}
					err, _ := out[len(out)-1].Interface().(error)
					if value, ok := out[0].Interface().(flag.Value); ok {
						require.Empty(t, value.String())
						err = value.Set("job")
					}
					require.Error(t, err)
					require.True(t, strings.HasPrefix(err.Error(), "spangate/control: "), err)
					if !zero {
						require.ErrorIs(t, err, control.ErrClosed)
					}
				}
			})
		}
	}
}

func TestNilOptionsHaveNoEffect(t *testing.T) {
	f := newFixture(t, nil, control.OnChange(nil), control.Logger(nil), control.Metrics(nil), nil)
	require.NoError(t, f.SetBaseline(baseline("job")))
	require.Equal(t, "job", f.on())
	f.changes.one(t)

	log := new(records)
	newFixture(t, control.OnChange(nil), control.Logger(slog.New(&callingHandler{Handler: slog.DiscardHandler, call: log.add})))
	require.Len(t, log.take(), 1, "and no record of a panic")
}

func TestMeterProviderThatIsANilPointerIsRefused(t *testing.T) {
	r := registry.New()
	before := r.State()
	_, err := control.New(r, control.Metrics((*nilProvider)(nil)))
	require.ErrorAs(t, err, new(*control.Error))
	require.ErrorContains(t, err, "bad option: Metrics of a nil *control_test.nilProvider; leave the option out")
	require.Equal(t, before, r.State())
}

// TestBounds pins the exported constants, which programs may rely on, and that
// each bound holds to the byte.
func TestBounds(t *testing.T) {
	require.Equal(t, 128, control.MaxOwnerLen)
	require.Equal(t, 1024, control.MaxWhyLen)
	require.Equal(t, 1024, control.MaxMatchLen)
	require.Equal(t, 160, control.MaxDetailSpecLen)
	require.Equal(t, 10_000, control.DefaultMaxLeases)
	require.Equal(t, 24*time.Hour, control.DefaultMaxTTL)

	f := newFixture(t, control.Logger(slog.New(slog.DiscardHandler)))
	s := f.State()
	require.Equal(t, 24*time.Hour, s.MaxTTL)
	require.Equal(t, 10_000, s.MaxLeases)
	x := func(n int) string { return strings.Repeat("x", n) }
	for name, c := range map[string]struct {
		do func(who, why string) error
	}{
		"SetBaseline":   {func(who, why string) error { return f.SetBaseline(control.Baseline{Who: who, Why: why}) }},
		"Configure":     {func(who, why string) error { return f.Configure(control.Baseline{Who: who, Why: why}) }},
		"ResetBaseline": {f.ResetBaseline},
		"SetLimits":     {func(who, why string) error { return f.SetLimits(control.Limits{Who: who, Why: why}) }},
		"Lease": {func(who, why string) error {
			_, err := f.Lease(control.LeaseRequest{Owner: who, Why: why, Spec: "job", TTL: time.Hour})
			return err
		}},
		"Start": {func(who, why string) error {
			c, err := control.New(registry.New(), control.StartupBaseline(control.Baseline{Who: who, Why: why}))
			if err == nil {
				err = c.Close()
			}
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, c.do(x(control.MaxOwnerLen), x(control.MaxWhyLen)))
			require.ErrorIs(t, c.do(x(control.MaxOwnerLen+1), ""), control.ErrOwner)
			require.ErrorIs(t, c.do("x", x(control.MaxWhyLen+1)), control.ErrWhy)
		})
	}
	l := f.lease(t, "me", "job", control.DefaultMaxTTL)
	require.NoError(t, l.Renew(control.DefaultMaxTTL))
	require.ErrorIs(t, l.Renew(control.DefaultMaxTTL+1), control.ErrTTL)
	require.NoError(t, l.Renew(1))
	require.ErrorIs(t, l.Renew(0), control.ErrTTL)
	for _, spec := range []string{strings.Repeat(",", 64<<10), strings.Repeat(",", 64<<10+1)} {
		err := f.Configure(control.Baseline{Spec: spec})
		require.Equal(t, len(spec) > 64<<10, err != nil, err)
	}
}
