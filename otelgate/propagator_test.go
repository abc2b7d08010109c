// SPDX-License-Identifier: Apache-2.0

package otelgate_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/otelgate"
)

var (
	oldKey   = []byte("an old key, of at least 32 bytes")
	newKey   = []byte("a newer key, of at least 32 bytes")
	otherKey = []byte("another program's key of 32 bytes")

	w3c = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
)

// placeholder is OpenTelemetry's global propagator before another is installed.
var placeholder = otel.GetTextMapPropagator()

// admitAll is an admit function that returns an override of the name.
func admitAll(name spangate.OverrideName) *spangate.Override { return spangate.NewOverride(name, nil) }

func everyone(context.Context, propagation.TextMapCarrier) bool { return true }

func newPropagator(t testing.TB, opts ...otelgate.PropagatorOption) *otelgate.Propagator {
	t.Helper()
	p, err := otelgate.NewPropagator(w3c, admitAll, opts...)
	require.NoError(t, err)
	return p
}

// refused returns the counts that are not zero.
func refused(p *otelgate.Propagator) map[string]uint64 {
	counts := maps.Collect(p.Refused())
	maps.DeleteFunc(counts, func(_ string, n uint64) bool { return n == 0 })
	return counts
}

// withName returns a context with an override of the name.
func withName(spec, id string, end time.Time) context.Context {
	return spangate.ContextWithOverride(context.Background(), admitAll(spangate.OverrideName{Spec: spec, ID: id, End: end}))
}

// inject returns the baggage headers that p writes for ctx.
func inject(p *otelgate.Propagator, ctx context.Context) http.Header {
	h := http.Header{}
	p.Inject(ctx, propagation.HeaderCarrier(h))
	return h
}

func extract(p *otelgate.Propagator, headers ...string) context.Context {
	return p.Extract(context.Background(), propagation.HeaderCarrier{"Baggage": headers})
}

func nameOf(ctx context.Context) spangate.OverrideName {
	return spangate.OverrideFromContext(ctx).Name()
}

// token is an independent writer of the value, from docs/override.md.
func token(id string, end time.Time, spec string, key []byte) string {
	head := "1." + id + "." + strconv.FormatInt(end.Unix(), 10) + "."
	signature := ""
	if key != nil {
		h := hmac.New(sha256.New, key)
		h.Write([]byte("spangate=" + head + "." + spec))
		signature = base64.RawURLEncoding.EncodeToString(h.Sum(nil))
	}
	return head + signature + "." + strings.ReplaceAll(spec, ",", "%2C")
}

func withMember(t *testing.T, ctx context.Context, key, value string) context.Context {
	t.Helper()
	m, err := baggage.NewMemberRaw(key, value)
	require.NoError(t, err)
	b, err := baggage.FromContext(ctx).SetMember(m)
	require.NoError(t, err)
	return baggage.ContextWithBaggage(ctx, b)
}

func TestOverrideTravelsBesideTheBaggageOfTheProgram(t *testing.T) {
	end := time.Unix(time.Now().Unix()+60, 0)
	for name, carrier := range map[string]propagation.TextMapCarrier{
		"HTTP headers": propagation.HeaderCarrier{},
		"map":          propagation.MapCarrier{},
	} {
		for _, key := range [][]byte{nil, newKey} {
			option := otelgate.Trust(everyone)
			if key != nil {
				option = otelgate.Keys(key)
			}
			p := newPropagator(t, option)
			ctx := withMember(t, withName("default,-verify", "a_B-1", end), "user", "ann, of \"ops\"")
			p.Inject(ctx, carrier)
			assert.Contains(t, ","+carrier.Get("baggage")+",", ",spangate="+token("a_B-1", end, "default,-verify", key)+",", name)

			got := p.Extract(t.Context(), carrier)
			assert.Equal(t, spangate.OverrideName{Spec: "default,-verify", ID: "a_B-1", End: end}, nameOf(got), name)
			assert.Equal(t, "ann, of \"ops\"", baggage.FromContext(got).Member("user").Value(), name)
			assert.Equal(t, 1, baggage.FromContext(got).Len(), "the member is not in the program's baggage")
			assert.Empty(t, refused(p))
		}
	}
}

