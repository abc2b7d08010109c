// SPDX-License-Identifier: Apache-2.0

package otelgate

import (
	"bytes"
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"

	"github.com/spangate/spangate"
)

// ErrNilPropagator is a base of [NewPropagator] that is nil, or a nil pointer in an interface.
var ErrNilPropagator = errors.New("nil base propagator")

// Propagator is a [propagation.TextMapPropagator] that carries the override of a context between
// processes, in the member "spangate" of W3C baggage, beside what its base carries. Make one with
// [NewPropagator]; the zero value and nil carry nothing. It is safe for concurrent use and must not be
// copied.
type Propagator struct {
	base    propagation.TextMapPropagator
	admit   func(spangate.OverrideName) *spangate.Override
	trust   func(context.Context, propagation.TextMapCarrier) bool
	keys    [][]byte // the current one first
	refused [len(refusals)]atomic.Uint64
}

var _ propagation.TextMapPropagator = (*Propagator)(nil)

// refusal is why an override that came in, or that should go out, was ignored.
type refusal int

const (
	absent refusal = iota - 2 // there was nothing to ignore
	found                     // it was not ignored
	oversized
	duplicate
	malformed
	expired
	tooFarAhead
	badSignature
	untrusted
	notAdmitted
	notSent
)

var refusals = [...]string{
	oversized:    "oversized",
	duplicate:    "duplicate",
	malformed:    "malformed",
	expired:      "expired",
	tooFarAhead:  "too far ahead",
	badSignature: "bad signature",
	untrusted:    "untrusted",
	notAdmitted:  "not admitted",
	notSent:      "not sent",
}

// PropagatorOption is an option of [NewPropagator].
type PropagatorOption func(*Propagator) error

// Trust admits the overrides of carriers for which allow returns true, signed or not. allow gets
// the context as the base extracted it. It is called only if the carrier has an override that is
// well-formed, has not ended and is not signed with a key of [Keys]. It must be safe for concurrent
// use. With a nil allow, Trust has no effect.
//
// allow must be false for a sender that passes on the baggage of its own callers without this
// propagator: the override may be of any of them.
func Trust(allow func(ctx context.Context, carrier propagation.TextMapCarrier) bool) PropagatorOption {
	return func(p *Propagator) error {
		p.trust = allow
		return nil
	}
}

// Keys admits the overrides that are signed with one of the keys, by HMAC-SHA-256, and has Inject
// sign with the current one. A key has at least 32 bytes, drawn at random; there is at most one
// previous key. To change the key without a gap, give all processes the new one as the previous
// key, then make it the current one and the old one the previous, then remove the old one. What came
// with the previous key is sent on with the current one.
func Keys(current []byte, previous ...[]byte) PropagatorOption {
	return func(p *Propagator) error {
		if len(previous) > 1 {
			return fmt.Errorf("%w: Keys: %d previous keys; at most 1 is allowed", ErrInvalidOption, len(previous))
		}
		p.keys = nil
		for i, key := range append([][]byte{current}, previous...) {
			if len(key) < minKeyBytes {
				return fmt.Errorf("%w: Keys: the %s key has %d bytes; draw at least %d at random, as with openssl rand -hex 32",
					ErrInvalidOption, [...]string{"current", "previous"}[i], len(key), minKeyBytes)
			}
			p.keys = append(p.keys, bytes.Clone(key))
		}
		return nil
	}
}

