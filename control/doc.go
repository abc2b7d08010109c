// SPDX-License-Identifier: Apache-2.0

// Package control changes what is on while a program runs: by configuration, by leases that
// end by themselves, over HTTP, and from a watched file.
//
// A [Controller] decides what is on in a [registry.Registry]:
//
//	((baseline − what leases quiet) ∪ what leases add) − deny, under the ceiling
//
// The baseline is the set that configuration or a person chose. A lease adds groups, quiets
// groups of the baseline, or both, for one owner and a limited time, and ends by itself. A lease
// takes nothing from another lease. The set is computed when something changes and never at a
// site, which still costs one [spangate.Gate.On].
//
// # One trace in full detail
//
// A lease with [LeaseRequest.Share] or [LeaseRequest.Match] is a detail: it adds its groups to chosen
// traces only. A chosen trace has a [spangate.Override] in its context. [Controller.Begin] gives one to
// a share of traces, [Controller.Offer] to requests that match, and [Controller.Admit] to what comes from other
// processes, none of which it does by default. Deny, ceiling and a pin stand over overrides, and
// [OverrideBudget] bounds what they cost. A lease with [LeaseRequest.Revoke] ends one by its id.
//
// # Configuration
//
// [FromEnv] reads the baseline from the environment, [Config] is one in a configuration file,
// [Flag] lets the command line replace it, and [Controller.WatchFile] follows a file while the
// program runs, a mounted ConfigMap included:
//
//	base, err := control.FromEnv()
//	…
//	flag.Var(control.Flag(&base), "spans", "span groups, as in default,sandbox")
//	flag.Parse()
//	c, err := control.New(registry.Default(), control.StartupBaseline(base))
//	…
//	defer c.Close()
//
// Configuration is lenient: it is often shared by processes that know other names, so a name
// that is not registered is pending: it is kept until it is registered. A request at run time is
// strict: such a name is an error with its position and a suggestion, unless the request allows
// pending names. Text that can't be a name is an error in both; in configuration it is [ErrSpec].
//
// # The endpoint
//
// [Handler] is one [http.Handler], to be mounted anywhere. Package wire has its routes and the
// shapes of requests and answers, and package client is a client of it:
//
//	mux.Handle("/spans/", http.StripPrefix("/spans", control.Handler(c,
//		control.Authorize(control.BearerToken(token)))))
//
// What is on, and why, as JSON; a browser gets a page:
//
//	curl localhost:8080/spans/
//
// Another baseline, and back to the one of configuration. Each change needs the token:
//
//	AUTH="Authorization: Bearer $TOKEN"
//	curl -H "$AUTH" -X PUT localhost:8080/spans/ -d spec=default,sandbox -d why='the slow verifier'
//	curl -H "$AUTH" -X DELETE localhost:8080/spans/
//
// A lease on everything for five minutes; renewed for thirty; released. Or a lease that quiets:
//
//	curl -H "$AUTH" localhost:8080/spans/leases -d spec=all -d ttl=5m -d owner=me
//	curl -H "$AUTH" -X PATCH localhost:8080/spans/leases/ID -d ttl=30m
//	curl -H "$AUTH" -X DELETE localhost:8080/spans/leases/ID
//	curl -H "$AUTH" localhost:8080/spans/leases -d quiet=sql -d ttl=10m -d owner=me
//
// Full detail for one trace in a thousand, for the traces of one customer, and no more for one override:
//
//	curl -H "$AUTH" localhost:8080/spans/leases -d spec=all -d share=1/1000 -d ttl=1h -d owner=me
//	curl -H "$AUTH" localhost:8080/spans/leases -d spec=all -d match=customer=42 -d ttl=10m -d owner=me
//	curl -H "$AUTH" localhost:8080/spans/leases -d revoke=ID -d ttl=1h -d owner=me
//
// Send a state back, here only if nothing has changed since the answer with that ETag:
//
//	curl localhost:8080/spans/ > before.json
//	curl -H "$AUTH" -X PUT localhost:8080/spans/ -H 'Content-Type: application/json' \
//		-H 'If-Match: "TAG"' -d @before.json
package control