// Its header is the only one: two propagators that both write baggage overwrite each other.
func TestOverrideTravelsWithABaseThatHasNoBaggage(t *testing.T) {
	p, err := otelgate.NewPropagator(propagation.TraceContext{}, admitAll, otelgate.Trust(everyone))
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"traceparent", "tracestate", "baggage"}, p.Fields())
	assert.ElementsMatch(t, []string{"traceparent", "tracestate", "baggage"}, newPropagator(t).Fields())

	end := time.Now().Add(time.Minute)
	h := http.Header{"Baggage": {"a=1,b=2", "c=3"}}
	p.Inject(withName("all", "x", end), propagation.HeaderCarrier(h))
	assert.Equal(t, []string{"spangate=" + token("x", end, "all", nil) + ",a=1,b=2,c=3"}, h["Baggage"])
	assert.Equal(t, "x", nameOf(extract(p, h["Baggage"]...)).ID)
}

func TestNothingIsReadWithoutTrustOrKeys(t *testing.T) {
	asked := false
	admit := func(name spangate.OverrideName) *spangate.Override { asked = true; return admitAll(name) }
	member := "spangate=" + token("x", time.Now().Add(time.Minute), "all", newKey)
	for _, opts := range [][]otelgate.PropagatorOption{nil, {nil}, {otelgate.Trust(nil)}} {
		p, err := otelgate.NewPropagator(w3c, admit, opts...)
		require.NoError(t, err)
		ctx := extract(p, member+",user=ann")
		assert.Nil(t, spangate.OverrideFromContext(ctx))
		assert.Equal(t, "user=ann", baggage.FromContext(ctx).String())
		assert.Empty(t, refused(p))
	}
	p, err := otelgate.NewPropagator(w3c, nil, otelgate.Trust(everyone), otelgate.Keys(newKey))
	require.NoError(t, err)
	assert.Nil(t, spangate.OverrideFromContext(extract(p, member)), "nil admits none")
	assert.False(t, asked)
}