// NewPropagator returns a propagator that carries what base does, and overrides. base may carry
// baggage or not. No other propagator of the program may: each would overwrite the other's header.
//
// Extract reads an override only with [Trust] or [Keys]; either suffices. It calls admit with the
// name, and puts the override that admit returns into the context, or none if that is nil. admit
// must be safe for concurrent use; a nil admit admits none. The name's ID is 1 to 64 letters,
// digits, '_' and '-'. Its spec is printable ASCII of at most 256 bytes, which Extract does not
// parse. Its end is at most 25 hours ahead. An override that is refused is counted, see
// [Propagator.Refused], and the request is served without it.
//
// Inject writes the override of the context, signed with the current key, or without keys with the
// signature that it came with. For one that Extract has read it calls admit again, and writes nothing if
// that is nil now, as after a revocation. It writes an
// end at most 24 hours ahead. An override without an ID or a spec stays in the process. The
// member leaves the process in no other way: Extract removes it from the context's baggage, and
// Inject removes one that is in the carrier already, such as a proxy copies from its client.
//
// It fails, with [ErrNilPropagator], [ErrPlaceholder] or [ErrInvalidOption], on a base that is nil
// or is OpenTelemetry's global placeholder, which would delegate to the new propagator forever,
// and on an invalid option.
func NewPropagator(base propagation.TextMapPropagator, admit func(spangate.OverrideName) *spangate.Override, opts ...PropagatorOption) (*Propagator, error) {
	if isNil(base) {
		return nil, fmt.Errorf("otelgate: %w (%T); pass the program's, or propagation.TraceContext{}", ErrNilPropagator, base)
	}
	if isPlaceholder(base) {
		return nil, fmt.Errorf("otelgate: %w, which would delegate to itself; pass a propagator as made by propagation.NewCompositeTextMapPropagator", ErrPlaceholder)
	}
	p := &Propagator{base: base, admit: admit}
	for _, opt := range opts {
		if opt == nil {
			continue
		}
		if err := opt(p); err != nil {
			return nil, fmt.Errorf("otelgate: %w", err)
		}
	}
	return p, nil
}

// Refused yields, for each reason, how many overrides were ignored for it. It yields every reason,
// in the same order each time:
//
//	oversized      the value has more than 256 bytes, or the baggage more than 8192
//	duplicate      the baggage has several
//	malformed      the value is not of the documented form
//	expired        its end has passed
//	too far ahead  its end is more than 25 hours ahead
//	bad signature  it is signed with neither key
//	untrusted      it is not signed, or there is no key, and Trust is absent or false
//	not admitted   admit returned nil
//	not sent       Inject has no room for it in the baggage, or it has an ID or spec that can't travel
func (p *Propagator) Refused() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		if p == nil {
			return
		}
		for reason := range p.refused {
			if !yield(refusals[reason], p.refused[reason].Load()) {
				return
			}
		}
	}
}

// Fields returns the base's fields and "baggage".
func (p *Propagator) Fields() []string {
	if p == nil || p.base == nil {
		return nil
	}
	fields := p.base.Fields()
	if slices.Contains(fields, baggageField) {
		return fields
	}
	return append(slices.Clone(fields), baggageField)
}

// Extract returns ctx with what the base extracts from carrier, and with the carrier's override if
// it is admitted. Otherwise ctx keeps the override that it has. A nil ctx counts as
// [context.Background].
func (p *Propagator) Extract(ctx context.Context, carrier propagation.TextMapCarrier) context.Context {
	if ctx == nil {
		ctx = context.Background()
	}
	if p == nil || p.base == nil || carrier == nil {
		return ctx
	}
	ctx = p.base.Extract(ctx, carrier)
	if b := baggage.FromContext(ctx); b.Member(tokenKey).Key() != "" {
		ctx = baggage.ContextWithBaggage(ctx, b.DeleteMember(tokenKey))
	}
	if p.admit == nil || p.trust == nil && p.keys == nil {
		return ctx
	}
	in, why := p.receive(ctx, carrier)
	if in != nil {
		return context.WithValue(spangate.ContextWithOverride(ctx, in.override), receivedKey{}, in)
	}
	if why != absent {
		p.refused[why].Add(1)
	}
	return ctx
}

// received is an override that came in, with what Inject writes for it.
type received struct {
	override  *spangate.Override
	name      spangate.OverrideName // as received; admit may return an override that has another
	signature string
	admit     func(spangate.OverrideName) *spangate.Override // of the propagator that extracted it
}

type receivedKey struct{}

// receive returns the admitted override of carrier, or why there is none.
func (p *Propagator) receive(ctx context.Context, carrier propagation.TextMapCarrier) (*received, refusal) {
	value, why := findToken(baggageOf(carrier))
	if why != found {
		return nil, why
	}
	name, signature, ok := decodeToken(value)
	if !ok {
		return nil, malformed
	}
	now := time.Now()
	if !name.End.After(now) {
		return nil, expired
	}
	if name.End.After(now.Add(maxAhead + clockSkew)) {
		return nil, tooFarAhead
	}
	signed, current := false, ""
	for i, key := range p.keys {
		right := sign(key, name)
		if i == 0 {
			current = right
		}
		signed = signed || signature != "" && hmac.Equal([]byte(signature), []byte(right))
	}
	if !signed && (p.trust == nil || !p.trust(ctx, carrier)) {
		if signature != "" && p.keys != nil {
			return nil, badSignature
		}
		return nil, untrusted
	}
	o := p.admit(name)
	if o == nil {
		return nil, notAdmitted
	}
	if p.keys != nil { // also over the signature of the previous key, which the next process may have removed
		signature = current
	}
	return &received{o, name, signature, p.admit}, found
}

