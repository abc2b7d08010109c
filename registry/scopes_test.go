// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/internal/plan"
	"github.com/spangate/spangate/internal/spec"
	"github.com/spangate/spangate/registry"
)

const (
	otelhttp = "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	otelsql  = "github.com/XSAM/otelsql"
)

// on reports whether the group that find gives to scope is on.
func on(find func(string) (*spangate.Gate, spangate.Mask), scope string) bool {
	gate, group := find(scope)
	return gate.Load().HasAny(group)
}

func TestScopeIsAGroupNamedByItsLastElement(t *testing.T) {
	for scope, name := range map[string]string{
		otelhttp:       "otelhttp",
		otelhttp + "/": "otelhttp",
		"github.com/redis/go-redis/extra/redisotel/v9":  "redisotel",
		"github.com/redis/go-redis/extra/redisotel//v9": "redisotel",
		"gopkg.in/yaml.v3":                    "yaml",
		"gopkg.in/yaml.v3/v2":                 "yaml",
		"v2":                                  "v2",
		"example.com/v":                       "v",
		"example.com/v2x":                     "v2x",
		"io.opentelemetry.tomcat-7.0":         "io.opentelemetry.tomcat-7.0",
		"mydb.query":                          "mydb.query",
		"My Service":                          "my_service",
		" \u212Aafka\u0085":                   "kafka",
		"example.com/-dash-":                  "_dash-",
		"example.com/größe":                   "gr__e",
		"":                                    "tracer",
		"go.opentelemetry.io/otel/sdk/tracer": "tracer",
		"example.com/ALL":                     "all_",
		"default":                             "default_",
		"example.com/default/v2":              "default_",
		strings.Repeat("x", 10<<10):           strings.Repeat("x", spangate.MaxNameLen),
		"/":                                   registry.OtherScopes,
		" ":                                   registry.OtherScopes,
		"example.com/-":                       registry.OtherScopes,
		"example.com/..":                      registry.OtherScopes,
		"トレーサ":                                registry.OtherScopes,
		"\xff\x00":                            registry.OtherScopes,
		strings.Repeat("/", 10<<10):           registry.OtherScopes,
		"example.com/" + registry.OtherScopes: registry.OtherScopes,
	} {
		r := registry.New()
		gate, group := registry.Scopes(r)(scope)
		require.Equal(t, []string{name}, r.Groups(), "%.99q", scope)
		require.Equal(t, []string{name}, r.Presets()["default"], "%.99q", scope)
		require.Equal(t, 1, group.Count(), "%.99q", scope)
		require.False(t, gate.Load().HasAny(group), "the empty spec")
		r.SetSpec(name)
		require.True(t, gate.Load().HasAny(group), "%.99q", scope)
	}
}

func TestDiscoveredScopeFollowsTheSpecInForce(t *testing.T) {
	r := registry.New()
	find := registry.Scopes(r)
	require.Equal(t, []string{"default", "otelsql"}, r.SetSpec("default,-otelsql"))
	require.True(t, on(find, otelhttp), "default includes each scope from its discovery on")
	require.False(t, on(find, otelsql), "excluded before it was discovered")
	require.Empty(t, r.Pending())
	r.SetSpec("otelsql")
	require.True(t, on(find, otelsql))
	require.False(t, on(find, otelhttp))
	require.NoError(t, r.Pin())
	require.False(t, on(find, "example.com/new"))
}

func TestDefaultOfOtherCatalogsIncludesDiscoveredScopes(t *testing.T) {
	r := registry.New()
	g := gym().add(t, r)
	r.SetSpec("default")
	require.True(t, on(registry.Scopes(r), otelhttp))
	require.Equal(t, "job,server,http_client,rollout", g.names())
	r.SetSpec("per_rollout")
	require.False(t, on(registry.Scopes(r), otelhttp))
}