func TestOverridesThatAreRefusedAreCountedAndDoNotTravelOn(t *testing.T) {
	now := time.Now()
	end := now.Add(time.Hour)
	valid := "spangate=" + token("x", end, "all", newKey)
	seconds := strconv.FormatInt(end.Unix(), 10)
	signature := strings.Split(valid, ".")[3]
	for name, test := range map[string]struct {
		headers []string
		reason  string
	}{
		"unsigned":                    {[]string{"spangate=" + token("x", end, "all", nil)}, "untrusted"},
		"signed by another":           {[]string{"spangate=" + token("x", end, "all", otherKey)}, "bad signature"},
		"another spec":                {[]string{"spangate=1.x." + seconds + "." + signature + ".default"}, "bad signature"},
		"another ID":                  {[]string{"spangate=1.y." + seconds + "." + signature + ".all"}, "bad signature"},
		"another end":                 {[]string{"spangate=1.x." + strconv.FormatInt(end.Unix()+1, 10) + "." + signature + ".all"}, "bad signature"},
		"bits that base64 ignores":    {[]string{"spangate=1.x." + seconds + "." + signature[:42] + string(signature[42]+1) + ".all"}, "bad signature"},
		"expired":                     {[]string{"spangate=" + token("x", now, "all", newKey)}, "expired"},
		"expired long ago":            {[]string{"spangate=" + token("x", time.Unix(1, 0), "all", newKey)}, "expired"},
		"ends in two days":            {[]string{"spangate=" + token("x", now.Add(48*time.Hour), "all", newKey)}, "too far ahead"},
		"ends in the year 5138":       {[]string{"spangate=" + token("x", time.Unix(99999999999, 0), "all", newKey)}, "too far ahead"},
		"two in one header":           {[]string{valid + ", " + valid}, "duplicate"},
		"two in two headers":          {[]string{valid, valid}, "duplicate"},
		"a bad one beside a good one": {[]string{"spangate=no", "a=1", valid}, "duplicate"},
		"empty":                       {[]string{"spangate="}, "malformed"},
		"no value":                    {[]string{"spangate"}, "malformed"},
		"property without value":      {[]string{"spangate;a=b"}, "malformed"},
		"another version":             {[]string{strings.Replace(valid, "=1.", "=2.", 1)}, "malformed"},
		"no spec":                     {[]string{"spangate=1.x." + seconds + ".."}, "malformed"},
		"no ID":                       {[]string{"spangate=1.." + seconds + "..all"}, "malformed"},
		"ID with another character":   {[]string{"spangate=1.%2F." + seconds + "..all"}, "malformed"},
		"ID of 65 bytes":              {[]string{"spangate=1." + strings.Repeat("x", 65) + "." + seconds + "..all"}, "malformed"},
		"three parts":                 {[]string{"spangate=1.x." + seconds}, "malformed"},
		"end with a sign":             {[]string{"spangate=1.x.+" + seconds + "..all"}, "malformed"},
		"end with a zero in front":    {[]string{"spangate=1.x.0" + seconds + "..all"}, "malformed"},
		"end of zero":                 {[]string{"spangate=1.x.0..all"}, "malformed"},
		"negative end":                {[]string{"spangate=1.x.-1..all"}, "malformed"},
		"end over 64 bits":            {[]string{"spangate=1.x." + strings.Repeat("9", 40) + "..all"}, "malformed"},
		"end of 12 digits":            {[]string{"spangate=1.x.100000000000..all"}, "malformed"},
		"short signature":             {[]string{"spangate=1.x." + seconds + "." + signature[:42] + ".all"}, "malformed"},
		"signature with padding":      {[]string{"spangate=1.x." + seconds + "." + signature[:42] + "=.all"}, "malformed"},
		"percent alone":               {[]string{valid + "%"}, "malformed"},
		"percent without hex":         {[]string{valid + "%zz"}, "malformed"},
		"line break in the spec":      {[]string{valid + "%0d%0aX-Admin:1"}, "malformed"},
		"spec that is not ASCII":      {[]string{valid + "%c3%a4"}, "malformed"},
		"raw bytes":                   {[]string{valid + "\xff\x00"}, "malformed"},
		"257 bytes":                   {[]string{"spangate=" + strings.Repeat("x", 257)}, "oversized"},
		"257 bytes, encoded":          {[]string{valid + strings.Repeat("%61", 70)}, "oversized"},
		"baggage of 8193 bytes":       {[]string{valid + ",a=" + strings.Repeat("x", 8190-len(valid))}, "oversized"},
		"many headers":                {append([]string{valid}, strings.Split(strings.Repeat("a=1,", 3000), ",")...), "oversized"},
	} {
		p := newPropagator(t, otelgate.Keys(newKey))
		ctx := extract(p, test.headers...)
		assert.Nil(t, spangate.OverrideFromContext(ctx), name)
		assert.Equal(t, map[string]uint64{test.reason: 1}, refused(p), name)

		assert.NotContains(t, inject(p, ctx).Get("Baggage"), "spangate", name)
		proxied := http.Header{"Baggage": test.headers}
		p.Inject(ctx, propagation.HeaderCarrier(proxied))
		assert.NotContains(t, strings.Join(proxied["Baggage"], ","), "spangate", "%s, in a header that a proxy copied", name)
	}
}

// What other implementations may do to the member on the way.
func TestOverrideIsReadInEveryFormThatBaggageAllows(t *testing.T) {
	end := time.Unix(time.Now().Unix()+60, 0)
	value := token("x", end, "a,b", newKey)
	for _, header := range []string{
		"spangate=" + value,
		" \tspangate \t=\t " + value + " ;property=1;other , ,a=1",
		"a=spangate,Spangate=no,spangate2=no,spangate=" + strings.ReplaceAll(value, ".", "%2e"),
		"not a member,=,;,spangate=" + value,
		"a=%zz,spangate=" + value, // the base may drop all baggage for it
	} {
		p := newPropagator(t, otelgate.Keys(newKey))
		ctx := extract(p, header)
		assert.Equal(t, spangate.OverrideName{Spec: "a,b", ID: "x", End: end}, nameOf(ctx), "%q", header)
		h := inject(p, ctx)
		assert.True(t, strings.HasPrefix(h.Get("Baggage")+",", "spangate="+value+","), "%q", h)
	}
}

