// SPDX-License-Identifier: Apache-2.0

// Package wire has the types of the JSON requests and answers of package control's endpoint. It
// imports nothing but the standard library, so that a client does not have to build the
// endpoint.
//
// Field names are stable: they are only ever added, and a client ignores those that it does
// not know. A list is never null. A 64-bit value is a string, since a JSON number does not
// hold it everywhere; the numbers that there are stay below 2^31. Times are RFC 3339 in UTC
// with milliseconds, and durations are what [time.ParseDuration] reads, as in 4m30s.
//
// The routes, below the path at which the endpoint is mounted:
//
//	GET     /              [State], with its generation as ETag; If-None-Match gives 304,
//	                       unless this generation had Roots or other Overrides, or the program
//	                       shows Scopes or watches a File: these may change within it
//	PUT     /              takes [Baseline] or a whole [State], gives [State]
//	DELETE  /              back to the start-up baseline, gives [State]
//	POST    /leases        takes [LeaseRequest], gives 201, Location and [Lease]; a client that
//	                       prefers HTML is sent to the page with 303 instead
//	PATCH   /leases/{id}   takes [LeasePatch], gives [Lease]
//	DELETE  /leases/{id}   gives the [Lease] that ended
//
// A request has its fields as JSON or as a form, by the same names, in at most 64 KiB. A field
// that its route does not take is refused with 400, and the [Error] says where it belongs. A
// field in the query is refused too. A DELETE has neither fields nor a body. Any
// change may carry If-Match, and is refused with 412 unless the state still is of that generation.
// Every refusal is an [Error].
//
// The change log has the name that the authoriser gives, else the who or owner in the body, else the
// address of the client. PATCH and DELETE take no name, so theirs is that address unless the
// authoriser gives names, as control.BearerTokens does.
//
// # A State that is sent back
//
// PUT of a State as GET gave it restores its baseline. It is a whole State if it has the field
// generation, and it has to be JSON. Its other fields are not read, with one exception: a name
// of the spec that is not registered any more is kept as pending, whatever allow_pending says,
// if the State lists it among its groups, its presets or its pending names. So the baseline can
// be restored whatever has been unregistered since. The lists of a State do not count towards
// the 64 KiB; with them a State may have 32 MiB. A longer one, of thousands of leases, is refused
// with 413: send only the fields of its [Baseline], with allow_pending.
package wire

import "time"

// Baseline is what is on without leases, and the body of a PUT.
type Baseline struct {
	// Spec selects groups, as in default,sandbox. In a request it must be present; an
	// empty one means nothing on.
	Spec string `json:"spec"`
	// AllowPending keeps names that are not registered until they are. Without it a request
	// with such a name is refused.
	AllowPending bool `json:"allow_pending"`
	// Who set it. In a request, a name that the authoriser gives replaces it; without either it
	// is the address of the client.
	Who string `json:"who"`
	// Why it was set, in a line of text.
	Why string `json:"why"`
}

