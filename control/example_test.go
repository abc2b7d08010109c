// SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spangate/spangate"
	"github.com/spangate/spangate/control"
	"github.com/spangate/spangate/registry"
)

func Example() {
	// The program's libraries meet in a registry; here there is Gym's vocabulary alone.
	r := registry.New()
	var gate spangate.Gate
	if err := r.Register(spangate.Gym, &gate); err != nil {
		fmt.Println(err)
	}

	c, err := control.New(r, control.StartupBaseline(control.Baseline{Spec: "default"}))
	if err != nil {
		fmt.Println(err)
	}
	defer c.Close()
	fmt.Println(spangate.Gym.Format(gate.Load()))

	lease, err := c.Lease(control.LeaseRequest{Owner: "me", Spec: "sandbox", TTL: 5 * time.Minute, Why: "it is slow"})
	fmt.Println(spangate.Gym.Format(gate.Load()), err)

	err = lease.Release() // or in five minutes, by itself
	fmt.Println(spangate.Gym.Format(gate.Load()), err)
	// Output:
	// job,server,http_client,rollout
	// job,server,http_client,rollout,sandbox <nil>
	// job,server,http_client,rollout <nil>
}

// SetBaseline refuses a name that is not registered, and suggests one; Configure keeps it.
func ExampleController_SetBaseline() {
	r := registry.New()
	_ = r.Register(spangate.Lens, new(spangate.Gate))
	c, _ := control.New(r)
	defer c.Close()

	fmt.Println(c.SetBaseline(control.Baseline{Spec: "jobs", Who: "me"}))
	fmt.Println(c.Configure(control.Baseline{Spec: "job,sandbox", Who: "chart"}))
	fmt.Println(c.State().Enabled, c.State().Pending)
	// Output:
	// spangate: spec "jobs": unknown name "jobs" at byte 0 (did you mean "job"?); valid names are all, default, per_step, checkpoint, evaluate, forward_backward, job, load_checkpoint, model_init, optimizer, step
	// <nil>
	// [job] [sandbox]
}

func ExampleOnChange() {
	r := registry.New()
	_ = r.Register(spangate.Gym, new(spangate.Gate))
	c, _ := control.New(r, control.OnChange(func(change control.Change) {
		fmt.Println(change.Kind, "by", change.Who, "->", change.New)
	}))
	_ = c.SetBaseline(control.Baseline{Spec: "job", Who: "me"})
	_ = c.SetLimits(control.Limits{Deny: "job", Who: "admin"})
	_ = c.Close()
	// Output:
	// baseline by program -> []
	// baseline by me -> [job]
	// limits by admin -> []
	// close by program -> []
}

func ExampleFromLookup() {
	env := map[string]string{"NEMO_LENS_ENABLED": "yes", "NEMO_LENS_SPAN_GROUPS": "default,sandbox"}
	b, err := control.FromLookup(func(name string) (string, bool) { value, ok := env[name]; return value, ok })
	fmt.Println(b.Spec, "from", b.Why, err)
	// Output: default,sandbox from NEMO_LENS_SPAN_GROUPS <nil>
}

func ExampleConfig() {
	fmt.Printf("%q\n", control.Config{Enabled: true}.Baseline().Spec)
	fmt.Printf("%q\n", control.Config{Enabled: false, SpanGroups: "all"}.Baseline().Spec)
	// Output:
	// "default"
	// ""
}

func ExampleFlag() {
	base := control.Baseline{Spec: "default", Who: "environment"} // as FromEnv gives it
	flags := flag.NewFlagSet("job", flag.ContinueOnError)
	flags.Var(control.Flag(&base), "spans", "span groups, as in default,sandbox")
	_ = flags.Parse([]string{"-spans", "all,-sandbox"})
	fmt.Println(base.Spec, "by", base.Who)
	// Output: all,-sandbox by flag
}

func ExampleHandler() {
	r := registry.New()
	var gate spangate.Gate
	_ = r.Register(spangate.Gym, &gate)
	c, _ := control.New(r)
	defer c.Close()

	mux := http.NewServeMux()
	mux.Handle("/spans/", http.StripPrefix("/spans", control.Handler(c, control.Authorize(control.Anyone()))))
	server := httptest.NewServer(mux)
	defer server.Close()

	// curl localhost:8080/spans/leases -d spec=sandbox -d ttl=5m -d owner=me
	answer, err := http.PostForm(server.URL+"/spans/leases", url.Values{"spec": {"sandbox"}, "ttl": {"5m"}, "owner": {"me"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	fmt.Println(answer.Status, spangate.Gym.Format(gate.Load()))

	// curl localhost:8080/spans/leases -d spec=sandbocks -d ttl=5m -d owner=me
	answer, err = http.PostForm(server.URL+"/spans/leases", url.Values{"spec": {"sandbocks"}, "ttl": {"5m"}, "owner": {"me"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	fmt.Println(answer.Status, strings.Contains(string(body), `"suggestion":"sandbox"`))
	// Output:
	// 201 Created sandbox
	// 400 Bad Request true
}

func ExampleController_WatchFile() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "spans")
	_ = os.WriteFile(path, []byte("default,sandbox\n"), 0o644)

	r := registry.New()
	var gate spangate.Gate
	_ = r.Register(spangate.Gym, &gate)
	c, _ := control.New(r)
	defer c.Close() // ends the watch too

	_, err = c.WatchFile(path)
	fmt.Println(spangate.Gym.Format(gate.Load()), err)
	// Output: job,server,http_client,rollout,sandbox <nil>
}