// In three steps, with processes of two neighbouring steps running side by side, no override is
// refused.
func TestKeyIsRotatedWithoutAGap(t *testing.T) {
	steps := [][][]byte{{oldKey}, {oldKey, newKey}, {newKey, oldKey}, {newKey}}
	ctx := withName("all", "x", time.Now().Add(time.Minute))
	for i, sender := range steps {
		for j, receiver := range steps {
			from := newPropagator(t, otelgate.Keys(sender[0], sender[1:]...))
			to := newPropagator(t, otelgate.Keys(receiver[0], receiver[1:]...))
			got := extract(to, inject(from, ctx)["Baggage"]...)
			if i-j <= 1 && j-i <= 1 {
				assert.Equal(t, "x", nameOf(got).ID, "from step %d to %d", i, j)
			}
			if i == 0 && j == 3 || i == 3 && j == 0 {
				assert.Equal(t, map[string]uint64{"bad signature": 1}, refused(to))
			}
		}
	}
}

// An override that began before the rotation outlives the old key in the processes behind those that had both.
func TestOverrideSignedWithTheOldKeyOutlivesIt(t *testing.T) {
	h := inject(newPropagator(t, otelgate.Keys(oldKey)), withName("all", "x", time.Now().Add(time.Minute)))
	middle := newPropagator(t, otelgate.Keys(newKey, oldKey))
	last := newPropagator(t, otelgate.Keys(newKey))
	assert.Equal(t, "x", nameOf(extract(last, inject(middle, extract(middle, h["Baggage"]...))["Baggage"]...)).ID)
}

// The keys are the propagator's own: a caller may wipe its copy.
func TestKeysAreCopied(t *testing.T) {
	key := []byte(strings.Clone(string(newKey)))
	p := newPropagator(t, otelgate.Keys(key))
	clear(key)
	end := time.Now().Add(time.Minute)
	assert.Equal(t, "spangate="+token("x", end, "all", newKey), inject(p, withName("all", "x", end)).Get("Baggage"))
}

func TestSignatureTravelsThroughProcesses(t *testing.T) {
	end := time.Now().Add(time.Minute)
	ctx := withName("all", "x", end)
	for _, test := range []struct {
		name     string
		opts     []otelgate.PropagatorOption // of the process in the middle
		sent, on []byte                      // the keys of the signature before and after it
	}{
		{"no keys", []otelgate.PropagatorOption{otelgate.Trust(everyone)}, newKey, newKey},
		{"no keys, nor a signature", []otelgate.PropagatorOption{otelgate.Trust(everyone)}, nil, nil},
		{"the current key", []otelgate.PropagatorOption{otelgate.Keys(newKey, oldKey)}, newKey, newKey},
		{"the previous key", []otelgate.PropagatorOption{otelgate.Keys(newKey, oldKey)}, oldKey, newKey},
		{"trusted without a signature", []otelgate.PropagatorOption{otelgate.Trust(everyone), otelgate.Keys(newKey)}, nil, newKey},
		{"trusted with a bad one", []otelgate.PropagatorOption{otelgate.Trust(everyone), otelgate.Keys(newKey)}, otherKey, newKey},
	} {
		first := newPropagator(t)
		if test.sent != nil {
			first = newPropagator(t, otelgate.Keys(test.sent))
		}
		middle := newPropagator(t, test.opts...)
		got := inject(middle, extract(middle, inject(first, ctx)["Baggage"]...))
		assert.Equal(t, "spangate="+token("x", end, "all", test.on), got.Get("Baggage"), test.name)
	}
}