func TestScopesThatShareANameSwitchTogether(t *testing.T) {
	rec := new(recorder)
	r := registry.New(registry.Logger(slog.New(rec)))
	g := gym().add(t, r)
	find := registry.Scopes(r)
	gate, group := find("example.com/a/server")
	sameGate, sameGroup := registry.Scopes(r)("example.com/b/server/v2")
	require.Same(t, gate, sameGate)
	require.Equal(t, group, sameGroup)
	require.Equal(t, []string{"nemo_gym", "scopes"}, r.Namespaces())
	r.SetSpec("server")
	require.True(t, gate.Load().HasAny(group))
	require.Equal(t, "server", g.names(), "the program's own group of that name switches too")
	require.Empty(t, rec.records, "no warning about the shared name")

	require.Equal(t, "example.com/a/server, example.com/b/server/v2", docs(t, r)["server"])
	for i := range 10 {
		find(fmt.Sprintf("example.com/%d/server", i))
	}
	require.Equal(t, "example.com/a/server, example.com/b/server/v2, example.com/0/server, example.com/1/server, …", docs(t, r)["server"])
}

// docs returns the docs of the groups that were discovered.
func docs(t *testing.T, r *registry.Registry) map[string]string {
	c, now, err := plan.Attach(r, func(plan.Generation) {})
	require.NoError(t, err)
	defer c.End()
	defer c.Release()
	docs := map[string]string{}
	for _, m := range now.Members() {
		if strings.HasPrefix(m.Catalog.Namespace(), "scopes") {
			for g := range m.Catalog.Groups() {
				docs[g.Name] = g.Doc
			}
		}
	}
	return docs
}

func TestScopeSeenBeforeMakesNoGeneration(t *testing.T) {
	r := registry.New()
	gate, group := registry.Scopes(r)(otelhttp)
	for i := range 10 {
		registry.Scopes(r)(fmt.Sprintf("example.com/%d/other", i))
	}
	before := r.State().Generation()
	sameGate, sameGroup := registry.Scopes(r)(otelhttp)
	require.Same(t, gate, sameGate)
	require.Equal(t, group, sameGroup)
	registry.Scopes(r)("example.com/11/other")
	require.Equal(t, before, r.State().Generation())
}

func TestAtMost256ScopesHaveAGroupAndTheRestIsOne(t *testing.T) {
	rec := new(recorder)
	r := registry.New(registry.Logger(slog.New(rec)))
	find := registry.Scopes(r)
	r.SetSpec("default")
	records := len(rec.records)
	sites := map[*spangate.Gate]spangate.Mask{}
	for i := range 2 * registry.MaxScopes {
		gate, group := find(fmt.Sprintf("example.com/lib%d", i))
		require.True(t, gate.Load().HasAny(group))
		if i < registry.MaxScopes {
			require.False(t, sites[gate].HasAny(group), "a bit of its own")
		}
		sites[gate] |= group
	}
	require.Len(t, r.Groups(), registry.MaxScopes+1)
	require.Equal(t, []string{"scopes", "scopes_2", "scopes_3", "scopes_4", "scopes_5"}, r.Namespaces())
	require.Len(t, rec.records, records, "discovery logs nothing")

	r.SetSpec("default,-other")
	require.False(t, on(find, "example.com/lib256"))
	require.False(t, on(find, "example.com/lib511"))
	require.True(t, on(find, "example.com/lib255"))
	require.True(t, on(find, "example.com/lib0"))
}

func TestOtherTakesNoneOfThe256(t *testing.T) {
	r := registry.New()
	find := registry.Scopes(r)
	find("-")
	for i := range registry.MaxScopes {
		find(fmt.Sprint("lib", i))
	}
	require.Len(t, r.Groups(), registry.MaxScopes+1)
	find("late")
	require.Len(t, r.Groups(), registry.MaxScopes+1)
}

func TestDiscoveryKeepsTheWordsOfItsGatesAndThoseOfOthers(t *testing.T) {
	r := registry.New()
	l := mylib(t).add(t, r)
	find := registry.Scopes(r)
	r.SetSpec("default")
	gate, group := find("lib0")
	var off atomic.Int64
	watching, done := make(chan struct{}), make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		close(watching)
		for {
			select {
			case <-done:
				return
			default:
				if !gate.Load().HasAny(group) || l.names() != "tx" {
					off.Add(1)
				}
			}
		}
	})
	<-watching
	for i := range 5 * spangate.MaxGroups { // each makes a generation with another catalog of this gate
		find(fmt.Sprintf("example.com/%d/lib%d", i, i%spangate.MaxGroups))
	}
	close(done)
	watcher.Wait()
	require.Zero(t, off.Load(), "what is on stays on while scopes are discovered")
}

