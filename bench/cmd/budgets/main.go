// SPDX-License-Identifier: Apache-2.0

// Command budgets counts the instructions of this module's benchmarks, which no load on the machine
// changes, with valgrind's callgrind. It fails if a budget is broken, or if a count of spangate's
// own is more than 5 % from the accepted one, in bench/results/instructions.txt.
//
//	go run ./bench/cmd/budgets           from the root of the repository
//	go run ./bench/cmd/budgets -update   accepts the counts
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spangate/spangate/bench/internal/results"
)

const acceptedFile = "bench/results/instructions.txt"

func main() {
	update := flag.Bool("update", false, "accept the counts: write "+acceptedFile)
	flag.Parse()
	if err := run(os.Stdout, *update); err != nil {
		fmt.Fprintln(os.Stderr, "budgets:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, update bool) error {
	text, err := count()
	if err != nil {
		return err
	}
	if update {
		if err := os.WriteFile(acceptedFile, []byte(text), 0o644); err != nil {
			return err
		}
	}
	accepted, err := results.Read(acceptedFile)
	if err != nil {
		return fmt.Errorf("%w; run it in the root of the repository", err)
	}
	found := new(results.Results)
	if err := found.Add("callgrind", text); err != nil {
		return err
	}
	return judge(w, found, accepted)
}

// judge prints every budget of instructions with what was found, and what changed.
func judge(w io.Writer, found, accepted *results.Results) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	broken := 0
	for _, b := range results.Budgets {
		if b.Unit != results.Instructions {
			continue
		}
		ratio, met, err := found.Judge(b)
		if err != nil {
			return err
		}
		mark := "ok"
		if !met {
			mark = "BROKEN"
			broken++
		}
		fmt.Fprintf(table, "%s\t%s\tat most %s times %s\tfound: %s\n", mark, b.What, results.Times(b.Most), b.To, results.Times(ratio))
	}
	table.Flush()
	changes, err := found.Changed(accepted)
	if err != nil {
		return err
	}
	for _, change := range changes {
		fmt.Fprintln(w, change)
	}
	if len(changes) > 0 {
		fmt.Fprintf(w, "Accepted were counts of %s, this is %s. If the change is meant, run go run ./bench/cmd/budgets -update and commit %s with the reason.\n",
			accepted.Config["go"], runtime.Version(), acceptedFile)
	}
	if broken > 0 || len(changes) > 0 {
		return fmt.Errorf("%d budgets are broken, and %d counts have changed", broken, len(changes))
	}
	return nil
}

// count returns the instructions of every benchmark in Go's benchmark format.
func count() (text string, err error) {
	if _, err := exec.LookPath("valgrind"); err != nil {
		return "", errors.New("valgrind is not installed (Debian and Ubuntu: apt-get install valgrind)")
	}
	dir, err := os.MkdirTemp("", "spangate-budgets-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program := filepath.Join(dir, "bench.test")
	// Without DWARF, whose version valgrind may not know.
	if _, err := output(exec.Command("go", "test", "-c", "-ldflags=-w", "-o", program, "./bench")); err != nil {
		return "", err
	}
	list, err := output(exec.Command(program, "-test.list=^Benchmark"))
	if err != nil {
		return "", err
	}
	text = fmt.Sprintf("go: %s\ngoos: %s\ngoarch: %s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, benchmark := range strings.Fields(list) {
		lines, err := countBenchmark(dir, program, benchmark)
		for retries := 4; errors.Is(err, errPreempted) && retries > 0; retries-- {
			lines, err = countBenchmark(dir, program, benchmark)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", benchmark, err)
		}
		text += lines
	}
	return text, nil
}

// errPreempted is returned if the scheduler preempted the counted function, which callgrind mistakes
// for its end. It happens now and then on a busy machine.
var errPreempted = errors.New("a loop was preempted while its instructions were counted; run it again when the machine is less busy")

// turns returns how often the operations of a benchmark are done in one count. Valgrind lets another
// thread run after every 100,000 basic blocks, about half a million instructions: in less the
// scheduler can't preempt what is counted.
func turns(benchmark string) int {
	switch benchmark {
	case "BenchmarkGrowthSpec", "BenchmarkGrowthSetSpec":
		return 4
	case "BenchmarkExtract", "BenchmarkInject":
		return 7
	}
	return 71
}

// notCounted matches the benchmarks of goroutines that slow each other, which shows in time only.
const notCounted = "Growth(Goroutines|Toggling|Neighbour|Hostile)"

// countBenchmark counts each row of a benchmark three times. Callgrind counts in the function
// bench.counted and writes a file whenever it returns. go test first runs one turn and then n, so
// each count gives two files, and their difference is n-1 turns of the operation alone.
func countBenchmark(dir, program, benchmark string) (lines string, err error) {
	n := turns(benchmark)
	profile := filepath.Join(dir, "callgrind.out")
	const counted = "github.com/spangate/spangate/bench.counted"
	cmd := exec.Command("valgrind", "--tool=callgrind", "--toggle-collect="+counted, "--dump-after="+counted, "--callgrind-out-file="+profile,
		program, "-test.run=^$", "-test.bench=^"+benchmark+"$", "-test.skip="+notCounted, "-test.count=3", fmt.Sprintf("-test.benchtime=%dx", n))
	cmd.Env = append(os.Environ(), "GOGC=off", "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1,memprofilerate=0")
	out, err := output(cmd)
	if err != nil {
		return "", err
	}
	var counts []int
	for {
		file := fmt.Sprintf("%s.%d", profile, len(counts)+1)
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			break
		}
		_, after, ok := strings.Cut(string(text), "\nsummary: ")
		if err != nil || !ok {
			return "", errors.Join(err, fmt.Errorf("callgrind's profile %s has no summary", file))
		}
		first, _, _ := strings.Cut(after, "\n")
		sum, err := strconv.Atoi(first)
		if err != nil {
			return "", err
		}
		counts = append(counts, sum)
		if err := os.Remove(file); err != nil {
			return "", err
		}
	}
	i := 0
	for line := range strings.Lines(out) {
		// "BenchmarkTracer/SDK   101   17119 ns/op   0 B/op   0 allocs/op"
		fields := strings.Fields(line)
		if len(fields) != 8 || fields[7] != "allocs/op" {
			continue
		}
		if i+1 >= len(counts) || counts[i] >= counts[i+1] {
			return "", errPreempted
		}
		lines += fmt.Sprintf("%s 1 %.1f instructions/op %s allocs/op\n", fields[0], float64(counts[i+1]-counts[i])/float64(n-1), fields[6])
		i += 2
	}
	if i != len(counts) {
		return "", errPreempted
	}
	return lines, nil
}

func output(cmd *exec.Cmd) (string, error) {
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", cmd, err, out, stderr.String())
	}
	return string(out), nil
}