// State is everything that the endpoint shows, all of one generation. Its own Baseline is
// the one in force: a State that is sent back with PUT restores it.
type State struct {
	Baseline
	// Startup is the baseline that DELETE goes back to: the last from code, flag, environment
	// or file.
	Startup Baseline `json:"startup"`
	// Generation is the ETag without its quotes. It is opaque, and different after every
	// change of anything but the time, Roots, File, Overrides and what counts spans, and in every process.
	Generation string `json:"generation"`
	// Now is the time by the clock of the process.
	Now time.Time `json:"now"`
	// Writable reports whether the endpoint has an authoriser, which may still refuse a
	// particular change.
	Writable bool `json:"writable"`
	// File is the file that the program watches; it is left out if there is none. It may change
	// within a generation.
	File *File `json:"file,omitempty"`
	// Pinned reports whether the program has pinned a set in the registry: that set is on,
	// and baseline, leases and limits have no effect, until the program ends the pin.
	Pinned bool `json:"pinned"`
	// Deny selects the groups that stay off whatever baseline and leases say; it may be
	// empty.
	Deny string `json:"deny"`
	// Ceiling is the spec of the only groups that may be on; empty if there is none.
	Ceiling string `json:"ceiling"`
	// Enabled has the groups that are on, sorted.
	Enabled []string `json:"enabled"`
	// Roots has the groups, sorted, that are off and begin traces, as far as the process
	// has seen. While one is off, spans that are on may have no span above them: each is a
	// root of its own, or its library does not start it. Roots is empty if the program has
	// not given control.Roots to the controller. It may change within a generation.
	Roots []string `json:"roots"`
	// Pending has the names that are not registered, sorted: of the baseline, the leases, the
	// limits, and a spec or pin that the program has set on the registry itself.
	Pending []string `json:"pending"`
	// Groups has every group that is registered, sorted by name.
	Groups []Group `json:"groups"`
	// Scopes has the instrumentation scopes that the program has seen, sorted by name: the first
	// 1,000 by their names, and all others as one with the name other. It is empty if the program
	// has not given control.Scopes to the controller. It may change within a generation, as
	// Unmatched and the Spans of Groups may.
	Scopes []Scope `json:"scopes"`
	// Unmatched has the program's rules that have matched no scope yet, in the program's order.
	Unmatched []UnmatchedRule `json:"unmatched"`
	// Presets has every preset that is registered and all, sorted by name.
	Presets []Preset `json:"presets"`
	// Leases has the live leases, sorted by end.
	Leases []Lease `json:"leases"`
	// Overrides counts the traces that have more on than others. It may change within a generation.
	Overrides Overrides `json:"overrides"`
	// Changes has the latest changes, at most half of them of namespaces; the newest first.
	Changes []Change `json:"changes"`
	// MaxTTL is the longest time to live of a lease.
	MaxTTL string `json:"max_ttl"`
	// MaxLeases is how many leases there can be at once.
	MaxLeases int `json:"max_leases"`
}

// File is a file whose content is the baseline.
type File struct {
	Path string `json:"path"`
	// Problem says why the content can't be used, so that the last baseline stays. It is empty
	// while the content can be used.
	Problem string `json:"problem"`
}

// Group is one group that is registered.
type Group struct {
	Name string `json:"name"`
	// On reports whether its spans exist.
	On bool `json:"on"`
	// Baseline reports whether the baseline selects it.
	Baseline bool `json:"baseline"`
	// Leases has the ids of the leases that add it, in the order of [State.Leases].
	Leases []string `json:"leases"`
	// Details has the ids of the leases that add it to chosen traces, in the order of
	// [State.Leases]. On says nothing about those.
	Details []string `json:"details"`
	// Quiet has the ids of the leases that quiet it, in the order of [State.Leases]: the
	// baseline does not turn it on while there is one.
	Quiet []string `json:"quiet"`
	// Withheld reports whether the deny list or the ceiling keeps it off.
	Withheld bool `json:"withheld"`
	// Overridden reports whether On differs from what baseline, leases and limits say, because
	// the program has set a spec or pin on the registry itself.
	Overridden bool `json:"overridden"`
	// Members has the namespaces that have a group of this name, sorted; one as a rule.
	Members []Member `json:"members"`
	// Spans counts its spans; it is left out if the program has not given control.Scopes to the
	// controller.
	Spans *Spans `json:"spans,omitempty"`
}

// Spans counts the spans of a group, a scope or a site.
type Spans struct {
	// Started is how many have been started since the start of the program, in decimal.
	Started string `json:"started"`
	// PerSecond is how many a second were started over the last minute, or since the start
	// of the controller if that is less.
	PerSecond float64 `json:"per_second"`
	// Withheld is how many were not started because their group was off, in decimal. It is
	// left out if the program does not count them.
	Withheld string `json:"withheld,omitempty"`
}

// Scope is an instrumentation scope: the part of a program, mostly a library, that starts spans
// under one name.
type Scope struct {
	Name string `json:"name"`
	// Spans counts those of all Sites.
	Spans Spans `json:"spans"`
	// Sites says which of its spans are in which groups, in the order in which the rules were
	// asked: the first site whose SpanName and Kind match a span is the span's.
	Sites []Site `json:"sites"`
}

