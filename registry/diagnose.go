// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/spangate/spangate/internal/spec"
)

// reports holds the records that a registry has to log, and remembers which it has queued. It
// is guarded by the registry's mutex. The zero value is ready to use.
type reports struct {
	queue   []record // in the order of the changes; at most maxQueued
	dropped int      // records that found the queue full, since that was last reported
	logging bool     // a goroutine is logging a record

	discovers bool // Scopes was called, so that names may be registered at any time

	// The records that have been queued about the registered names, and about the intent. The
	// latter are cleared when the intent changes, so that a spec set again is reported again.
	ofNames, ofIntent recordSet
}

// record logs one record.
type record func(*slog.Logger)

// maxQueued is how many records may wait for a logger that is slow or blocked.
const maxQueued = 1024

func (r *reports) newIntent() { r.ofIntent = recordSet{} }

// warn queues a record of level WARN unless one of the same message and key is in before. attrs is called
// when the record is logged, with no lock held, so slow work belongs there. It must not keep
// names or specs of an intent, whose size is not bounded: an excerpt does.
func (r *reports) warn(before *recordSet, message string, attrs func() []slog.Attr, key ...[]string) {
	r.report(slog.LevelWarn, before, message, attrs, key...)
}

// report is warn with any level.
func (r *reports) report(level slog.Level, before *recordSet, message string, attrs func() []slog.Attr, key ...[]string) {
	if len(r.queue) >= maxQueued {
		r.dropped++
	} else if before.add(message, key) {
		r.queue = append(r.queue, newRecord(level, message, attrs))
	}
}

func newRecord(level slog.Level, message string, attrs func() []slog.Attr) record {
	return func(logger *slog.Logger) {
		if ctx := context.Background(); logger.Enabled(ctx, level) {
			logger.LogAttrs(ctx, level, message, attrs()...)
		}
	}
}

// take removes the first record from the queue and returns it, or nil if there is none. If records
// were dropped, the report of that comes first.
func (r *reports) take() (next record) {
	if n := r.dropped; n > 0 {
		r.dropped = 0
		return newRecord(slog.LevelWarn, "spangate: the logger is slow, so records of the registry were dropped",
			func() []slog.Attr { return []slog.Attr{slog.Int("dropped", n)} })
	}
	if len(r.queue) > 0 {
		next = r.queue[0]
		r.queue = slices.Delete(r.queue, 0, 1)
	}
	return next
}

// sharedNames reports names of m that v has too. Presets of one name are meant to be joined, and
// are not reported.
func (r *reports) sharedNames(m *member, v *vocabulary) {
	var names []string
	for g := range m.catalog.Groups() {
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
			owners = append(owners, other.namespace())
		}
	}
	r.warn(&r.ofNames, "spangate: other namespaces have these names too, and a spec turns them on together; rename them, or register with Shared if that is intended",
		func() []slog.Attr {
			return []slog.Attr{slog.String("namespace", m.namespace()), slog.Any("shared", excerpt(names)), slog.Any("with", excerpt(owners))}
		},
		[]string{m.namespace()}, names, owners)
}

// generation reports what is wrong in g, which follows old: presets with members that are not
// registered.
func (r *reports) presets(old, g *generation) {
	v := g.vocabulary
	for _, m := range v.members {
		if v == old.vocabulary {
			break
		}
		for _, p := range m.presets {
			missing := slices.DeleteFunc(slices.Clone(p.members), func(name string) bool { _, ok := v.group(name); return ok })
			if len(missing) == 0 {
				continue
			}
			r.warn(&r.ofNames, "spangate: groups of a preset are not registered; they are ignored until they are",
				func() []slog.Attr {
					attrs := []slog.Attr{slog.String("namespace", m.namespace()), slog.String("preset", p.name)}
					return append(attrs, v.explain("missing", excerpt(missing), v.groups)...)
				},
				[]string{m.namespace(), p.name}, missing)
		}
	}
}