// Inject writes what the base injects, and the override of ctx, into carrier, whose Get must
// return what was set. A nil ctx counts as [context.Background].
func (p *Propagator) Inject(ctx context.Context, carrier propagation.TextMapCarrier) {
	if ctx == nil {
		ctx = context.Background()
	}
	if p == nil || p.base == nil || carrier == nil {
		return
	}
	p.base.Inject(ctx, carrier)
	token := p.outgoing(ctx)
	headers := baggageOf(carrier)
	if token == "" && !mentionsToken(headers) {
		return
	}
	var members []string
	for _, h := range headers {
		for m := range strings.SplitSeq(h, ",") {
			if key, _ := cutMember(m); key != tokenKey {
				members = append(members, m)
			}
		}
	}
	others := strings.Join(members, ",")
	if token != "" {
		with := tokenKey + "=" + token
		if others != "" {
			with += "," + others
		}
		// More than that, and the receiver may drop any of the others.
		if len(members) < maxMembers && len(with) <= maxBaggageBytes {
			others = with
		} else {
			p.refused[notSent].Add(1)
		}
	}
	carrier.Set(baggageField, others)
}

// outgoing returns the value of the member that Inject writes, or "" if there is none.
func (p *Propagator) outgoing(ctx context.Context) string {
	o := spangate.OverrideFromContext(ctx)
	if o == nil {
		return ""
	}
	name, signature, now := o.Name(), "", time.Now()
	if in, _ := ctx.Value(receivedKey{}).(*received); in != nil && in.override == o {
		name, signature = in.name, in.signature
		if in.admit(name) == nil { // revoked meanwhile
			return ""
		}
	} else {
		if latest := now.Add(maxAhead); name.End.IsZero() || name.End.After(latest) {
			name.End = latest
		}
		if p.keys != nil {
			signature = sign(p.keys[0], name)
		}
	}
	if name.ID == "" || name.Spec == "" || name.End.Unix() <= now.Unix() {
		return ""
	}
	value, ok := encodeToken(name, signature)
	if !ok {
		p.refused[notSent].Add(1)
		return ""
	}
	return value
}

const (
	baggageField = "baggage"
	// The limits of W3C baggage up to which every implementation hands it on.
	maxMembers      = 64
	maxBaggageBytes = 8192
)

// baggageOf returns the values of the carrier's baggage headers.
func baggageOf(carrier propagation.TextMapCarrier) []string {
	switch c := carrier.(type) {
	case propagation.HeaderCarrier: // has no Values in old versions, whose Get returns the first alone
		return c["Baggage"]
	case interface{ Values(key string) []string }:
		return c.Values(baggageField)
	}
	if h := carrier.Get(baggageField); h != "" {
		return []string{h}
	}
	return nil
}

// mentionsToken reports whether the headers may have a token, at little cost.
func mentionsToken(headers []string) bool {
	for _, h := range headers {
		if strings.Contains(h, tokenKey) {
			return true
		}
	}
	return false
}

// findToken returns the value of the token's member. The refusal is found if there is one.
func findToken(headers []string) (value string, why refusal) {
	if !mentionsToken(headers) {
		return "", absent
	}
	size := len(headers) - 1 // the commas that would join them
	for _, h := range headers {
		size += len(h)
	}
	if size > maxBaggageBytes {
		return "", oversized
	}
	why = absent
	for _, h := range headers {
		for m := range strings.SplitSeq(h, ",") {
			key, v := cutMember(m)
			switch {
			case key != tokenKey:
			case why == found:
				return "", duplicate
			default:
				value, why = v, found
			}
		}
	}
	if len(value) > maxTokenBytes {
		return "", oversized
	}
	return value, why
}

// cutMember returns the key of a baggage member, and its value without properties.
func cutMember(m string) (key, value string) {
	end := strings.IndexAny(m, "=;")
	if end < 0 {
		end = len(m)
	} else if m[end] == '=' {
		value, _, _ = strings.Cut(m[end+1:], ";")
	}
	return strings.Trim(m[:end], " \t"), strings.Trim(value, " \t")
}
