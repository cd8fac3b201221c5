package translog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/objstore/mem"
	"microbatch/table/action"
)

// script runs the histories of testdata. Writers "w=<name>" each have their own view of the log, which is refreshed only when a command says so.
type script struct {
	store  objstore.Store
	log    *Log
	offset time.Duration // of the clock
	views  map[string]*State
}

func newScript(format Format) *script {
	s := &script{views: map[string]*State{}}
	now := func() time.Time { return time.Now().Add(s.offset) }
	s.store = dated{mem.New(), now, map[string]time.Time{}}
	s.log = New(s.store, format, now)
	return s
}

// dated is a store whose clock is set.
type dated struct {
	objstore.Store
	now func() time.Time
	put map[string]time.Time
}

func (d dated) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	err := d.Store.PutIfAbsent(ctx, key, data)
	if err == nil {
		d.put[key] = d.now()
	}
	return err
}

func (d dated) Put(ctx context.Context, key string, data []byte) error {
	d.put[key] = d.now()
	return d.Store.Put(ctx, key, data)
}

func (d dated) Stat(ctx context.Context, key string) (objstore.Info, error) {
	info, err := d.Store.Stat(ctx, key)
	info.Modified = d.put[key]
	return info, err
}

func (d dated) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		for info, err := range d.Store.List(ctx, prefix, after) {
			info.Modified = d.put[info.Key]
			if !yield(info, err) {
				return
			}
		}
	}
}

func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := newScript(Parquet)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "format" {
				s = newScript(Format(d.CmdArgs[0].Key))
				return ""
			}
			out, err := s.run(t.Context(), d)
			if err != nil {
				return "error: " + short(err) + "\n"
			}
			return out
		})
	})
}

// short is an error without what differs from run to run.
func short(err error) string {
	if e, ok := errors.AsType[*errcode.Error](err); ok {
		return fmt.Sprintf("%s %s (%s) %s", e.Code.ID, e.Code.Title, e.Code.Class, e.Msg)
	}
	return err.Error()
}

func (s *script) run(ctx context.Context, d *datadriven.TestData) (string, error) {
	switch d.Cmd {
	case "create":
		return s.create(ctx)
	case "clock":
		hours, err := strconv.Atoi(d.CmdArgs[0].Key)
		s.offset += time.Duration(hours) * time.Hour
		return "", err
	case "refresh":
		state, err := s.log.Load(ctx, Latest)
		if err != nil {
			return "", err
		}
		s.views[writer(d)] = state
		return fmt.Sprintf("version %d\n", state.Version), nil
	case "commit":
		return s.commit(ctx, d)
	case "checkpoint":
		state, err := s.log.WriteCheckpoint(ctx, s.views[writer(d)])
		s.views[writer(d)] = state
		return "", err
	case "cleanup":
		n, err := s.log.Cleanup(ctx, s.views[writer(d)])
		return fmt.Sprintf("%d deleted\n", n), err
	case "rm":
		for _, a := range d.CmdArgs {
			if err := s.store.Delete(ctx, s.log.format.Dir()+a.Key); err != nil {
				return "", err
			}
		}
		return "", nil
	case "put":
		return "", s.store.Put(ctx, s.log.format.Dir()+d.CmdArgs[0].Key, []byte(d.Input+"\n"))
	case "ls":
		return s.list(ctx)
	case "state":
		return s.state(ctx, d)
	}
	return "", fmt.Errorf("unknown command %s", d.Cmd)
}

func writer(d *datadriven.TestData) string {
	for _, a := range d.CmdArgs {
		if a.Key == "w" {
			return a.Vals[0]
		}
	}
	return ""
}

func (s *script) create(ctx context.Context) (string, error) {
	err := s.log.Begin(ctx, Change{Info: action.CommitInfo{Operation: "CREATE TABLE"}, Actions: []action.Action{
		{Protocol: &action.Protocol{MinReader: 1, MinWriter: 2}}, {Metadata: metadata("t1", "{}")},
	}})
	if err != nil {
		return "", err
	}
	s.views[""], err = s.log.Load(ctx, Latest)
	return "", err
}