func TestOverrideThatIsRevokedAfterExtractIsNotSentOn(t *testing.T) {
	revoked := false
	p, err := otelgate.NewPropagator(w3c, func(name spangate.OverrideName) *spangate.Override {
		if revoked {
			return nil
		}
		return admitAll(name)
	}, otelgate.Keys(newKey))
	require.NoError(t, err)
	end := time.Now().Add(time.Minute)
	ctx := extract(p, "spangate="+token("x", end, "all", newKey))
	sender, err := otelgate.NewPropagator(w3c, nil)
	require.NoError(t, err)
	for _, injector := range []*otelgate.Propagator{p, sender} {
		revoked = false
		assert.Equal(t, "spangate="+token("x", end, "all", newKey), inject(injector, ctx).Get("Baggage"))
		revoked = true
		assert.Empty(t, inject(injector, ctx).Get("Baggage"))
	}
	assert.Equal(t, "spangate="+token("own", end, "all", newKey), inject(p, withName("all", "own", end)).Get("Baggage"))
	assert.Empty(t, refused(p), "it was counted as admitted")
}

func TestTrustSeesTheCarrierOfAnOverrideThatIsValid(t *testing.T) {
	asked := 0
	p := newPropagator(t, otelgate.Trust(func(ctx context.Context, c propagation.TextMapCarrier) bool {
		asked++
		assert.Equal(t, "1", baggage.FromContext(ctx).Member("a").Value())
		return c.Get("X-Peer") == "gateway"
	}))
	end := time.Now().Add(time.Minute)
	for _, test := range []struct {
		peer, member string
		id           string
		asked        int
	}{
		{"gateway", "spangate=" + token("x", end, "all", nil), "x", 1},
		{"gateway", "spangate=" + token("x", end, "all", otherKey), "x", 1},
		{"stranger", "spangate=" + token("x", end, "all", nil), "", 1},
		{"gateway", "spangate=" + token("x", time.Unix(1, 0), "all", nil), "", 0},
		{"gateway", "b=1", "", 0},
	} {
		asked = 0
		ctx := p.Extract(t.Context(), propagation.HeaderCarrier{"X-Peer": {test.peer}, "Baggage": {test.member + ",a=1"}})
		assert.Equal(t, test.id, nameOf(ctx).ID)
		assert.Equal(t, test.asked, asked)
	}
	assert.Equal(t, map[string]uint64{"untrusted": 1, "expired": 1}, refused(p))
}

func TestAdmitDecides(t *testing.T) {
	own := admitAll(spangate.OverrideName{ID: "own"})
	shared := admitAll(spangate.OverrideName{Spec: "another", ID: "shared"})
	admitted := map[string]*spangate.Override{"shared": shared}
	p, err := otelgate.NewPropagator(w3c, func(name spangate.OverrideName) *spangate.Override { return admitted[name.ID] }, otelgate.Trust(everyone))
	require.NoError(t, err)
	ctx := spangate.ContextWithOverride(t.Context(), own)
	end := time.Now().Add(time.Minute)
	for _, h := range []string{"", "a=1", "spangate=no", "spangate=" + token("unknown", end, "all", nil)} {
		got := p.Extract(ctx, propagation.MapCarrier{"baggage": h})
		assert.Same(t, own, spangate.OverrideFromContext(got), "%q", h)
	}
	assert.Equal(t, map[string]uint64{"malformed": 1, "not admitted": 1}, refused(p))

	got := p.Extract(ctx, propagation.MapCarrier{"baggage": "spangate=" + token("shared", end, "all", nil)})
	assert.Same(t, shared, spangate.OverrideFromContext(got))
	assert.Equal(t, "spangate="+token("shared", end, "all", nil), inject(p, got).Get("Baggage"), "what came in goes out")

	// The received token goes with its override and no other.
	end = time.Now().Add(time.Hour)
	other := spangate.ContextWithOverride(got, admitAll(spangate.OverrideName{Spec: "sql", ID: "y", End: end}))
	assert.Equal(t, "spangate="+token("y", end, "sql", nil), inject(p, other).Get("Baggage"))
	assert.Empty(t, inject(p, spangate.ContextWithOverride(got, nil)))
}

