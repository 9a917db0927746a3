package redisbreaker_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outboxgen/outboxgen/runtime/breaker"
	"github.com/outboxgen/outboxgen/runtime/redisbreaker"
)

// childEnv holds the childConfig of a process that is a member of a fleet.
const childEnv = "OUTBOXGEN_TEST_FLEET_MEMBER"

type childConfig struct {
	Address, Prefix       string
	Threshold             int
	RecoveryTime, LeaseIs time.Duration
}

// child obeys commands on its standard input, a line each, and answers each
// with a line:
//
//	crowd N     N callers at once; their permits are kept: "admitted refused"
//	done O      reports all kept permits with the outcome O: "ok"
//	state       "CLOSED", …
func child() {
	var c childConfig
	if err := json.Unmarshal([]byte(os.Getenv(childEnv)), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	client := newClient(c.Address)
	defer func() { _ = client.Close() }()
	b, err := redisbreaker.New(redisbreaker.Config{
		Client: client, Prefix: c.Prefix, Budget: 20 * time.Second,
		Breaker: breaker.Config{Name: "billing", FailureThreshold: c.Threshold,
			RecoveryTime: c.RecoveryTime, MaxRecoveryTime: c.RecoveryTime, Lease: c.LeaseIs},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var mu sync.Mutex
	var kept []breaker.Permit
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var n int
		var outcome breaker.Outcome
		command, argument, _ := strings.Cut(in.Text(), " ")
		switch command {
		case "crowd":
			_, _ = fmt.Sscan(argument, &n)
			var refused int
			var wg sync.WaitGroup
			start := make(chan struct{})
			for range n {
				wg.Go(func() {
					<-start
					p, err := b.TryAcquire()
					mu.Lock()
					defer mu.Unlock()
					if errors.Is(err, breaker.ErrOpen) {
						refused++
					} else {
						kept = append(kept, p)
					}
				})
			}
			before := len(kept)
			close(start)
			wg.Wait()
			fmt.Println(len(kept)-before, refused)
		case "done":
			for _, o := range []breaker.Outcome{breaker.Success, breaker.Failure, breaker.Neutral} {
				if o.String() == argument {
					outcome = o
				}
			}
			for _, p := range kept {
				p.Done(outcome)
			}
			kept = nil
			fmt.Println("ok")
		case "state":
			fmt.Println(b.State())
		}
	}
}

// process is a running child.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	in  *bufio.Writer
	out *bufio.Scanner
}

func (f *fleet) process(c childConfig) *process {
	f.t.Helper()
	c.Address, c.Prefix = address(), f.prefix
	config, err := json.Marshal(c)
	if err != nil {
		f.t.Fatal(err)
	}
	p := &process{t: f.t, cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), childEnv+"="+string(config))
	p.cmd.Stderr = os.Stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	p.in, p.out = bufio.NewWriter(stdin), bufio.NewScanner(stdout)
	if err := p.cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		_ = stdin.Close() // the child ends with its input
		_ = p.cmd.Wait()
	})
	return p
}

func (f *fleet) processes(n int, c childConfig) []*process {
	f.t.Helper()
	var all []*process
	for range n {
		all = append(all, f.process(c))
	}
	return all
}

func (p *process) tell(command string) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, command); err != nil {
		p.t.Fatal(err)
	}
	if err := p.in.Flush(); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) answer() string {
	p.t.Helper()
	if !p.out.Scan() {
		p.t.Fatalf("the process ended: %v", p.out.Err())
	}
	return p.out.Text()
}

func (p *process) ask(command string) string {
	p.t.Helper()
	p.tell(command)
	return p.answer()
}

// crowd lets n callers in each process meet the breaker at once.
func crowd(t *testing.T, all []*process, n int) (admitted, refused int) {
	t.Helper()
	for _, p := range all {
		p.tell(fmt.Sprint("crowd ", n))
	}
	for _, p := range all {
		var a, r int
		if _, err := fmt.Sscan(p.answer(), &a, &r); err != nil {
			t.Fatal(err)
		}
		admitted, refused = admitted+a, refused+r
	}
	return admitted, refused
}

func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	_ = p.cmd.Wait()
}
