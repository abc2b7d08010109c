// SPDX-License-Identifier: Apache-2.0

package test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
)

// register adds n groups of libraries, of which every second is in preset default.
func (v *visit) register(n int) {
	v.t.Helper()
	for i := 0; i < n; i += spangate.MaxGroups {
		var groups []spangate.Group
		preset := spangate.Preset{Name: "default"}
		for bit := range min(n-i, spangate.MaxGroups) {
			g := spangate.Group{Name: fmt.Sprintf("library_%03d", i+bit), Bit: 1 << bit, Doc: "the spans of a library"}
			groups = append(groups, g)
			if bit%2 == 0 {
				preset.Mask |= g.Bit
			}
		}
		c, err := spangate.NewCatalog(fmt.Sprintf("libraries_%d", i), groups, []spangate.Preset{preset})
		require.NoError(v.t, err)
		require.NoError(v.t, v.Registry.Register(c, new(spangate.Gate)))
	}
}

// What is on and why, what ends and when, and what is kept off are on the first screen, by name.
func TestFirstScreenSaysWhatIsOnWhyAndUntilWhen(t *testing.T) {
	for _, groups := range []int{15, 240} {
		for _, size := range []struct{ width, height int64 }{{1280, 800}, {360, 740}} {
			t.Run(fmt.Sprintf("%d groups at %dx%d", groups, size.width, size.height), func(t *testing.T) {
				v := prepare(t, anyone, control.StartupBaseline(control.Baseline{Spec: "default", Who: "environment", Why: "SPANS"}), control.Deny("pool"))
				require.NoError(t, v.Registry.Unregister("mydb"))
				if groups == 240 {
					v.register(groups - 15)
				}
				require.NoError(t, v.Controller.SetLimits(control.Limits{Deny: "checkpoint", Who: "ops"}))
				_, err := v.Lease("ada", "sandbox", "tools time out on node 7", 5*time.Minute)
				require.NoError(t, err)
				_, err = v.Controller.Lease(control.LeaseRequest{Owner: "grace", Quiet: "server", Why: "too much detail", TTL: 2 * time.Hour})
				require.NoError(t, err)
				require.Len(t, v.Controller.State().Groups, groups)

				var options []chromedp.EmulateViewportOption
				if size.width == 360 {
					options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch)
				}
				require.NoError(t, v.tab.Size(size.width, size.height, options...))
				v.reload()
				v.checkFit(int(size.width))
				for selector, text := range map[string]string{
					"#now-baseline .name":            "http_client, job, ",
					"#now-baseline .about":           "baseline default\\s+environment: SPANS",
					"#now-leases .name":              `sandbox (4:5\d|5:00)$`,
					"#now-leases .about":             "^lease of ada$",
					"#now-quiet .about":              "^quieted by lease of grace$",
					"#now-limits .name":              "checkpoint",
					"#now-limits .about":             "Never on: checkpoint",
					"#now-quiet .name":               `server (1:59:5\d|2:00:00)$`,
					"#leases li:nth-child(1) .name":  "sandbox",
					"#leases li:nth-child(1) .about": "ada: tools time out on node 7",
					"#now-unselected .name":          "agent, ",
					"#now-unselected .about":         "^not in the baseline$",
					"#leases li:nth-child(1) time":   `^ends in (4:5\d|5:00)\s+at \d\d:\d\d UTC$`,
					"#leases li:nth-child(2) .name":  "quiet server",
					"#leases li:nth-child(2) .about": "grace: too much detail",
					"#leases li:nth-child(2) time":   `^ends in (1:59:5\d|2:00:00)\s+at \d\d:\d\d UTC$`,
				} {
					e := "document.querySelector(" + quoted(selector) + ")"
					assert.Regexp(t, text, value[string](v, e+".innerText"), selector)
					assert.LessOrEqual(t, value[float64](v, e+".getBoundingClientRect().bottom"), float64(size.height), selector)
				}
				for _, label := range []string{"Extend sandbox of ada by 5 minutes", "Release sandbox of ada", "Release quiet server of grace"} {
					assert.LessOrEqual(t, value[float64](v, "document.querySelector('[aria-label="+quoted(label)+"]').getBoundingClientRect().bottom"), float64(size.height), label)
				}
				if groups == 240 {
					assert.Regexp(t, `library_\d+, and \d+ more$`, value[string](v, "document.querySelector('#now-baseline .name').innerText"))
				}
			})
		}
	}
}