func TestInjectWritesOnlyWhatAReceiverReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPropagator(t, otelgate.Keys(newKey))
		now := time.Now()
		day := now.Add(24 * time.Hour)
		for _, test := range []struct {
			spec, id string
			end      time.Time
			travels  time.Time // the end that the receiver reads; zero: it does not travel
			refused  uint64
		}{
			{"all", "x", now.Add(1500 * time.Millisecond), now.Add(time.Second), 0},
			{"all", "x", time.Time{}, day, 0},
			{"all", "x", now.Add(1000 * time.Hour), day, 0},
			{"all", "x", now, time.Time{}, 0},
			{"all", "x", now.Add(500 * time.Millisecond), time.Time{}, 0},
			{"all", "x", now.Add(-time.Hour), time.Time{}, 0},
			{"all", "", day, time.Time{}, 0},
			{"", "x", day, time.Time{}, 0},
			{"all", "a.b", day, time.Time{}, 1},
			{"all\n", "x", day, time.Time{}, 1},
			{"ä", "x", day, time.Time{}, 1},
			{"all", strings.Repeat("x", 65), day, time.Time{}, 1},
			{"all", strings.Repeat("x", 64), day, day, 0},
			{strings.Repeat("x", 198), "x", day, day, 0},
			{strings.Repeat("x", 199), "x", day, time.Time{}, 1},
			{strings.Repeat(",", 66), "x", day, day, 0},
			{strings.Repeat(",", 67), "x", day, time.Time{}, 1},
		} {
			before := refused(p)["not sent"]
			h := inject(p, withName(test.spec, test.id, test.end))
			assert.Equal(t, test.refused, refused(p)["not sent"]-before, "%+v", test)
			got := nameOf(extract(p, h["Baggage"]...))
			if test.travels.IsZero() {
				assert.Empty(t, h, "%+v", test)
				continue
			}
			assert.LessOrEqual(t, len(h.Get("Baggage")), len("spangate=")+256)
			assert.Equal(t, test.spec, got.Spec)
			assert.Equal(t, test.id, got.ID)
			assert.True(t, test.travels.Equal(got.End), "%+v, got %v", test, got.End)
		}

		// A received override ends where it was received too.
		ctx := extract(p, inject(p, withName("all", "x", now.Add(time.Minute)))["Baggage"]...)
		assert.NotEmpty(t, inject(p, ctx))
		time.Sleep(time.Minute)
		assert.Empty(t, inject(p, ctx))
		assert.Nil(t, spangate.OverrideFromContext(extract(p, "spangate="+token("x", now.Add(time.Minute), "all", newKey))))

		// Clocks that differ by an hour do no harm.
		assert.Equal(t, "x", nameOf(extract(p, "spangate="+token("x", time.Now().Add(25*time.Hour), "all", newKey))).ID)
		assert.Empty(t, nameOf(extract(p, "spangate="+token("x", time.Now().Add(25*time.Hour+time.Second), "all", newKey))).ID)
	})
}

// A receiver drops members, and not always the last ones, from baggage that is over its limits.
func TestOverrideNeverPutsTheBaggageOverItsLimits(t *testing.T) {
	end := time.Now().Add(time.Minute)
	p := newPropagator(t, otelgate.Trust(everyone))
	member := len("spangate=" + token("x", end, "all", nil) + ",")
	for _, test := range []struct {
		members, bytes int
		fits           bool
	}{
		{63, 0, true}, {64, 0, false}, {2, 8192 - member, true}, {2, 8193 - member, false},
	} {
		var all []string
		for i := range test.members {
			all = append(all, fmt.Sprintf("key%d=%d", i, i))
		}
		header := strings.Join(all, ",")
		if test.bytes > 0 {
			header = "a=" + strings.Repeat("x", 4080) + ",b=" + strings.Repeat("x", test.bytes-4085)
		}
		ctx := spangate.ContextWithOverride(extract(p, header), admitAll(spangate.OverrideName{Spec: "all", ID: "x", End: end}))
		require.Equal(t, test.members, baggage.FromContext(ctx).Len())
		before := refused(p)["not sent"]
		got := extract(p, inject(p, ctx)["Baggage"]...)
		assert.Equal(t, baggage.FromContext(ctx).Len(), baggage.FromContext(got).Len(), "%+v", test)
		assert.Equal(t, test.fits, spangate.OverrideFromContext(got) != nil, "%+v", test)
		assert.Equal(t, test.fits, refused(p)["not sent"] == before, "%+v", test)
	}
}