func TestConcurrentDiscoveryGivesEachScopeOneBit(t *testing.T) {
	r := registry.New()
	r.SetSpec("default")
	var mu sync.Mutex
	sites := map[string]map[string]bool{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			find := registry.Scopes(r)
			for i := range 100 {
				name := fmt.Sprint("lib", i)
				gate, group := find(name)
				assert.True(t, gate.Load().HasAny(group))
				mu.Lock()
				if sites[name] == nil {
					sites[name] = map[string]bool{}
				}
				sites[name][fmt.Sprintf("%p %v", gate, group)] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
	seen := map[string]bool{}
	for name, of := range sites {
		require.Len(t, of, 1, name)
		for site := range of {
			require.False(t, seen[site], name)
			seen[site] = true
		}
	}
	require.Len(t, r.Groups(), 100)
}

func TestNamespaceOfTheProgramCalledScopesStays(t *testing.T) {
	r := registry.New()
	l := newLibrary(t, "scopes", []string{"mine"}, nil).add(t, r)
	find := registry.Scopes(r)
	r.SetSpec("default,mine")
	require.True(t, on(find, otelhttp))
	require.Equal(t, []string{"scopes", "scopes_2"}, r.Namespaces())
	require.Equal(t, "mine", l.names())
}

func TestUnregisteredScopesAreRegisteredWhenSeenAgain(t *testing.T) {
	r := registry.New()
	find := registry.Scopes(r)
	r.SetSpec("default")
	gate, group := find(otelhttp)
	find(otelsql)
	require.NoError(t, r.Unregister("scopes"))
	require.False(t, gate.Load().HasAny(group))
	require.True(t, on(find, otelhttp))
	require.True(t, gate.Load().HasAny(group))
	require.Equal(t, []string{"otelhttp", "otelsql"}, r.Groups())

	require.NoError(t, r.Unregister("scopes"))
	elsewhere := newLibrary(t, "mylib", []string{"query"}, nil)
	elsewhere.gate = gate
	elsewhere.add(t, registry.New())
	found, _ := find(otelhttp)
	require.Nil(t, found, "its gate is another registry's")
	require.Empty(t, r.Namespaces())
}

func TestScopesOfANilRegistryHaveNoGroup(t *testing.T) {
	gate, group := registry.Scopes(nil)(otelhttp)
	require.Nil(t, gate)
	require.Zero(t, group)
}

func TestCauseOfADiscoveryNamesTheScope(t *testing.T) {
	r := registry.New()
	var causes []plan.Cause
	c, _, err := plan.Attach(r, func(g plan.Generation) { causes = append(causes, g.Cause()) })
	require.NoError(t, err)
	defer c.Release()
	c.End()
	registry.Scopes(r)(otelhttp)
	registry.Scopes(r)("\x1b" + strings.Repeat("x", 10<<10))
	require.Equal(t, plan.Cause{Kind: plan.KindNamespaces, Who: "registry", Why: `scopes: group otelhttp has the scope "` + otelhttp + `"`}, causes[0])
	require.Less(t, len(causes[1].Why), 400)
	require.NotContains(t, causes[1].Why, "\x1b")
}

// FuzzScopes checks that any scope has a group with a valid name, which depends only on the scope.
func FuzzScopes(f *testing.F) {
	for _, seed := range []string{"", otelhttp, "a/v2", "/v2", "v2/", "a.v1", ".v1", "all", "default", "other", "../..", "-", "\xff/\u212A"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, scope string) {
		r, second := registry.New(), registry.New()
		gate, group := registry.Scopes(r)(scope)
		registry.Scopes(second)(otelhttp)
		registry.Scopes(second)(scope)
		names := r.Groups()
		require.Len(t, names, 1)
		require.NoError(t, spec.CheckName(names[0]))
		require.Contains(t, second.Groups(), names[0])
		r.SetSpec(names[0])
		require.True(t, gate.Load().HasAny(group))
		r.SetSpec("all,-" + names[0])
		require.False(t, gate.Load().HasAny(group))
	})
}