// Site is the spans of one scope that one rule decides about.
type Site struct {
	// Rule is the rule that decides, as text for a file of rules; empty if there is none: the
	// spans are in no group or in one that was made for the scope.
	Rule string `json:"rule"`
	// SpanName is the name of the spans, or a prefix followed by '*'; empty is any.
	SpanName string `json:"span_name"`
	// Kind is the kind of the spans, as in server; empty is any.
	Kind string `json:"kind"`
	// Groups has the groups that the spans are in, sorted: they exist while one of these is on.
	// If it is empty, they always exist. A bit that no registered group has is shown as its
	// mask, as in 0x8000.
	Groups []string `json:"groups"`
	// On reports whether the spans exist.
	On    bool  `json:"on"`
	Spans Spans `json:"spans"`
}

// UnmatchedRule is a rule that has matched no scope yet.
type UnmatchedRule struct {
	// Rule is the rule as text for a file of rules.
	Rule string `json:"rule"`
	// Nearest is the scope seen whose name is nearest to the rule's, or empty if none is close.
	Nearest string `json:"nearest"`
}

// Member is a group in one namespace.
type Member struct {
	Namespace string `json:"namespace"`
	// Bit is the position of the group's bit in the namespace's mask, 0 to 63.
	Bit int `json:"bit"`
	// Doc says in a line what the group's spans are; it may be empty.
	Doc string `json:"doc"`
}

// The states of a [Preset].
const (
	On    = "on"    // all of its groups are
	Off   = "off"   // none of its groups is, or it has none
	Mixed = "mixed" // some of its groups are
)

// Preset is a named set of groups.
type Preset struct {
	Name string `json:"name"`
	// State is [On], [Off] or [Mixed].
	State string `json:"state"`
	// Groups has its live members, sorted.
	Groups []string `json:"groups"`
	// Doc says in a line when to choose it; it may be empty.
	Doc string `json:"doc"`
}

// Overrides counts what overrides did in this process since its start. An override has groups on for
// one trace beside those that are on for all. Counts are in decimal.
type Overrides struct {
	// Admitted reports whether overrides that come from other processes have an effect.
	Admitted bool `json:"admitted"`
	// Live is how many overrides began or had an effect within the last minute, have not ended and still
	// select a group.
	Live int `json:"live"`
	// Chosen is how many overrides leases of this process have given to traces.
	Chosen string `json:"chosen"`
	// Received is how many overrides have come from other processes and were admitted.
	Received string `json:"received"`
	// Started is how many spans overrides have turned on.
	Started string `json:"started"`
	// Sampled is how many spans were sampled for overrides although the sampler dropped them.
	Sampled string `json:"sampled"`
	// Cut has the limits of the process that were reached, and what they kept from having an
	// effect: [CutTraces] counts overrides, the others spans.
	Cut []Count `json:"cut"`
	// Refused has the reasons for which overrides of other processes were refused, and how many:
	// [RefusedExpired] and others, and those of the program's propagator.
	Refused []Count `json:"refused"`
	// MaxTraces is how many overrides can be live at once.
	MaxTraces int `json:"max_traces"`
	// MaxSpansPerSecond is how many spans a second all overrides together turn on, and how many they have sampled.
	MaxSpansPerSecond int `json:"max_spans_per_second"`
	// MaxSpansPerTrace is how many spans one override turns on.
	MaxSpansPerTrace int `json:"max_spans_per_trace"`
	// MaxTime is how long a trace keeps the override that a lease has given it.
	MaxTime string `json:"max_time"`
}

// Count is how often something happened for one reason.
type Count struct {
	Reason string `json:"reason"`
	Count  string `json:"count"`
}

