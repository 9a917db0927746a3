package powercut

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

const sector = 512

// disk is what is surely on it, and what the system still keeps in memory.
type disk struct {
	files map[string]*file
	sent  []string
}

type file struct {
	durable []byte
	pending []op // since the last sync, with their places in the trace
	at      []int
	entry   bool // its name is surely in the folder
	gone    bool // unlinked, and the folder not synced since
}

// newDisk starts from the files of a folder, all of them on disk.
func newDisk(dir string) (*disk, error) {
	d := &disk{files: map[string]*file{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "-shm") || e.Name() == sentFile {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		d.files[e.Name()] = &file{durable: data, entry: true}
	}
	return d, nil
}

// apply is the i-th op of the trace.
func (d *disk) apply(i int, o op) {
	switch o.kind {
	case "sent":
		d.sent = append(d.sent, strings.Fields(string(o.data))...)
		return
	case "syncfolder":
		for name, f := range d.files {
			if f.gone {
				delete(d.files, name)
			}
			f.entry = true
		}
		return
	}
	f := d.files[o.file]
	if f == nil {
		f = &file{}
		d.files[o.file] = f
	}
	switch o.kind {
	case "create":
		if f.gone { // a new file under an old name
			*f = file{}
		}
	case "unlink":
		f.gone = true
	case "write", "truncate":
		f.pending, f.at = append(f.pending, o), append(f.at, i)
	case "sync":
		var pending []op
		var at []int
		for j, p := range f.pending {
			if f.at[j] < o.begun {
				f.durable = change(f.durable, p, nil)
			} else {
				pending, at = append(pending, p), append(at, f.at[j])
			}
		}
		f.pending, f.at = pending, at
	}
}

// fate decides what of the unsynced writes a cut leaves.
type fate int

const (
	noneSurvive fate = iota
	someSurvive      // any subset, torn at sectors
	allSurvive
	fates
)

// cut writes into dir what a power cut now may leave.
func (d *disk) cut(dir string, what fate, rnd *rand.Rand) error {
	lucky := func() bool { return what == allSurvive || what == someSurvive && rnd.IntN(2) == 0 }
	for name, f := range d.files {
		if !f.entry && !lucky() || f.gone && lucky() {
			continue
		}
		data := append([]byte(nil), f.durable...)
		for _, p := range f.pending {
			switch {
			case p.kind == "truncate" && lucky():
				data = change(data, p, nil)
			case p.kind == "write" && what == allSurvive:
				data = change(data, p, nil)
			case p.kind == "write" && lucky():
				data = change(data, p, func() bool { return rnd.IntN(8) > 0 })
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// change applies a write or a truncation; keep decides for each sector.
func change(data []byte, o op, keep func() bool) []byte {
	if o.kind == "truncate" {
		return resize(data, int(o.off))
	}
	for from := 0; from < len(o.data); {
		to := min(len(o.data), from+sector-int(o.off+int64(from))%sector)
		if keep == nil || keep() {
			data = resize(data, max(len(data), int(o.off)+to))
			copy(data[int(o.off)+from:], o.data[from:to])
		}
		from = to
	}
	return data
}

func resize(data []byte, n int) []byte {
	if n <= len(data) {
		return data[:n]
	}
	return append(data, make([]byte, n-len(data))...)
}