// A proxy copies its client's headers, and then injects.
func TestMemberOfACopiedHeaderDoesNotTravelOn(t *testing.T) {
	p := newPropagator(t)
	for _, test := range []struct{ copied, sent []string }{
		{[]string{"spangate=x"}, []string{""}},
		{[]string{"a=1, spangate = x;y ,b=2;c", "d=%20"}, []string{"a=1,b=2;c,d=%20"}},
		{[]string{"a=1", "b=2"}, []string{"a=1", "b=2"}},
		{[]string{"team=spangate"}, []string{"team=spangate"}},
	} {
		h := http.Header{"Baggage": test.copied}
		p.Inject(t.Context(), propagation.HeaderCarrier(h))
		assert.Equal(t, test.sent, h["Baggage"])
	}
}

// An override outlives the request, and must not keep its headers in memory.
func TestNameSharesNoMemoryWithTheHeader(t *testing.T) {
	value := token("x", time.Now().Add(time.Minute), "all", nil)
	header := []byte("spangate=" + value)
	carrier := propagation.MapCarrier{"baggage": unsafe.String(&header[0], len(header))}
	name := nameOf(newPropagator(t, otelgate.Trust(everyone)).Extract(t.Context(), carrier))
	clear(header)
	assert.Equal(t, "x", name.ID)
	assert.Equal(t, "all", name.Spec)
}

func TestNewPropagatorRefusesWhatCannotWork(t *testing.T) {
	var typed *otelgate.Propagator
	for name, test := range map[string]struct {
		base propagation.TextMapPropagator
		opts []otelgate.PropagatorOption
		want error
		text string
	}{
		"nil":            {nil, nil, otelgate.ErrNilPropagator, "propagation.TraceContext{}"},
		"typed nil":      {typed, nil, otelgate.ErrNilPropagator, "*otelgate.Propagator"},
		"placeholder":    {placeholder, nil, otelgate.ErrPlaceholder, "NewCompositeTextMapPropagator"},
		"no key":         {w3c, []otelgate.PropagatorOption{otelgate.Keys(nil)}, otelgate.ErrInvalidOption, "current key has 0 bytes"},
		"short key":      {w3c, []otelgate.PropagatorOption{otelgate.Keys(make([]byte, 31))}, otelgate.ErrInvalidOption, "openssl rand"},
		"short previous": {w3c, []otelgate.PropagatorOption{otelgate.Keys(newKey, []byte("secret"))}, otelgate.ErrInvalidOption, "previous key has 6 bytes"},
		"three keys":     {w3c, []otelgate.PropagatorOption{otelgate.Keys(newKey, oldKey, otherKey)}, otelgate.ErrInvalidOption, "at most 1"},
	} {
		p, err := otelgate.NewPropagator(test.base, admitAll, test.opts...)
		assert.Nil(t, p, name)
		require.ErrorIs(t, err, test.want, name)
		assert.ErrorContains(t, err, test.text, name)
		assert.NotContains(t, err.Error(), "secret")
	}
}

func TestNilAndZeroPropagatorsCarryNothing(t *testing.T) {
	ctx := withName("all", "x", time.Now().Add(time.Minute))
	for _, p := range []*otelgate.Propagator{nil, {}} {
		assert.Empty(t, inject(p, ctx))
		assert.Equal(t, ctx, p.Extract(ctx, propagation.MapCarrier{"baggage": "a=1"}))
		assert.Empty(t, p.Fields())
		assert.Empty(t, refused(p))
	}
	var none context.Context
	p := newPropagator(t, otelgate.Trust(everyone))
	assert.NotPanics(t, func() {
		p.Inject(none, propagation.MapCarrier{})
		p.Inject(ctx, nil)
		assert.Equal(t, ctx, p.Extract(ctx, nil))
		assert.NotNil(t, p.Extract(none, propagation.MapCarrier{}))
		for range p.Refused() {
			break
		}
	})
}
