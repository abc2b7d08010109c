// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"hash/maphash"
	"log/slog"
	"slices"

	"github.com/spangate/spangate/internal/spec"
)

// reports is what a registry has to say and what it has said. It is guarded by the
// registry's mutex. The zero value is ready to use.
type reports struct {
	queue   []func(*slog.Logger) // what is to be said, in the order of the changes
	logging bool                 // somebody is working through the queue

	// What has been said of the registered names, and of what is wanted. The latter is
	// forgotten when something else is wanted: who asks for the same again after that
	// wants to hear the same again.
	ofNames, ofIntent said
}

func (r *reports) newIntent() { r.ofIntent = said{} }

// say queues a record unless one of the same message and key has been queued before. What
// costs time to find out is left to attrs, which runs when no lock is held.
func (r *reports) say(before *said, message string, attrs func() []slog.Attr, key ...[]string) {
	if !before.first(message, key) {
		return
	}
	r.queue = append(r.queue, func(logger *slog.Logger) {
		if ctx := context.Background(); logger.Enabled(ctx, slog.LevelWarn) {
			logger.LogAttrs(ctx, slog.LevelWarn, message, attrs()...)
		}
	})
}

// shared reports names of m that v has too. Presets of one name are meant to be joined, and
// are not reported.
func (r *reports) shared(m *member, v *vocabulary) {
	var names []string
	for _, g := range m.groups {
		if _, taken := v.meaning[g.Name]; taken {
			names = append(names, g.Name)
		}
	}
	for _, p := range m.presets {
		if _, taken := v.group(p.name); taken {
			names = append(names, p.name)
		}
	}
	if names == nil {
		return
	}
	slices.Sort(names)
	names = slices.Compact(names) // a preset may be given twice
	var owners []string
	for _, other := range v.members {
		if slices.ContainsFunc(names, other.has) {
			owners = append(owners, other.namespace)
		}
	}
	r.say(&r.ofNames, "spangate: other namespaces have these names too, and a spec turns them on together; rename them, or register with Override if that is meant",
		func() []slog.Attr {
			return []slog.Attr{slog.String("namespace", m.namespace), slog.Any("shared", some(names)), slog.Any("with", some(owners))}
		},
		[]string{m.namespace}, names, owners)
}

// change reports what is amiss in g, which follows old.
func (r *reports) change(old, g *generation) {
	if g.vocabulary != old.vocabulary {
		for _, m := range g.vocabulary.members {
			for _, p := range m.presets {
				r.preset(g.vocabulary, m, p)
			}
		}
	}
	r.intent(g)
}

// preset reports members of p, which is m's, that nobody has.
func (r *reports) preset(v *vocabulary, m *member, p preset) {
	var missing []string
	for _, name := range p.members {
		if _, ok := v.group(name); !ok {
			missing = append(missing, name)
		}
	}
	if missing == nil {
		return
	}
	r.say(&r.ofNames, "spangate: nobody has registered these groups of a preset; they are ignored until somebody does",
		func() []slog.Attr {
			attrs := []slog.Attr{slog.String("namespace", m.namespace), slog.String("preset", p.name)}
			return append(attrs, v.explain("missing", missing, v.names)...)
		},
		[]string{m.namespace, p.name}, missing)
}

// intent reports what keeps what is wanted in g from being on.
func (r *reports) intent(g *generation) {
	v, in := g.vocabulary, g.intent
	nothing := g.enabled.None() && !in.wantsNothing()
	if len(g.pending) == 0 && !nothing {
		return
	}
	var message string
	_, tooLong := in.(*longIntent)
	switch {
	case tooLong:
		message = fmt.Sprintf("spangate: the spec is longer than %d bytes and is not read; everything is off", spec.MaxLen)
	case len(v.members) == 0:
		message = "spangate: nothing is registered, so nothing is on; what is asked for is kept, and takes effect as namespaces register"
	case len(g.pending) == 0:
		message = "spangate: what is asked for turns nothing on"
	case nothing:
		message = "spangate: nobody has registered these names, so nothing is on; they are kept, and take effect when somebody does"
	default:
		message = "spangate: nobody has registered these names; they are kept, and take effect when somebody does"
	}
	r.say(&r.ofIntent, message, func() []slog.Attr {
		candidates := v.names
		if _, pinned := in.(pinIntent); !pinned {
			candidates = slices.Concat(v.presetNames(), v.names)
		}
		return append([]slog.Attr{in.attr()}, v.explain("pending", g.pending, candidates)...)
	}, g.pending)
}

// explain returns the attrs of a record about names that nobody has: the names, the nearest
// candidates, and what is registered.
func (v *vocabulary) explain(key string, names, candidates []string) []slog.Attr {
	nearest := make(map[string]string)
	for _, name := range names[:min(len(names), maxListed)] {
		if near := spec.Nearest(name, candidates); near != "" {
			nearest[spec.Head(name)] = near
		}
	}
	attrs := []slog.Attr{slog.Any(key, some(names))}
	if len(nearest) > 0 {
		attrs = append(attrs, slog.Any("nearest", nearest))
	}
	return append(attrs, slog.Group("registered",
		slog.Any("namespaces", some(v.namespaces())), slog.Any("presets", some(v.presetNames())), slog.Any("groups", some(v.names))))
}

// log logs what is queued, holding no lock meanwhile. One goroutine at a time does, so that
// records come in the order of the changes, and a logger that changes the registry has its
// own reports logged after the one that it is busy with.
func (r *Registry) log() {
	for r.logNext() {
	}
}

func (r *Registry) logNext() bool {
	next, ok := r.takeReport()
	if !ok {
		return false
	}
	defer func() { // deferred, so that a logger that panics does not silence the registry
		r.mu.Lock()
		defer r.mu.Unlock()
		r.reports.logging = false
	}()
	logger := r.logger
	if logger == nil {
		logger = slog.Default()
	}
	next(logger)
	return true
}

// takeReport takes the first report from the queue, unless there is none or somebody else
// is logging, who will see to it.
func (r *Registry) takeReport() (func(*slog.Logger), bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reports.logging || len(r.reports.queue) == 0 {
		return nil, false
	}
	r.reports.logging = true
	next := r.reports.queue[0]
	r.reports.queue = slices.Delete(r.reports.queue, 0, 1)
	return next, true
}

// said remembers what has been said. The zero value remembers nothing.
type said struct {
	seed maphash.Seed
	keys map[uint64]struct{} // hashes, since a pending name may be as long as a spec
}

// maxSaid is how much is remembered. Who says more hears some of it again, rather than have
// the memory grow for as long as the process lives.
const maxSaid = 1024

// first reports whether this is the first time that it sees this message and key.
func (s *said) first(message string, key [][]string) bool {
	if s.keys == nil || len(s.keys) >= maxSaid {
		*s = said{seed: maphash.MakeSeed(), keys: make(map[uint64]struct{})}
	}
	var h maphash.Hash
	h.SetSeed(s.seed)
	fmt.Fprintf(&h, "%q %q", message, key) // quoted, since a name that nobody has may hold anything
	n := len(s.keys)
	s.keys[h.Sum64()] = struct{}{}
	return len(s.keys) > n
}

// maxListed is how many names a record lists.
const maxListed = 64

// some returns names as a record lists them: not too many, and none too long.
func some(names []string) []string {
	listed := make([]string, 0, min(len(names), maxListed+1))
	for i, name := range names {
		if i == maxListed {
			return append(listed, fmt.Sprintf("… and %d more", len(names)-maxListed))
		}
		listed = append(listed, spec.Head(name))
	}
	return listed
}
