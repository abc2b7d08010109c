// SPDX-License-Identifier: Apache-2.0

// Package control changes what is on while a program runs: by configuration, by leases that
// end by themselves, over HTTP, and from a watched file.
//
// A [Controller] stands over a [registry.Registry]. The set that is on is
//
//	((baseline − what leases quiet) ∪ what leases add) − deny, under the ceiling
//
// The baseline is what configuration or a person asked for. A lease adds groups, quiets groups
// of the baseline, or both, for one owner and for a limited time: all for five minutes goes
// off by itself, and sql that is quiet for ten comes back. A lease takes nothing from another
// lease. The set is computed when something changes and never when a
// site asks: a site's cost stays that of [spangate.Gate.On].
//
// Limits stand over both: deny keeps groups off whoever asks for them, and nothing above the
// ceiling goes on.
//
// # Configuration
//
// [FromEnv] reads the baseline from the environment, [Config] is one of a configuration file,
// [Flag] lets the command line have the last word, and [Controller.WatchFile] follows a file
// while the program runs, a mounted ConfigMap included:
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
// that is not registered waits for its owner. What a person asks for at run time is strict:
// such a name is an error that says where it stands and what may have been meant, unless the
// request allows pending names. Text that can't be a name, such as one in quotes or two
// without a comma between, is [ErrSpec] everywhere.
//
// # Who changed what
//
// [Controller.State] is a snapshot of what is on and because of whom. Every change is a record
// of level INFO, a call of each [OnChange] function and a count of [Metrics]: what was on, what
// is on, who changed it and why. A goroutine of the controller logs and calls, in the order of
// the changes, and no change waits for it: see [Controller].
//
// # The endpoint
//
// [Handler] is one [http.Handler], to be mounted anywhere:
//
//	mux.Handle("/spans/", http.StripPrefix("/spans", control.Handler(c,
//		control.Authorize(control.BearerToken(token)))))
//
// What is on and because of whom, as JSON; a browser gets a page:
//
//	curl localhost:8080/spans/
//
// Another baseline, and back to what the program started with:
//
//	curl -X PUT -H "Authorization: Bearer $TOKEN" localhost:8080/spans/ -d spec=default,sandbox
//	curl -X DELETE -H "Authorization: Bearer $TOKEN" localhost:8080/spans/
//
// Everything for five minutes; longer; and enough. Or less for ten minutes:
//
//	curl -H "Authorization: Bearer $TOKEN" localhost:8080/spans/leases -d spec=all -d ttl=5m -d owner=me
//	curl -X PATCH -H "Authorization: Bearer $TOKEN" localhost:8080/spans/leases/ID -d ttl=30m
//	curl -X DELETE -H "Authorization: Bearer $TOKEN" localhost:8080/spans/leases/ID
//	curl -H "Authorization: Bearer $TOKEN" localhost:8080/spans/leases -d quiet=sql -d ttl=10m -d owner=me
//
// JSON does as well, and what GET gives can be sent back:
//
//	curl -X PUT -H "Authorization: Bearer $TOKEN" localhost:8080/spans/ \
//		-H 'Content-Type: application/json' -d '{"spec": "default,sandbox", "why": "the slow verifier"}'
//	curl localhost:8080/spans/ > before.json
//	curl -X PUT -H "Authorization: Bearer $TOKEN" localhost:8080/spans/ \
//		-H 'Content-Type: application/json' -d @before.json
//
// Only if nobody has changed anything since, by the ETag that GET gave:
//
//	curl -X PUT -H "Authorization: Bearer $TOKEN" localhost:8080/spans/ -H 'If-Match: "TAG"' -d spec=
//
// A change without the token is answered with 401 and a header WWW-Authenticate, and 403 means
// that no token helps: the endpoint has no authoriser, a browser sent the change for another
// site, or the authoriser refuses it for another reason. Refused changes are logged, a few a
// second. With [BearerTokens] each person or program has a token of its own, and the change
// log says whose was used.
//
// The shapes of requests and answers are in package wire.
package control