func TestGroupsThatAreOnComeFirst(t *testing.T) {
	v := open(t, anyone, control.StartupBaseline(control.Baseline{Spec: "verify,step"}))
	first := func() []string {
		return value[[]string](v, "[...document.querySelectorAll('#groups > .row')].slice(0, 4).map((row) => row.id)")
	}
	assert.Equal(t, []string{"group-step", "group-verify", "group-agent", "group-checkpoint"}, first())

	v.fill("owner", "ada")
	v.click("Lease server for 5 minutes")
	v.waitForState("groups", "server", "on")
	assert.Equal(t, []string{"group-server", "group-step", "group-verify", "group-agent"}, first())
	assert.True(t, value[bool](v, `(() => {
		const { top, bottom } = document.activeElement.getBoundingClientRect();
		return document.activeElement.ariaLabel === 'Lease server for 5 minutes' && top >= 0 && bottom <= innerHeight;
	})()`), "the window follows the row that has the focus")
}

func TestFilterAndOnOnlyFindAGroupAmong240(t *testing.T) {
	v := prepare(t, anyone, control.StartupBaseline(control.Baseline{Spec: "all,-library_200"}))
	v.register(223)
	v.reload()
	const shown = "[...document.querySelectorAll('#groups > .row')].filter((row) => row.checkVisibility()).map((row) => row.id)"
	require.Len(t, value[[]string](v, shown), 240)
	v.fill("filter", " Library_20")
	assert.Len(t, value[[]string](v, shown), 10)
	require.NoError(t, v.tab.Do(chromedp.Click(chromedp.CSS("#on-only"))))
	assert.Len(t, value[[]string](v, shown), 9)
	v.fill("filter", "0")
	assert.Empty(t, value[[]string](v, shown))
	v.waitForText("#no-match", "No group matches.")

	// The filter holds for the pages that are fetched later.
	v.fill("owner", "ada")
	v.fill("add", "library_200\r")
	v.waitFor("(" + shown + ").includes('group-library_200')")
	assert.Len(t, value[[]string](v, shown), 1)
	assert.NotContains(t, strings.Join(v.tab.Requests(), " "), "ibrary_20", "no request has the filter")
	require.NoError(t, v.tab.Do(chromedp.Click(chromedp.CSS("#on-only"))))
	v.clear("filter")
	assert.Len(t, value[[]string](v, shown), 240)
}

func TestCountsOfRealSpansAreShown(t *testing.T) {
	v := prepare(t, anyone, control.StartupBaseline(control.Baseline{Spec: "default,-query,sandbox"}))
	sql, fleet := v.TracerProvider.Tracer("github.com/XSAM/otelsql"), v.TracerProvider.Tracer("github.com/redis/go-redis/extra/redisotel")
	for range 30 {
		_, span := sql.Start(t.Context(), "statement", trace.WithSpanKind(trace.SpanKindClient)) // query, which is off
		span.End()
		_, span = fleet.Start(t.Context(), "get")
		span.End()
	}
	v.reload()
	v.waitForText("#group-redisotel", "30 spans since the start")
	v.waitForText("#group-query", "0 spans since the start, 30 not started")
	v.waitFor("/^\\d+(\\.\\d)?\\/s$/.test(document.querySelector('#group-redisotel .rate').innerText.trim())")

	// The bar of the busiest group is full; a group that is off has none.
	v.waitFor("((meter) => meter.value > 0 && meter.value === meter.max)(document.querySelector('#group-redisotel meter'))")
	assert.True(t, value[bool](v, "document.querySelector('#group-query meter') === null"))
	assert.True(t, value[bool](v, "document.querySelector('#groups-title').parentNode.innerText.includes('averages over the last minute')"))
	before := value[string](v, "document.querySelector('#group-redisotel').innerText")
	_, span := fleet.Start(t.Context(), "get")
	span.End()
	v.waitForText("#group-redisotel", "31 spans since the start")
	assert.NotEqual(t, before, value[string](v, "document.querySelector('#group-redisotel').innerText"))

	v.waitForText("#scopes-fold summary", "2 seen · 1 rule matches no scope")
	assert.False(t, value[bool](v, "document.querySelector('#scopes').checkVisibility()"), "the scopes are folded")
	require.NoError(t, v.tab.Do(chromedp.Click(chromedp.CSS("#scopes-title"))))
	v.waitForText("#unmatched", "redisotl")
	v.waitForText("#misspelt", "= sandbox (did you mean github.com/redis/go-redis/extra/redisotel?)")
	v.waitForText("#unmatched", "The nearest is github.com/redis/go-redis/extra/redisotel")
	v.waitForText("#scopes", "query: off, 0/s, 0 spans since the start, 30 not started · client github.com/XSAM/otelsql client = query")
	v.waitForText("#scopes", "redisotel: on")
	time.Sleep(2500 * time.Millisecond) // longer than the interval between requests
	assert.True(t, value[bool](v, "document.querySelector('#scopes').checkVisibility()"), "it stays open")
}