// intent reports the names of the intent of g, which follows old, that are not registered. A spec that
// selects nothing, although all its names are registered, may be intended and is not reported.
//
// If the registry discovers scopes, a name is unknown until the library that it is of is used, so
// only a name that is near a registered one is a warning. Others are of level INFO when they become
// pending.
func (r *reports) intent(old, g *generation) {
	v, in := g.vocabulary, g.intent
	level, key := slog.LevelWarn, g.pending
	var message string
	switch {
	case in.tooLong():
		message = fmt.Sprintf("spangate: the spec is longer than %d bytes and is not read; everything is off", spec.MaxLen)
	case len(v.members) == 0 && !in.selectsNothing() && !r.discovers:
		message = "spangate: nothing is registered, so nothing is on; the names are kept, and take effect as namespaces register"
	case len(g.pending) == 0:
		return
	case g.enabled.None() && (len(v.groups) > 0 || !r.discovers):
		message = "spangate: these names are not registered, and nothing is on; they are kept, and take effect when they are registered"
	default:
		message = "spangate: these names are not registered; they are kept, and take effect when they are"
	}
	attr, pending, candidates := in.attr(), excerpt(g.pending), v.groups
	if in.kind != byPin {
		candidates = v.allNames()
	}
	if r.discovers && !in.tooLong() {
		key = slices.Sorted(maps.Keys(nearest(pending, candidates)))
		if len(key) == 0 {
			if old.hasPending(g.pending) {
				return
			}
			level, message = slog.LevelInfo, "spangate: these names are not registered yet; a library's name is once the library is used, and takes effect then"
		}
	}
	r.report(level, &r.ofIntent, message, func() []slog.Attr {
		return append([]slog.Attr{attr}, v.explain("pending", pending, candidates)...)
	}, key)
}

// hasPending reports whether all names, which are sorted, are pending in g.
func (g *generation) hasPending(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		_, found := slices.BinarySearch(g.pending, name)
		return !found
	})
}

// nearest returns the nearest candidate of each name that has one; of an excerpt, as it takes time.
func nearest(names, candidates []string) map[string]string {
	found := make(map[string]string)
	for _, name := range names[:min(len(names), maxListed)] {
		if near := spec.Nearest(name, candidates); near != "" {
			found[name] = near
		}
	}
	return found
}

// explain returns the attrs of a record about names that are not registered: the names, which are
// an excerpt, the nearest candidates, and what is registered.
func (v *vocabulary) explain(key string, names, candidates []string) []slog.Attr {
	attrs := []slog.Attr{slog.Any(key, names)}
	if found := nearest(names, candidates); len(found) > 0 {
		attrs = append(attrs, slog.Any("nearest", found))
	}
	return append(attrs, slog.Group("registered",
		slog.Any("namespaces", excerpt(v.namespaces())), slog.Any("presets", excerpt(v.presetNames())), slog.Any("groups", excerpt(v.groups))))
}

// log logs the queued records, with no lock held. Only one goroutine at a time logs, so records
// are in the order of the changes. If a logger changes the registry, the records of that change
// are logged after the one that it is called with.
func (r *Registry) log() {
	for r.logNext() {
	}
}

func (r *Registry) logNext() bool {
	next := r.takeRecord()
	if next == nil {
		return false
	}
	defer func() { // deferred, so that a logger that panics does not silence the registry
		r.mu.Lock()
		defer r.mu.Unlock()
		r.reports.logging = false
	}()
	next(cmp.Or(r.logger, slog.Default()))
	return true
}

// takeRecord takes the first record from the queue. It returns nil if there is none, or if
// another goroutine is logging, which will take it.
func (r *Registry) takeRecord() (next record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.reports.logging {
		next = r.reports.take()
		r.reports.logging = next != nil
	}
	return next
}

// recordSet holds the records that have been queued. The zero value is empty.
type recordSet struct {
	seed maphash.Seed
	keys map[uint64]struct{} // hashes, since a pending name may be as long as a spec
}

// maxRecords bounds a recordSet. A full one is cleared: a record may be logged again, but memory
// does not grow while the process runs.
const maxRecords = 1024

// add adds the record of this message and key, and reports whether it was not in s.
func (s *recordSet) add(message string, key [][]string) bool {
	if s.keys == nil || len(s.keys) >= maxRecords {
		*s = recordSet{seed: maphash.MakeSeed(), keys: make(map[uint64]struct{})}
	}
	var h maphash.Hash
	h.SetSeed(s.seed)
	fmt.Fprintf(&h, "%q %q", message, key) // quoted, since a name that is not registered may hold anything
	n := len(s.keys)
	s.keys[h.Sum64()] = struct{}{}
	return len(s.keys) > n
}

// maxListed is how many names a record lists.
const maxListed = 64

// excerpt returns names for a record: at most maxListed, and a count of the rest; long ones cut. It
// keeps no longer string that a name is part of.
func excerpt(names []string) []string {
	listed := make([]string, 0, min(len(names), maxListed+1))
	for i, name := range names {
		if i == maxListed {
			return append(listed, fmt.Sprintf("… and %d more", len(names)-maxListed))
		}
		listed = append(listed, strings.Clone(spec.Head(name)))
	}
	return listed
}