func metadata(id, schema string) *action.Metadata {
	return &action.Metadata{
		ID: id, Format: action.FileFormat{Provider: "parquet", Options: map[string]string{}}, Schema: schema, PartitionBy: []string{}, Configuration: map[string]string{},
	}
}

// commit puts a change made of the arguments add=, rm=, txn=app:version, schema=, table=, protocol=, reads=, fence=app:version.
func (s *script) commit(ctx context.Context, d *datadriven.TestData) (string, error) {
	c := Change{Info: action.CommitInfo{Operation: "TEST"}, Reads: map[action.FileKey]bool{}, Budget: time.Second}
	w := writer(d)
	for _, a := range d.CmdArgs {
		for _, v := range a.Vals {
			app, number, _ := strings.Cut(v, ":")
			n, _ := strconv.ParseInt(number, 10, 64)
			switch a.Key {
			case "add":
				c.Actions = append(c.Actions, action.Action{Add: &action.Add{Path: v, PartitionValues: map[string]*string{}, Size: 1, DataChange: true}})
			case "rm":
				c.Actions = append(c.Actions, action.Action{Remove: &action.Remove{Path: v, Deleted: s.log.now().UnixMilli(), DataChange: true}})
			case "reads":
				c.Reads[action.FileKey{Path: v}] = true
			case "txn":
				c.Actions = append(c.Actions, action.Action{Txn: &action.Txn{AppID: app, Version: n}})
			case "schema":
				c.Actions = append(c.Actions, action.Action{Metadata: metadata("t1", v)})
			case "table":
				c.Actions = append(c.Actions, action.Action{Metadata: metadata(v, "{}")})
			case "protocol":
				c.Actions = append(c.Actions, action.Action{Protocol: &action.Protocol{MinReader: 1, MinWriter: int(mustInt(v))}})
			case "fence":
				c.Admit = func(s *State) error {
					if have, _ := s.Txn(app); have > n {
						return fmt.Errorf("fenced at version %d", s.Version)
					}
					return nil
				}
			}
		}
	}
	if s.views[w] == nil {
		return "", fmt.Errorf("writer %q has no view", w)
	}
	state, err := s.log.Commit(ctx, s.views[w], c)
	s.views[w] = state
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("version %d\n", state.Version), nil
}

func mustInt(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func (s *script) list(ctx context.Context) (string, error) {
	var b strings.Builder
	for info, err := range s.store.List(ctx, "", "") {
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&b, info.Key)
	}
	return b.String(), nil
}

// state prints what a new reader finds, at the version of the argument if there is one.
func (s *script) state(ctx context.Context, d *datadriven.TestData) (string, error) {
	at := Latest
	if len(d.CmdArgs) > 0 {
		at = mustInt(d.CmdArgs[0].Key)
	}
	light, err := s.log.Load(ctx, at)
	if errors.Is(err, fs.ErrNotExist) {
		return "none\n", nil
	}
	if err != nil {
		return "", err
	}
	files, err := s.log.Files(ctx, at)
	if err != nil {
		return "", err
	}
	if light.Version != files.State.Version || !maps.Equal(light.Txns, files.State.Txns) {
		return "", fmt.Errorf("the light state at %d differs from the full one at %d", light.Version, files.State.Version)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "version %d table %s schema %s\n", light.Version, light.Metadata.ID, light.Metadata.Schema)
	for _, id := range slices.Sorted(maps.Keys(light.Txns)) {
		fmt.Fprintf(&b, "txn %s %d\n", id, light.Txns[id].Version)
	}
	for _, a := range files.Sorted() {
		fmt.Fprintf(&b, "file %s\n", a.Path)
	}
	if err := checkLogOrder(files); err != nil {
		return "", err
	}
	return b.String(), nil
}

// checkLogOrder is an error unless the files in the order of the log are the live ones, each once.
func checkLogOrder(files *Files) error {
	ordered := files.InLogOrder()
	seen := map[*action.Add]bool{}
	for _, a := range ordered {
		if seen[a] || files.Live[a.Key()] != a {
			return fmt.Errorf("%s is not live, or twice in the order of the log", a.Path)
		}
		seen[a] = true
	}
	if len(ordered) != len(files.Live) {
		return fmt.Errorf("%d files in the order of the log, %d are live", len(ordered), len(files.Live))
	}
	return nil
}