// The reasons in [Overrides].
const (
	CutTraces          = "traces"           // too many overrides at once
	CutSpansPerSecond  = "spans per second" // too many spans of all overrides
	CutSpansPerTrace   = "spans per trace"  // too many spans of one override
	RefusedNotAdmitted = "not admitted"     // the program admits none
	RefusedMalformed   = "malformed"        // a spec or id that no override has
	RefusedExpired     = "expired"          // its end has passed
	RefusedFarEnd      = "too far ahead"    // its end is more than an hour further off than a lease's may be
	RefusedRevoked     = "revoked"          // a lease revokes it
)

// Lease adds groups to the baseline, quiets groups of it, or both, for a limited time. With Share
// or Match it is a detail: it adds groups to chosen traces only. With Revoke it ends overrides.
type Lease struct {
	// ID names the lease in /leases/{id}. It is no secret.
	ID string `json:"id"`
	// Owner is whose lease it is.
	Owner string `json:"owner"`
	// Spec selects the groups that it adds, as in the request. It may be empty.
	Spec string `json:"spec"`
	// Quiet selects the groups that it quiets, as in the request. It may be empty.
	Quiet string `json:"quiet"`
	// Share, Match and Revoke are as in the request; they may be empty.
	Share  string `json:"share"`
	Match  string `json:"match"`
	Revoke string `json:"revoke"`
	// AllowPending is as in the request.
	AllowPending bool `json:"allow_pending"`
	// Why is as in the request.
	Why string `json:"why"`
	// Groups has the groups that Spec selects now, sorted, those that are withheld
	// included.
	Groups []string `json:"groups"`
	// Quieted has the groups that Quiet selects now, sorted.
	Quieted []string `json:"quieted"`
	// StillOn has those of Quieted that are still on, because a lease adds them: a
	// lease quiets the baseline, and never another lease.
	StillOn []string `json:"still_on"`
	// Withheld has those of Groups that the deny list or the ceiling keeps off.
	Withheld []string `json:"withheld"`
	// Pending has the names of Spec and Quiet that are not registered, sorted.
	Pending []string `json:"pending"`
	// Start is when it was granted.
	Start time.Time `json:"start"`
	// End is when it ends by itself. It is the same in every answer until the lease is
	// renewed.
	End time.Time `json:"end"`
	// Left is how long it still has, by the monotonic clock of the process. It is right even
	// if the wall clock, which [State.Now] and End are read from, has been set meanwhile.
	Left string `json:"left"`
}

// LeaseRequest is the body of a POST to /leases.
type LeaseRequest struct {
	// Spec selects groups to add to what is on. It may be left out if Quiet is present.
	Spec string `json:"spec"`
	// Quiet selects groups to take away from the baseline, and from nothing else: a group
	// that a lease adds stays on. It may be left out. A lease that neither adds nor quiets
	// anything is refused.
	Quiet string `json:"quiet,omitempty"`
	// Share makes the lease act on a share of traces instead of on all, and through the
	// propagator of the program in every process that they pass. It is text such as 0.1% or 1/1000, above 0 and
	// at most 100%. A trace that is in a share is in every larger one. Leave out Share and Match for all
	// traces: either is refused if it is present and empty, except from the form of the page.
	Share string `json:"share,omitempty"`
	// Match makes the lease act on the traces of matching requests instead of on all, as in
	// customer=42 or customer=42,tier=gold: every field has the value. Which fields there are
	// is up to the program. Share and Match exclude each other, and Quiet.
	Match string `json:"match,omitempty"`
	// Revoke ends the overrides with this id, or with an id that begins with it and '-', as the
	// ids of a lease's overrides begin with that of the lease. They are refused for as long as the
	// lease lives. Nothing but Owner, TTL and Why goes with it.
	Revoke string `json:"revoke,omitempty"`
	// Owner is whose lease it is. If it is left out, the name that the authoriser gives is
	// the owner; one of the two must be there.
	Owner string `json:"owner,omitempty"`
	// TTL is how long, as in 5m: more than 0 and at most [State.MaxTTL].
	TTL string `json:"ttl"`
	// Why may be left out.
	Why string `json:"why,omitempty"`
	// AllowPending is as in [Baseline].
	AllowPending bool `json:"allow_pending,omitempty"`
}

// LeasePatch is the body of a PATCH of a lease.
type LeasePatch struct {
	// TTL is how long the lease shall live from now on: longer or shorter than before.
	TTL string `json:"ttl"`
}

// Change is one entry of the change log.
type Change struct {
	// Generation is the one that the change made.
	Generation string `json:"generation"`
	// Time is when.
	Time time.Time `json:"time"`
	// Kind is what changed: [KindBaseline] or another.
	Kind string `json:"kind"`
	// Who changed it.
	Who string `json:"who"`
	// Why, in words; it may be empty.
	Why string `json:"why"`
	// Old has the groups that were on before, sorted.
	Old []string `json:"old"`
	// New has the groups that were on after, sorted.
	New []string `json:"new"`
}

// The kinds of a [Change].
const (
	KindBaseline   = "baseline"   // another baseline, or back to that of start-up
	KindLease      = "lease"      // a lease was granted
	KindRenewal    = "renewal"    // a lease ends later, or sooner
	KindRelease    = "release"    // a lease was released
	KindExpiry     = "expiry"     // leases ended by themselves
	KindLimits     = "limits"     // another deny list or ceiling
	KindNamespaces = "namespaces" // a namespace was registered, replaced or unregistered
	KindRegistry   = "registry"   // the program called SetSpec or Pin on the registry itself
	KindClose      = "close"      // the controller was closed
)

// Error is the body of every refusal.
type Error struct {
	// Message says what is wrong and what to do, for people.
	Message string `json:"error"`
	// Code says what is wrong, for programs: one of the constants.
	Code string `json:"code"`
	// Field is the field of the request that is at fault, or empty.
	Field string `json:"field,omitempty"`
	// Offset is where in the body JSON breaks off, in bytes; it is meaningful with
	// [CodeMalformed] alone.
	Offset int `json:"offset,omitempty"`
	// Unknown has the first 100 names in Field that are not registered, with [CodeUnknownName].
	Unknown []UnknownName `json:"unknown,omitempty"`
	// Valid has the names that are registered, presets first, with [CodeUnknownName].
	Valid []string `json:"valid,omitempty"`
	// Accept has the media types that are accepted, with [CodeMediaType].
	Accept []string `json:"accept,omitempty"`
	// Generation is the one that the state is of, with [CodeStale].
	Generation string `json:"generation,omitempty"`
}

// UnknownName is a name in a spec that is not registered.
type UnknownName struct {
	// Name is as written, without the '-' of an exclusion.
	Name string `json:"name"`
	// Offset is where it begins in the spec, in bytes of UTF-8.
	Offset int `json:"offset"`
	// Suggestion is the nearest name that is registered, or empty if none is close. Only the
	// first 64 unknown names have one.
	Suggestion string `json:"suggestion"`
}

// The codes of an [Error], each with its status.
const (
	CodeMalformed     = "malformed"       // 400: the body is not JSON or not a form, or there must be none
	CodeMissingField  = "missing_field"   // 400: a field that must be present is not
	CodeBadField      = "bad_field"       // 400: an unknown field, or a value that the field can't have
	CodeUnknownName   = "unknown_name"    // 400: the spec has names that are not registered
	CodeUnauthorized  = "unauthorized"    // 401: credentials are missing or wrong; see WWW-Authenticate
	CodeForbidden     = "forbidden"       // 403: no authoriser, or it refuses
	CodeCrossOrigin   = "cross_origin"    // 403: a browser sent it for another site
	CodeNotFound      = "not_found"       // 404: no such path, or no such lease
	CodeMethod        = "method"          // 405: see the header Allow
	CodeTooManyLeases = "too_many_leases" // 409: no room for another lease, by number or by size
	CodeClosed        = "closed"          // 410: the controller has been closed
	CodeStale         = "stale"           // 412: the state is of another generation
	CodeTooLarge      = "too_large"       // 413: the body is longer than 64 KiB, a State than 32 MiB, or one value than 4 MiB
	CodeMediaType     = "media_type"      // 415: see Accept
	CodeUnavailable   = "unavailable"     // 503: the endpoint has no controller
)
